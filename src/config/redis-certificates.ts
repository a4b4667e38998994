import { certificateFiles, type Certificates, readCertificates } from './certificate-files.ts';
import { parseRedisUrl } from './redis-url.ts';
import type { Values } from './variables.ts';

const VARIABLES = {
  ca: 'REDIS_TLS_CA_FILE',
  cert: 'REDIS_TLS_CERT_FILE',
  key: 'REDIS_TLS_KEY_FILE',
} as const;

/** Reads the files, and adds to `faults` what is wrong with them, by the variable's name. */
export function redisCertificates(values: Values, faults: string[]): Certificates {
  const files = certificateFiles(values, VARIABLES);
  const before = faults.length;
  const certificates = readCertificates(files, VARIABLES, faults);
  const given = Object.values(files).map(({ variable }) => variable);
  const address = values.REDIS_URL && parseRedisUrl(values.REDIS_URL.reveal());
  if (faults.length === before && given.length > 0 && !address?.tls)
    faults.push(`${given.join(', ')} must go with a REDIS_URL that begins with rediss`);
  return certificates;
}
