import { LASTING_URL_FORMS } from './database-url.ts';
import { type KnownPlatform, NOTHING_KNOWN, readPlatformProfile } from './platform-profile.ts';
import type { Values } from './variables.ts';

/** Reads PLATFORM_PROFILE_FILE. Adds to `faults` a unit of times that contradicts the file. */
export function platformProfile(values: Values, faults: string[]): KnownPlatform {
  const { PLATFORM_PROFILE_FILE: path, UPSTREAM_TIMESTAMP_UNIT: unit } = values;
  if (path === undefined) return NOTHING_KNOWN;
  try {
    const known = readPlatformProfile(path);
    const { timestampUnit = unit } = known.readings;
    if (unit !== undefined && timestampUnit !== unit)
      faults.push(
        `UPSTREAM_TIMESTAMP_UNIT must be ${timestampUnit}, as PLATFORM_PROFILE_FILE says, or be left out`,
      );
    return known;
  } catch {
    // The code that follows the file reports what is wrong with it, and ends the start.
    return NOTHING_KNOWN;
  }
}

/** Returns the faults of variables that are valid alone and wrong together. */
export function contradictions(
  values: Values,
  environment: Readonly<Record<string, string | undefined>>,
): string[] {
  const faults: string[] = [];
  // With this variable Node checks no certificate on any connection of the process.
  if (environment['NODE_TLS_REJECT_UNAUTHORIZED'] === '0')
    faults.push(
      'NODE_TLS_REJECT_UNAUTHORIZED must not be 0: name a private authority in NODE_EXTRA_CA_CERTS',
    );
  for (const name of ['UPSTREAM_BASE_URL', 'UPSTREAM_TOKEN_URL'] as const) {
    if (values[name].protocol === 'http:' && !values.ALLOW_INSECURE_UPSTREAM && !isLoopback(values[name])) {
      faults.push(`${name} must be https, a loopback address, or allowed by ALLOW_INSECURE_UPSTREAM=true`);
    }
  }
  const { kind } = values.DATABASE_URL;
  if (values.NODE_ENV === 'production') {
    if (kind === 'memory')
      faults.push(
        environment['DATABASE_URL'] || environment['DATABASE_URL_FILE']
          ? 'DATABASE_URL must not be sqlite::memory: in production, since orders would be forgotten with the process: name a file or a PostgreSQL'
          : `DATABASE_URL is required in production: ${LASTING_URL_FORMS}`,
      );
    if (kind === 'postgres' && !values.REDIS_URL)
      faults.push(
        'REDIS_URL is required in production with a PostgreSQL in DATABASE_URL: the processes that share it share tokens, sessions and rates there',
      );
  }
  if (!values.ENCRYPTION_KEYS && (values.REDIS_URL || kind !== 'memory'))
    faults.push(
      'ENCRYPTION_KEYS is required with REDIS_URL, and with a DATABASE_URL other than sqlite::memory:',
    );
  const { JWT_ISSUER: issuer, JWT_AUDIENCE: audience, JWT_JWKS_URL: jwksUrl } = values;
  if ((issuer ?? audience ?? jwksUrl) && !(issuer && audience && jwksUrl))
    faults.push('JWT_ISSUER, JWT_AUDIENCE and JWT_JWKS_URL must be set together');
  if (jwksUrl?.protocol === 'http:' && !isLoopback(jwksUrl))
    faults.push('JWT_JWKS_URL must be https, or a loopback address');
  return faults;
}

function isLoopback(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(url.hostname);
}
