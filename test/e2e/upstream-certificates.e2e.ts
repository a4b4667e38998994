import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Authority, type Identity, LOOPBACK, makeAuthority } from '../support/certificates.ts';
import { order, read } from '../support/expected.ts';
import { TestGateway } from '../support/gateway.ts';
import { send } from '../support/operations.ts';
import { until } from '../support/redis.ts';
import { IdentityFiles, replace } from '../support/replaced-certificates.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { fingerprintOf } from '../support/tls-client.ts';

/** A platform that serves only clients with a certificate, at its API and at its token endpoint. */

const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const ca = join(folder, 'ca.pem');
const files = new IdentityFiles(join(folder, 'cert.pem'), join(folder, 'key.pem'));
const environment = {
  UPSTREAM_TLS_CERT_FILE: files.cert,
  UPSTREAM_TLS_KEY_FILE: files.key,
  UPSTREAM_TLS_CA_FILE: ca,
};
const sandbox = new TestSandbox();
const seen: string[] = [];

let platform: Authority;
let first: Identity;
let gateway: TestGateway;

const certificate = () => platform.issue([{ type: 'dns', value: 'gateway.internal' }]);
const shown = (identity: Identity) =>
  seen.filter((line) => line === `client certificate ${fingerprintOf(identity)}`).length;
const newTokens = () => sandbox.revokeTokens();

beforeAll(async () => {
  platform = await makeAuthority('Platform');
  first = await certificate();
  files.put(first);
  writeFileSync(ca, platform.pem);
  const server = await platform.issue(LOOPBACK);
  await sandbox.open({ tls: { ...server, clientCa: platform.pem }, log: (line) => seen.push(line) });
  gateway = await TestGateway.start(sandbox, environment);
});
afterAll(async () => {
  await (gateway as TestGateway | undefined)?.stop();
  await sandbox.close();
  rmSync(folder, { recursive: true, force: true });
});

describe('O4 the certificate that the gateway shows to the platform', () => {
  it('is shown at the token endpoint and at the API: a read and an order succeed', async () => {
    expect(sandbox.url).toMatch(/^https:/);
    expect((await send(gateway, read)).status).toBe(200);
    expect((await send(gateway, order)).status).toBe(201);
    expect((await sandbox.journal('token')).length).toBeGreaterThan(0);
    // The gateway has at least one connection for tokens, one for reads, and one for the order.
    expect(shown(first)).toBeGreaterThanOrEqual(3);
  });

  it('has its end, and that of the authorities, in the metrics', async () => {
    const metrics = await gateway.metrics();
    for (const name of ['upstream-client', 'upstream-ca', 'platform', 'tokens'])
      expect(metrics).toContain(`gateway_certificate_expiry_timestamp_seconds{certificate="${name}"}`);
  });

  it('is replaced while requests run: none fails, and new connections show the new one', async () => {
    const next = await certificate();
    const replaced = new AbortController();
    const outcomes: number[] = [];
    const load = async () => {
      while (!replaced.signal.aborted)
        outcomes.push((await send(gateway, read)).status, (await send(gateway, order)).status);
    };
    const running = [load(), load()];
    await replace(gateway, files, next);
    const before = shown(first);
    await newTokens();
    expect((await send(gateway, order)).status).toBe(201);
    replaced.abort();
    await Promise.all(running);
    expect(outcomes.filter((status) => ![200, 201].includes(status))).toEqual([]);
    expect(shown(next)).toBeGreaterThan(0);
    await until('only the new one is shown', async () => {
      const [olds, news] = [shown(first), shown(next)];
      await send(gateway, order);
      return shown(first) === olds && shown(next) > news;
    });
    expect(shown(first)).toBeLessThanOrEqual(before + 2);
  });

  it('O13 stays, where a file is half written, or the key is that of another', async () => {
    const [one, other] = [await certificate(), await certificate()];
    for (const wrong of [
      { cert: one.cert.slice(0, 300), key: one.key },
      { cert: one.cert, key: other.key },
    ]) {
      const told = gateway.logged('certificates-rejected');
      files.put(wrong);
      await told;
      expect((await send(gateway, order)).status).toBe(201);
    }
    await replace(gateway, files, one);
    expect((await send(gateway, order)).status).toBe(201);
    expect(shown(one)).toBeGreaterThan(0);
    expect((await gateway.log()).join('\n')).toContain('UPSTREAM_TLS_KEY_FILE must be the private key of');
  });
});

describe('O13 a gateway', () => {
  it('does not start with the key of another certificate, or with one file of the two', async () => {
    const wrong = new IdentityFiles(join(folder, 'wrong-cert.pem'), join(folder, 'wrong-key.pem'));
    wrong.put({ cert: (await certificate()).cert, key: first.key });
    const pair = { UPSTREAM_TLS_CERT_FILE: wrong.cert, UPSTREAM_TLS_KEY_FILE: wrong.key };
    await expect(TestGateway.start(sandbox, pair)).rejects.toThrow(
      'UPSTREAM_TLS_KEY_FILE must be the private key of UPSTREAM_TLS_CERT_FILE',
    );
    await expect(TestGateway.start(sandbox, { UPSTREAM_TLS_KEY_FILE: wrong.key })).rejects.toThrow(
      'UPSTREAM_TLS_CERT_FILE and UPSTREAM_TLS_KEY_FILE must be set together',
    );
  });

  it('without a certificate gets no token: nothing is placed', async () => {
    const bare = await TestGateway.start(sandbox, { UPSTREAM_TLS_CA_FILE: ca });
    const before = (await sandbox.calls()).length;
    const answer = await send(bare, order);
    await bare.stop();
    expect([answer.status, answer.body['outcome']]).toEqual([503, 'not_processed']);
    expect((await sandbox.calls()).length).toBe(before);
  });
});
