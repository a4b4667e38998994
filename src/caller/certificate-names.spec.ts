import { X509Certificate } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { makeAuthority } from '../../test/support/certificates.ts';
import { isCertificateName, certificateNames } from './certificate-names.ts';

type Names = Parameters<Awaited<ReturnType<typeof makeAuthority>>['issue']>[0];

async function namesWith(names: Names): Promise<string[]> {
  const { cert } = await (await makeAuthority('Test')).issue(names);
  return certificateNames(new X509Certificate(cert));
}

describe('the names of a certificate', () => {
  it('are its SHA-256, its URIs as they are and its host names in lower case, and no others', async () => {
    const names = await namesWith([
      { type: 'url', value: 'spiffe://Cluster/a' },
      { type: 'dns', value: 'Billing.Internal' },
      { type: 'email', value: 'billing@internal' },
      { type: 'ip', value: '127.0.0.1' },
      { type: 'dn', value: 'CN=billing.internal' },
      { type: 'url', value: 'urn:b' },
    ]);
    expect(names).toEqual([
      expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      ...['spiffe://Cluster/a', 'DNS:billing.internal', 'urn:b'],
    ]);
    expect(names.filter((name) => !isCertificateName(name))).toEqual([]);
  });

  it.each([
    'spiffe://a, URI:spiffe://victim',
    'spiffe://a,DNS:victim.internal',
    'spiffe://a", URI:spiffe://victim, URI:"',
    String.raw`spiffe://a\", URI:spiffe://victim`,
    'spiffe://victim\u0000.evil',
    'spiffe://a\n, URI:spiffe://victim',
  ])('are never made of a part of another one: %j', async (value) => {
    for (const type of ['url', 'dns', 'email'] as const) {
      const names = await namesWith([{ type, value }]);
      expect(names.filter((name) => /^(spiffe:\/\/victim|DNS:victim\.internal)$/.test(name))).toEqual([]);
    }
  });
});
