import {
  certificateFiles,
  type Certificates,
  type CertificateVariables,
  readCertificates,
} from './certificate-files.ts';
import { FollowedCertificates } from './followed-certificates.ts';
import { parseRedisUrl } from './redis-url.ts';
import type { Values } from './variables.ts';

const LISTENER = { ca: 'TLS_CLIENT_CA_FILE', cert: 'TLS_CERT_FILE', key: 'TLS_KEY_FILE' } as const;
const UPSTREAM = {
  ca: 'UPSTREAM_TLS_CA_FILE',
  cert: 'UPSTREAM_TLS_CERT_FILE',
  key: 'UPSTREAM_TLS_KEY_FILE',
} as const;
const REDIS = { ca: 'REDIS_TLS_CA_FILE', cert: 'REDIS_TLS_CERT_FILE', key: 'REDIS_TLS_KEY_FILE' } as const;

/** Returns the certificates of the public listener; undefined: it has no TLS. Adds to `faults` what is wrong with the settings. */
export function listenerCertificates(values: Values, faults: string[]): FollowedCertificates | undefined {
  const { TLS_CERT_FILE: cert, TLS_CLIENT_CA_FILE: ca, HOST: host } = values;
  if (ca !== undefined && cert === undefined) faults.push('TLS_CLIENT_CA_FILE must go with TLS_CERT_FILE');
  // Fastify opens a second listener for this name, which would keep the first certificate.
  if (cert !== undefined && host === 'localhost')
    faults.push('HOST must be an address (127.0.0.1) with TLS_CERT_FILE');
  return followed(values, LISTENER, faults);
}

/** Returns the certificates for connections to the platform; undefined where no file is set. */
export function upstreamCertificates(values: Values, faults: string[]): FollowedCertificates | undefined {
  const { UPSTREAM_BASE_URL: api, UPSTREAM_TOKEN_URL: tokens } = values;
  const given = Object.values(certificateFiles(values, UPSTREAM)).map(({ variable }) => variable);
  if (given.length > 0 && ![api, tokens].some(({ protocol }) => protocol === 'https:'))
    faults.push(`${given.join(', ')} must go with an UPSTREAM_BASE_URL or UPSTREAM_TOKEN_URL of https`);
  return followed(values, UPSTREAM, faults);
}

/** Returns the certificates for connections to Redis. Adds to `faults` what is wrong with the settings. */
export function redisCertificates(values: Values, faults: string[]): Certificates {
  const files = certificateFiles(values, REDIS);
  const before = faults.length;
  const certificates = readCertificates(files, REDIS, faults);
  const given = Object.values(files).map(({ variable }) => variable);
  const address = values.REDIS_URL && parseRedisUrl(values.REDIS_URL.reveal());
  if (faults.length === before && given.length > 0 && !address?.tls)
    faults.push(`${given.join(', ')} must go with a REDIS_URL that begins with rediss`);
  return certificates;
}

/** Reads DATABASE_CA_FILE. Adds to `faults` what does not fit DATABASE_URL. */
export function authoritiesOfDatabase(values: Values, faults: string[]): string | undefined {
  const { DATABASE_URL: address, DATABASE_CA_FILE: path } = values;
  const sslMode = address.kind === 'postgres' ? address.sslMode : 'disable';
  if (path !== undefined && sslMode === 'disable')
    faults.push('DATABASE_CA_FILE must go with a DATABASE_URL that has sslmode=verify-full');
  if (path === undefined && sslMode === 'require')
    faults.push(
      'DATABASE_URL has sslmode=require, which checks no certificate: give sslmode=verify-full, or name the authority in DATABASE_CA_FILE',
    );
  const variable = 'DATABASE_CA_FILE';
  const files = path === undefined ? {} : { ca: { variable, path } as const };
  return readCertificates(files, { ca: variable, cert: variable, key: variable }, faults).ca;
}

function followed(
  values: Values,
  variables: CertificateVariables,
  faults: string[],
): FollowedCertificates | undefined {
  const files = certificateFiles(values, variables);
  if (Object.keys(files).length === 0) return undefined;
  return new FollowedCertificates(variables, files, readCertificates(files, variables, faults));
}
