import { Secret } from './secret.ts';
import { type Host, hostIn, percentDecoded } from './url-parts.ts';

/** The database for everything that must not be lost, from `DATABASE_URL`. */
export type DatabaseAddress =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly path: string }
  | PostgresAddress;

export interface PostgresAddress {
  readonly kind: 'postgres';
  /** The gateway uses the host that accepts writes. */
  readonly hosts: readonly Host[];
  readonly user: string;
  readonly password: Secret | undefined;
  readonly database: string;
  /** With TLS, the gateway always checks the certificate and the name in it. With `require`, an authority must be given for that. */
  readonly sslMode: 'disable' | 'require' | 'verify-full';
}

const POSTGRES_FORM =
  'postgres://user:password@host:5432/name?sslmode=verify-full (several hosts with commas)';
const ENCODED = 'special characters percent-encoded';
/** The forms of a database that outlives the process. */
export const LASTING_URL_FORMS = `${POSTGRES_FORM} or sqlite:<path of a file>; ${ENCODED}`;
export const DATABASE_URL_FORMS = `${POSTGRES_FORM}, sqlite:<path of a file> or sqlite::memory:; ${ENCODED}`;

const POSTGRES =
  /^postgres(?:ql)?:\/\/(?:([^:@/?#]+)(?::([^@/?#]*))?@)?([^@/?#]+)(?:\/([^/?#]*))?(?:\?([^#]*))?$/;
const LOOPBACK = /^(?:localhost|::1|127(?:\.\d{1,3}){3})$/;

/** Returns what is wrong, as the text that follows the variable's name, where the address cannot be used. */
export function parseDatabaseUrl(text: string): DatabaseAddress | string {
  if (text === 'sqlite::memory:') return { kind: 'memory' };
  const [, file] = /^sqlite:(.*)$/s.exec(text) ?? [];
  if (file !== undefined) {
    if (file.includes('?'))
      return 'must name a file without parameters: sqlite:/var/lib/gateway/gateway.db; write a ? in its name as %3F';
    const path = percentDecoded(file);
    if (path === undefined || path.includes('\0')) return `must be ${DATABASE_URL_FORMS}`;
    // SQLite opens a file of another name for these: it drops the last slash, and reads a URL after `file:`.
    const isName = /^(?!file:)[^:](?:.*[^/])?$/s.test(path);
    return isName ? { kind: 'file', path } : 'must name a file: sqlite:/var/lib/gateway/gateway.db';
  }
  const parts = POSTGRES.exec(text);
  if (!parts) return `must be ${DATABASE_URL_FORMS}`;
  const [, user, secret, hostList = '', name, query] = parts;
  const hosts = hostList.split(',').map((host) => hostIn(host, 5_432));
  const [login, password, database] = [user, secret, name].map((part) => percentDecoded(part ?? ''));
  const isReadable = login !== undefined && password !== undefined && database !== undefined;
  if (!isReadable || !hosts.every((host) => host !== undefined)) return `must be ${DATABASE_URL_FORMS}`;
  if (!login) return 'must name the user: postgres://user:password@host:5432/name';
  if (!database) return 'must name a database: postgres://user:password@host:5432/name';
  const isLocal = hosts.every(({ host }) => LOOPBACK.test(host));
  if (!query && password && !isLocal)
    return 'would send its password in the clear to another machine: give ?sslmode=verify-full';
  const given = /^(?:sslmode=(disable|require|verify-full))?$/.exec(query ?? '');
  const sslMode = given?.[1] ?? (isLocal ? 'disable' : undefined);
  if (!given || !sslMode)
    return 'must have ?sslmode=verify-full, and no other parameters; sslmode=disable is for a server on this machine';
  if (sslMode === 'disable' && password && !isLocal)
    return 'would send its password in the clear to another machine: give ?sslmode=verify-full';
  return {
    kind: 'postgres',
    hosts,
    user: login,
    password: password ? new Secret(password) : undefined,
    database,
    sslMode: sslMode as PostgresAddress['sslMode'],
  };
}
