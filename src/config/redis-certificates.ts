import { createPrivateKey, X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { parseRedisUrl } from './redis-url.ts';
import type { Values } from './variables.ts';

/** The certificates for TLS to Redis, in PEM. */
export interface RedisCertificates {
  /** The certificates of the trusted authorities; absent: those that Node trusts. */
  readonly ca?: string;
  readonly cert?: string;
  readonly key?: string;
}

/** Reads each file as what it should be, and fails where it is something else. */
const FILES = {
  ca: (pem: string) => new X509Certificate(pem),
  cert: (pem: string) => new X509Certificate(pem),
  key: (pem: string) => createPrivateKey(pem),
} as const;
type File = keyof typeof FILES;
const NAMES = Object.keys(FILES) as File[];

/** Reads the files, for both Redis. Adds to `faults` what is wrong with them, by the variable's name. */
export function redisCertificates(values: Values, faults: string[]): RedisCertificates {
  const found: Partial<Record<File, string>> = {};
  for (const file of NAMES) {
    const name = variableOf(file);
    const path = values[name];
    if (path === undefined) continue;
    try {
      const pem = readFileSync(path, 'utf8');
      FILES[file](pem);
      found[file] = pem;
    } catch {
      const what = file === 'key' ? 'private key in PEM, without a passphrase' : 'certificate in PEM';
      faults.push(`${name} must be the path of a readable ${what}`);
      return {};
    }
  }
  const given = NAMES.filter((file) => file in found).map((file) => variableOf(file));
  const urls = [values.REDIS_URL, values.ORDER_REDIS_URL].map((url) => url && parseRedisUrl(url.reveal()));
  if (given.length > 0 && !urls.some((url) => url?.tls))
    faults.push(`${given.join(', ')} must go with a REDIS_URL or ORDER_REDIS_URL that begins with rediss`);
  const [cert, key] = [variableOf('cert'), variableOf('key')];
  if ((found.cert === undefined) !== (found.key === undefined))
    faults.push(`${cert} and ${key} must be set together`);
  else if (found.cert && found.key && !FILES.cert(found.cert).checkPrivateKey(FILES.key(found.key)))
    faults.push(`${key} must be the private key of ${cert}`);
  return found;
}

function variableOf<F extends File>(file: F): `REDIS_TLS_${Uppercase<F>}_FILE` {
  return `REDIS_TLS_${file.toUpperCase() as Uppercase<F>}_FILE`;
}
