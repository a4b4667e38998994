import { type Host, hostIn, percentDecoded } from './url-parts.ts';

/** The address of Redis from `REDIS_URL`. Credentials are percent-decoded. */
export interface RedisAddress {
  readonly kind: 'single' | 'sentinel' | 'cluster';
  readonly tls: boolean;
  /** One node for `single`; else the nodes that the client may ask for the other ones. */
  readonly nodes: readonly Host[];
  readonly username?: string;
  readonly password?: string;
  readonly db: number;
  /** For Sentinel: the name of the master, and the credentials for the sentinels. */
  readonly master?: string;
  readonly sentinelUsername?: string;
  readonly sentinelPassword?: string;
}

/** The text that follows “must be” in an error. */
export const REDIS_URL_FORMS =
  'redis://[[user]:password@]host[:port][/db], redis-sentinel://[[user]:password@]host[:port],…[/db]?sentinelMasterId=name' +
  '[&sentinelUsername=…][&sentinelPassword=…] or redis-cluster://[[user]:password@]host[:port],…, with rediss in front for TLS;' +
  ' special characters percent-encoded';

const SCHEME = /^(rediss?)(?:[-+](sentinel|cluster))?$/;
// A user without a password is refused: other clients read `redis://word@host` as a password.
const URL_PARTS = /^([a-z+-]+):\/\/(?:([^:@/?#]*):([^@/?#]+)@)?([^@/?#]+)(?:\/(\d{0,5}))?(?:\?([^#]*))?$/;
const QUERY_OF_SENTINEL = ['sentinelMasterId', 'sentinelUsername', 'sentinelPassword'];

/** Returns undefined where the text has none of the {@link REDIS_URL_FORMS}. */
export function parseRedisUrl(text: string): RedisAddress | undefined {
  const [, scheme = '', user, secret, hosts = '', db, search] = URL_PARTS.exec(text) ?? [];
  const [, protocol, kind = 'single'] = SCHEME.exec(scheme) ?? [];
  const nodes = hosts.split(',').map((node) => hostIn(node, kind === 'sentinel' ? 26_379 : 6_379));
  const query = parseQuery(search ?? '');
  const username = percentDecoded(user ?? '');
  const password = percentDecoded(secret ?? '');
  if (!protocol || !nodes.every((node) => node !== undefined) || !query) return undefined;
  if (username === undefined || password === undefined) return undefined;
  if (kind === 'single' && nodes.length > 1) return undefined;
  if (kind === 'cluster' && Number(db ?? 0) !== 0) return undefined;
  if (kind === 'sentinel' ? !query['sentinelMasterId'] : Object.keys(query).length > 0) return undefined;
  return {
    kind: kind as RedisAddress['kind'],
    tls: protocol === 'rediss',
    nodes,
    ...(username && { username }),
    ...(password && { password }),
    db: Number(db ?? 0),
    ...(kind === 'sentinel' && {
      master: query['sentinelMasterId'],
      sentinelUsername: query['sentinelUsername'],
      sentinelPassword: query['sentinelPassword'],
    }),
  };
}

/** Does not use URLSearchParams, which reads a `+` in a password as a space. An unknown or repeated name is refused. */
function parseQuery(text: string): Record<string, string> | undefined {
  const query: Record<string, string> = {};
  for (const part of text === '' ? [] : text.split('&')) {
    const [name = '', encoded = ''] = part.split(/=(.*)/s);
    const value = percentDecoded(encoded);
    if (!QUERY_OF_SENTINEL.includes(name) || name in query || !value) return undefined;
    query[name] = value;
  }
  return query;
}
