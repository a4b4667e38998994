import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer, type Server } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { makeCertificates, type TestCertificates } from '../support/certificates.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { order } from '../support/expected.ts';
import { TestGateway } from '../support/gateway.ts';
import { AUDIENCE, Issuer } from '../support/issuer.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** Node's switch that turns certificate checks off for the whole process. It must not work on the gateway. */

let sandbox: TestSandbox;
let certificates: TestCertificates;
/** Provides the files of callers and users. */
let lender: TestGateway;
let gateway: GatewayProcess | undefined;
let server: Server;
let seen: { connections: number; bytes: number };
let origin: string;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  certificates = await makeCertificates();
  lender = await TestGateway.start(sandbox, {}, [{ name: 'portal', enterprises: ['*'] }]);
  seen = { connections: 0, bytes: 0 };
  server = createServer(certificates.untrusted, (socket) => {
    socket.on('data', (chunk: Buffer) => (seen.bytes += chunk.length));
    socket.on('error', () => undefined);
  });
  server.on('connection', () => seen.connections++);
  server.on('tlsClientError', () => undefined);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  origin = `127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(async () => {
  await gateway?.stop();
  gateway = undefined;
});
afterAll(async () => {
  server.close();
  await lender.stop();
  await sandbox.close();
});

/** The variable is set while the gateway runs; at its start the gateway would refuse it. */
async function startUnchecked(environment: Record<string, string>): Promise<GatewayProcess> {
  gateway = await startGatewayProcess(
    { ...lender.environment(sandbox), ...environment },
    { disturbed: true },
  );
  await gateway.disturb({ environment: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
  seen = { connections: 0, bytes: 0 };
  return gateway;
}

async function statusOf({ url }: GatewayProcess, headers: Record<string, string>): Promise<number> {
  return (await fetch(`${url}/v1/enterprises/ent-harbour/assets`, { headers })).status;
}

const byKey = () => ({ 'x-api-key': lender.key });
const token = async () => {
  const issuer = await Issuer.start();
  const text = await issuer.token({ azp: 'portal', scope: 'orders:read' });
  await issuer.close();
  return { authorization: `Bearer ${text}` };
};

describe('G2 with NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
  it('the gateway does not start, and names the variable', async () => {
    const start = startGatewayProcess({ ...lender.environment(sandbox), NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    await expect(start).rejects.toThrow(/NODE_TLS_REJECT_UNAUTHORIZED must not be 0/);
  });

  it.each<
    [string, () => Record<string, string>, () => Record<string, string> | Promise<Record<string, string>>]
  >([
    ['the platform', () => ({ UPSTREAM_BASE_URL: `https://${origin}` }), byKey],
    ['the token endpoint', () => ({ UPSTREAM_TOKEN_URL: `https://${origin}/token` }), byKey],
    [
      'the issuer of JWTs',
      () => ({ JWT_ISSUER: 'issuer', JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: `https://${origin}/keys` }),
      token,
    ],
  ])(
    'the gateway still refuses a certificate that is not trusted, of %s',
    async (_, environment, headers) => {
      const unchecked = await startUnchecked(environment());
      expect(await statusOf(unchecked, await headers())).toBe(503);
      expect(seen.connections).toBeGreaterThan(0);
      expect(seen.bytes).toBe(0);
    },
  );

  it('the gateway sends no order to a platform whose certificate is not trusted', async () => {
    const unchecked = await startUnchecked({ UPSTREAM_BASE_URL: `https://${origin}` });
    const { method, path, body } = order;
    const answer = await fetch(unchecked.url + path, {
      method,
      headers: { ...byKey(), 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    expect(answer.status).toBe(503);
    expect(seen.connections).toBeGreaterThan(0);
    expect(seen.bytes).toBe(0);
  });

  it('the gateway still refuses a certificate that is not trusted, of Redis', async () => {
    await startUnchecked({ REDIS_URL: `rediss://${origin}`, ENCRYPTION_KEYS: newEncryptionKey() });
    await until('the gateway has tried again', () => seen.connections > 2);
    expect(seen.bytes).toBe(0);
  });
});
