import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { createServer, getCACertificates, setDefaultCACertificates, type Server } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { makeCertificates, type TestCertificates } from '../../test/support/certificates.ts';
import { freePort } from '../../test/support/redis.ts';
import { Metrics } from '../observability/metrics.ts';
import { connections, tokenConnections, watchedConnector } from './upstream-pools.ts';

let certificates: TestCertificates;
let server: Server;
const trusted = getCACertificates('default');

beforeAll(async () => {
  certificates = await makeCertificates();
});
afterEach(() => {
  setDefaultCACertificates(trusted);
  server.close();
});

/** Connects once to a server with this certificate, and returns the metrics about TLS. */
async function measured(identity: 'good' | 'expired'): Promise<string[]> {
  setDefaultCACertificates([certificates.ca]);
  server = createServer(certificates[identity], (socket) => socket.on('error', () => undefined).end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return attempt('https:', port);
}

async function attempt(protocol: string, port: number): Promise<string[]> {
  const metrics = new Metrics();
  const connect = watchedConnector('platform', 60_000, metrics);
  await new Promise<void>((resolve) => {
    connect(
      { hostname: '127.0.0.1', host: `127.0.0.1:${port}`, protocol, port: String(port) },
      (_, socket) => {
        socket?.destroy();
        resolve();
      },
    );
  });
  const lines = (await metrics.registry.metrics()).split('\n');
  return lines.filter((line) => /^gateway_(certificate|tls)/.test(line) && !line.endsWith(' 0'));
}

describe('a connection to the platform', () => {
  it('tells when the certificate of the server ends', async () => {
    const [line = '', ...others] = await measured('good');
    expect(others).toEqual([]);
    const [, seconds] =
      /^gateway_certificate_expiry_timestamp_seconds\{certificate="platform"\} (\d+)$/.exec(line) ?? [];
    expect(Number(seconds)).toBeGreaterThan(Date.now() / 1_000);
  });

  it('to a server whose certificate is not accepted is counted', async () => {
    expect(await measured('expired')).toEqual(['gateway_tls_failures_total{server="platform"} 1']);
  });

  it('that finds no server is no failure of TLS', async () => {
    await measured('good');
    expect(await attempt('https:', await freePort())).toEqual([]);
  });
});

it('The manual says how many connections the platform sees from one process', () => {
  const [ofTokens, ofCalls] = [tokenConnections, connections].map((each) =>
    Object.values<number>(each).reduce((sum, limit) => sum + limit, 0),
  ) as [number, number];
  const manual = readFileSync('docs/scaling.md', 'utf8').replaceAll(/\s+/g, ' ');
  expect(manual).toContain(`up to ${ofCalls + ofTokens} connections from each process`);
  expect(manual).toContain(`${connections.orders} for orders, ${ofTokens} for tokens.`);
});
