import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../../test/support/canary.ts';
import { makeCertificates } from '../../test/support/certificates.ts';
import { settings } from '../../test/support/settings.ts';
import { ConfigError } from './app-config.ts';

let folder: string;
const file = (name: string) => join(folder, `${name}.pem`);

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), 'redis-certificates-'));
  const { ca, good, untrusted } = await makeCertificates();
  const files = { ca, cert: good.cert, key: good.key, otherKey: untrusted.key, broken: 'no certificate' };
  for (const [name, pem] of Object.entries(files)) writeFileSync(file(name), pem);
});
afterAll(() => rmSync(folder, { recursive: true }));

function of(environment: Record<string, string>) {
  return settings({ REDIS_URL: 'rediss://localhost', ENCRYPTION_KEYS: newEncryptionKey(), ...environment });
}

function faultsOf(environment: Record<string, string>): readonly string[] {
  try {
    of(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.faults;
    throw error;
  }
}

describe('the certificates for Redis', () => {
  it('of REDIS_URL are those of GUARD_REDIS_URL too, unless it has its own', () => {
    const own = {
      REDIS_TLS_CA_FILE: file('ca'),
      REDIS_TLS_CERT_FILE: file('cert'),
      REDIS_TLS_KEY_FILE: file('key'),
    };
    const shared = of(own);
    expect(Object.keys(shared.redis.certificates)).toEqual(['ca', 'cert', 'key']);
    expect(shared.orderStore.certificates).toBe(shared.redis.certificates);
    const apart = of({ ...own, GUARD_REDIS_URL: 'rediss://other', GUARD_REDIS_TLS_CA_FILE: file('ca') });
    expect(Object.keys(apart.orderStore.certificates)).toEqual(['ca']);
  });

  const pem = 'must be the path of a readable certificate in PEM';
  it.each([
    ['a file that is not there', `REDIS_TLS_CA_FILE ${pem}`, { CA: 'none' }],
    ['a file of something else', `REDIS_TLS_CERT_FILE ${pem}`, { CERT: 'broken', KEY: 'key' }],
    [
      'a certificate without its key',
      'REDIS_TLS_CERT_FILE and REDIS_TLS_KEY_FILE must be set together',
      { CERT: 'cert' },
    ],
    [
      'the key of another certificate',
      'REDIS_TLS_KEY_FILE must be the private key of REDIS_TLS_CERT_FILE',
      { CERT: 'cert', KEY: 'otherKey' },
    ],
  ])('are refused at the start: %s', (_, fault, files) => {
    const named = Object.entries(files).map(([name, pemOf]) => [`REDIS_TLS_${name}_FILE`, file(pemOf)]);
    expect(faultsOf(Object.fromEntries(named) as Record<string, string>)).toEqual([fault]);
  });

  it('are refused where the URL is without TLS', () => {
    expect(faultsOf({ REDIS_URL: 'redis://localhost', REDIS_TLS_CA_FILE: file('ca') })).toEqual([
      'REDIS_TLS_CA_FILE must go with a REDIS_URL that begins with rediss',
    ]);
  });
});
