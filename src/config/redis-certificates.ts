import { readFileSync } from 'node:fs';
import { createSecureContext } from 'node:tls';
import { parseRedisUrl } from './redis-url.ts';
import type { Values } from './variables.ts';

/** For TLS to Redis, in PEM. */
export interface RedisCertificates {
  /** The certificates of the trusted authorities; absent: those that Node trusts. */
  readonly ca?: string;
  /** The certificate that the gateway shows. */
  readonly cert?: string;
  readonly key?: string;
}

const FILES = ['ca', 'cert', 'key'] as const;

/** Reads the files of one Redis. Adds to `faults` what is wrong with them, by the variable's name. */
export function redisCertificates(
  prefix: 'REDIS' | 'GUARD_REDIS',
  values: Values,
  faults: string[],
): RedisCertificates {
  const found: Partial<Record<(typeof FILES)[number], string>> = {};
  for (const file of FILES) {
    const name = variableOf(prefix, file);
    const path = values[name];
    if (path === undefined) continue;
    try {
      found[file] = readFileSync(path, 'utf8');
      createSecureContext(file === 'ca' || file === 'cert' ? { [file]: found[file] } : {});
    } catch {
      faults.push(`${name} must be the path of a readable file in PEM`);
      return {};
    }
  }
  const given = FILES.filter((file) => file in found).map((file) => variableOf(prefix, file));
  const url = values[`${prefix}_URL`];
  if (given.length > 0 && !(url && parseRedisUrl(url.reveal())?.tls))
    faults.push(`${given.join(', ')} must go with a ${prefix}_URL that begins with rediss`);
  const [cert, key] = [variableOf(prefix, 'cert'), variableOf(prefix, 'key')];
  if ((found.cert === undefined) !== (found.key === undefined))
    faults.push(`${cert} and ${key} must be set together`);
  else if (!fit(found)) faults.push(`${key} must be the private key of ${cert}, in PEM without a passphrase`);
  return found;
}

function variableOf<P extends string, F extends (typeof FILES)[number]>(
  prefix: P,
  file: F,
): `${P}_TLS_${Uppercase<F>}_FILE` {
  return `${prefix}_TLS_${file.toUpperCase() as Uppercase<F>}_FILE`;
}

function fit(certificates: RedisCertificates): boolean {
  try {
    createSecureContext(certificates);
    return true;
  } catch {
    return false;
  }
}
