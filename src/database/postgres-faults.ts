import { ConfigError } from '../config/config-error.ts';
import { DatabaseFault, type FaultReason } from './engine.ts';

/**
 * The reason for an SQLSTATE, or else for its class, which has two characters. A code that is missing here is a fault of the statement or
 * its values.
 */
const REASONS: Readonly<Record<string, FaultReason>> = {
  '08': 'away',
  '0A000': 'conflict', // A table of a prepared plan has a new column.
  '23505': 'conflict',
  '25006': 'read-only',
  '25P02': 'conflict',
  '25P03': 'away', // The process stood still within a transaction, and the server ended its connection.
  '26000': 'conflict', // The pooler switched to another connection, on which nothing is prepared.
  '28': 'refused',
  '3D000': 'refused',
  '40': 'conflict',
  '42501': 'rights',
  '42P01': 'unready',
  '42P05': 'conflict',
  '53100': 'full',
  '53200': 'full',
  '53300': 'away',
  '55P03': 'away',
  '57': 'away',
  '58': 'full',
  XX001: 'damaged',
  XX002: 'damaged',
};

const MESSAGES: Partial<Record<FaultReason, string>> = {
  'read-only': 'DATABASE_URL leads to a server that only reads: name the one that takes writes',
  full: "the server of DATABASE_URL has no room or a disk that fails: see the server's log",
  refused: 'the server of DATABASE_URL does not let the gateway in',
  rights: 'the role of DATABASE_URL lacks a right',
  unready: 'the database of DATABASE_URL has no tables of the gateway: run `npm run database-init`',
  damaged: "the server of DATABASE_URL reports damaged data: see the server's log",
};
/** What an operator has to do if a connection was refused. */
const REFUSALS: Readonly<Record<string, string>> = {
  '28P01': 'the server of DATABASE_URL does not accept the password: correct it',
  '28000':
    "the server of DATABASE_URL does not accept this user from here: see its pg_hba.conf, and the URL's sslmode",
  '3D000': 'the server of DATABASE_URL has no database of that name: create it, or correct the name',
};

/** `isCommit` means that the commit was sent. If there was no answer, the commit may have been carried out. */
export function faultOfPostgres(error: unknown, isCommit: boolean): DatabaseFault {
  if (error instanceof DatabaseFault) return error;
  const { code = '', message = '' } = error as { code?: string; message?: string };
  const isOfServer = /^[\dA-Z]{5}$/.test(code);
  const reason = isOfServer ? (REASONS[code] ?? REASONS[code.slice(0, 2)] ?? 'broken') : 'away';
  // An administrator ended the connection, the server crashed, or the server was stopped.
  const isCutOff = !isOfServer || code.startsWith('08') || code.startsWith('57P');
  if (isCommit && isCutOff)
    return new DatabaseFault('unknown', 'the connection to DATABASE_URL broke during a commit', error);
  const certificate = /CERT|SELF_SIGNED|VERIFY|ALTNAME/.test(code);
  if (!isOfServer && (certificate || message.includes('SSL')))
    return new DatabaseFault(
      'refused',
      certificate
        ? `the certificate of the server of DATABASE_URL cannot be trusted (${code}): name its authority in DATABASE_CA_FILE, and the host as the certificate does`
        : 'the server of DATABASE_URL does not speak TLS: switch it on there',
      error,
    );
  if (reason === 'away')
    return new DatabaseFault(
      'away',
      `the server of DATABASE_URL does not answer (${code || message})`,
      error,
    );
  const known = REFUSALS[code] ?? MESSAGES[reason] ?? `PostgreSQL refuses a statement (${code})`;
  // The message names the table or schema of a missing right. Other messages of the server may quote values.
  return new DatabaseFault(reason, reason === 'rights' ? `${known}: ${message}` : known, error);
}

const MIN_VERSION = 14;

export function faultOfVersion(version: number): ConfigError | undefined {
  if (version >= MIN_VERSION) return undefined;
  return new ConfigError([
    `DATABASE_URL leads to PostgreSQL ${version}, and the gateway needs ${MIN_VERSION} or newer: update the server, or name another`,
  ]);
}
