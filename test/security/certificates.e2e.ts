import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Server } from 'node:net';
import { createServer as createTlsServer } from 'node:tls';
import { describe, expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import { endings } from '../support/endings.ts';
import { order, read } from '../support/expected.ts';
import { TestGateway } from '../support/gateway.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { AUDIENCE, Issuer } from '../support/issuer.ts';
import { send } from '../support/operations.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** Node's switch that turns certificate checks off for the whole process. It must not work on the gateway. */

const { atEnd, ended } = endings();
const sandbox = useSandbox();

/** A fatal alert, decode_error (RFC 8446, section 6). */
const ALERT = Buffer.from([0x15, 3, 3, 0, 2, 2, 50]);

/**
 * A server whose certificate nobody trusts, with an alert in the same segment as the end of its handshake: bytes that come when the client
 * has refused it already. It counts connections, and the bytes that come through a handshake.
 */
async function untrusted() {
  const seen = { connections: 0, bytes: 0, at: '' };
  const listen = async (server: Server) => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    atEnd(() => server.close());
    return (server.address() as AddressInfo).port;
  };
  const { untrusted: identity } = await makeCertificates();
  const inner = createTlsServer(identity, (socket) => {
    socket.on('data', (chunk: Buffer) => (seen.bytes += chunk.length)).on('error', () => undefined);
  });
  const port = await listen(inner.on('tlsClientError', () => undefined));
  const outer = createServer((client) => {
    seen.connections++;
    const target = connect(port, '127.0.0.1');
    client.on('error', () => undefined).on('close', () => target.destroy());
    target.on('error', () => undefined).on('close', () => client.destroy());
    client.on('data', (chunk) => target.write(chunk));
    target.once('data', (first) => {
      client.write(Buffer.concat([first, ALERT]));
      target.on('data', (chunk) => client.write(chunk));
    });
  });
  seen.at = `127.0.0.1:${await listen(outer)}`;
  return seen;
}

/** The variable is set while the gateway runs; at its start the gateway would refuse it. */
async function startUnchecked(environment: Record<string, string>): Promise<TestGateway> {
  let process!: GatewayProcess;
  const gateway = await TestGateway.start(
    sandbox,
    environment,
    [{ name: 'portal', enterprises: ['*'], channels: ['*'] }],
    async (all) => (process = await startGatewayProcess(all, { disturbed: true })),
  );
  await process.disturb({ environment: { NODE_TLS_REJECT_UNAUTHORIZED: '0' } });
  return ended(gateway);
}

describe('G2 with NODE_TLS_REJECT_UNAUTHORIZED=0', () => {
  it('the gateway does not start, and names the variable', async () => {
    const start = TestGateway.start(sandbox, { NODE_TLS_REJECT_UNAUTHORIZED: '0' });
    await expect(start).rejects.toThrow(/NODE_TLS_REJECT_UNAUTHORIZED must not be 0/);
  });

  it('the gateway still refuses a certificate that is not trusted, of the platform, for a read and an order', async () => {
    const platform = await untrusted();
    const gateway = await startUnchecked({ UPSTREAM_BASE_URL: `https://${platform.at}` });
    for (const operation of [read, order]) {
      const before = platform.connections;
      expect((await send(gateway, operation)).status).toBe(503);
      expect(platform.connections).toBeGreaterThan(before);
    }
    expect(platform.bytes).toBe(0);
  });

  it.each(['rediss', 'rediss-cluster'])(
    'S22 the gateway still refuses it, of the token endpoint, the issuer of JWTs and Redis (%s), and goes on',
    async (scheme) => {
      const [tokens, keys, redis] = [await untrusted(), await untrusted(), await untrusted()];
      const gateway = await startUnchecked({
        UPSTREAM_TOKEN_URL: `https://${tokens.at}/token`,
        ...{ JWT_ISSUER: 'issuer', JWT_AUDIENCE: AUDIENCE, JWT_JWKS_URL: `https://${keys.at}/keys` },
        ...{ REDIS_URL: `${scheme}://${redis.at}`, ENCRYPTION_KEYS: newEncryptionKey() },
      });
      const issuer = await Issuer.start();
      const authorization = `Bearer ${await issuer.token({ azp: 'portal', scope: 'orders:read' })}`;
      await issuer.close();
      for (const [what, seen, options] of [
        ['tokens', tokens, {}],
        ['keys', keys, { key: null, headers: { authorization } }],
      ] as const) {
        const before = seen.connections;
        expect([what, (await send(gateway, read, options)).status]).toEqual([what, 503]);
        expect([what, seen.connections > before]).toEqual([what, true]);
      }
      const before = redis.connections;
      await until('the gateway has connected to Redis again', () => redis.connections > before + 1);
      expect([tokens, keys, redis].map(({ bytes }) => bytes)).toEqual([0, 0, 0]);
      expect((await gateway.get('/health/live')).status).toBe(200);
      expect((await gateway.log()).join()).not.toContain('"event":"uncaught-exception"');
    },
  );
});
