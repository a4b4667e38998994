import { LASTING_URL_FORMS } from './database-url.ts';
import type { KnownReadings } from './platform-profile.ts';
import type { Values } from './variables.ts';

/** Returns the faults of variables that are valid alone and wrong together. */
export function contradictions(
  values: Values,
  environment: Readonly<Record<string, string | undefined>>,
  { timestampUnit = 'ms' }: KnownReadings,
): string[] {
  const faults: string[] = [];
  // 0.2.0 read this variable. Who still sets it must not get the times of orders in another unit without a word.
  const unit = environment['UPSTREAM_TIMESTAMP_UNIT'] || timestampUnit;
  if (unit !== timestampUnit)
    faults.push(
      'UPSTREAM_TIMESTAMP_UNIT must not be set: the unit of times is the reading timestampUnit in PLATFORM_PROFILE_FILE',
    );
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
