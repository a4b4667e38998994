import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { connect, createServer } from 'node:tls';
import { beforeAll, expect, it } from '@jest/globals';
import { makeCertificates, type TestCertificates } from './certificates.ts';

let certificates: TestCertificates;
beforeAll(async () => {
  certificates = await makeCertificates();
});

/** The result of a handshake with a server of this identity, for a client that knows our authority: `ok` or the error's code. */
async function handshake(kind: Exclude<keyof TestCertificates, 'ca'>, servername?: string): Promise<string> {
  const server = createServer(certificates[kind], (socket) => socket.on('error', () => undefined).end());
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const socket = connect({ host: '127.0.0.1', port, ca: certificates.ca, servername });
  try {
    await once(socket, 'secureConnect');
    return 'ok';
  } catch (error) {
    return (error as { code: string }).code;
  } finally {
    socket.destroy();
    server.close();
  }
}

it.each<[Exclude<keyof TestCertificates, 'ca'>, string]>([
  ['good', 'ok'],
  ['expired', 'CERT_HAS_EXPIRED'],
  ['wrongName', 'ERR_TLS_CERT_ALTNAME_INVALID'],
  ['untrusted', 'UNABLE_TO_VERIFY_LEAF_SIGNATURE'],
])('a certificate that is %s gives %s', async (kind, expected) => {
  expect(await handshake(kind, 'localhost')).toBe(expected);
  // Without a name: by the address.
  expect(await handshake(kind)).toBe(expected);
});
