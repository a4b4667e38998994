import { createHash, X509Certificate } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect as connectTls, getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Authority, type Identity, LOOPBACK, makeAuthority } from '../support/certificates.ts';
import { endings } from '../support/endings.ts';
import { TestGateway } from '../support/gateway.ts';
import { Issuer } from '../support/issuer.ts';
import { converse } from '../support/raw-client.ts';
import { until } from '../support/redis.ts';
import { whenClosed } from '../support/socket.ts';
import { useSandbox } from '../support/stack.ts';
import { TlsClient } from '../support/tls-client.ts';

/** TLS on the public listener, and client certificates as credentials, of the shipped gateway. */

const ME = '/v1/callers/me';
const DAY_MS = 24 * 60 * 60 * 1000;
const WORKLOAD = 'spiffe://cluster.example/ns/shop/sa/portal';

const sandbox = useSandbox();
const { ended } = endings();
const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const file = (name: string) => join(folder, `${name}.pem`);
const trusted = getCACertificates('default');

let servers: Authority;
let clients: Authority;
let issuer: Issuer;
let gateway: TestGateway;
let billing: Identity;
let portal: Identity;
let pinned: Identity;

const sha256Of = ({ cert }: Identity) =>
  `sha256:${createHash('sha256').update(new X509Certificate(cert).raw).digest('hex')}`;

beforeAll(async () => {
  [servers, clients] = await Promise.all([makeAuthority('Servers'), makeAuthority('Clients')]);
  [billing, portal, pinned] = await Promise.all([
    clients.issue([{ type: 'dns', value: 'Billing.internal' }]),
    clients.issue([
      { type: 'url', value: WORKLOAD },
      { type: 'dns', value: 'elsewhere.internal' },
    ]),
    clients.issue([{ type: 'dns', value: 'no.entry.names.this' }]),
  ]);
  const server = await servers.issue(LOOPBACK);
  for (const [name, pem] of Object.entries({ cert: server.cert, key: server.key, ca: clients.pem }))
    writeFileSync(file(name), pem);
  setDefaultCACertificates([servers.pem]);
  issuer = await Issuer.start();
  const settings = {
    ...{ TLS_CERT_FILE: file('cert'), TLS_KEY_FILE: file('key'), TLS_CLIENT_CA_FILE: file('ca') },
    ...issuer.environment,
  };
  gateway = await TestGateway.start(sandbox, settings, [
    { name: 'billing', certificates: ['DNS:billing.internal'] },
    { name: 'portal', keys: [], certificates: [WORKLOAD] },
    { name: 'pinned', keys: [], certificates: [sha256Of(pinned)] },
    { name: 'twofold', keys: [], certificates: ['spiffe://cluster.example/two', 'DNS:two.internal'] },
  ]);
});
afterAll(async () => {
  await (gateway as TestGateway | undefined)?.stop();
  await issuer.close();
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

/** Asks who the caller is, on a connection of its own. */
function ask(identity?: Identity, headers: Record<string, string> = {}) {
  const client = ended(new TlsClient({ ca: servers.pem, identity }));
  return client.get(gateway.url + ME, headers);
}

const token = async (azp: string) => ({ authorization: `Bearer ${await issuer.token({ azp, scope: '' })}` });
const key = (name: string) => ({ 'x-api-key': gateway.keys[name] ?? '' });
const refusals = () =>
  gateway.logLines
    .filter((line) => line.includes('"event":"certificate-refused"'))
    .map((line) => JSON.parse(line) as Record<string, string>);

/** Expects 401 with no more words than a request without any certificate gets. Only the log has the reason. */
async function expectRefused(identity: Identity, reason: string): Promise<void> {
  const plain = await ask();
  const answer = await ask(identity);
  expect(plain.status).toBe(401);
  expect({ ...answer.body, requestId: '' }).toEqual({ ...plain.body, requestId: '' });
  expect(answer.headers['www-authenticate']).toEqual(plain.headers['www-authenticate']);
  // Lines of earlier requests may arrive meanwhile.
  const own = () => refusals().filter(({ requestId }) => requestId === answer.body['requestId']);
  await until('the log has the reason', () => own().length > 0);
  expect(own()).toEqual([expect.objectContaining({ reason })]);
}

describe('the public listener', () => {
  it('speaks TLS, and a key is a credential without any certificate', async () => {
    expect(gateway.url).toMatch(/^https:/);
    expect((await ask(undefined, key('billing'))).body).toMatchObject({ name: 'billing' });
    expect((await gateway.get(ME)).status).toBe(200);
  });

  it('closes a connection that speaks plain HTTP, and serves the next one', async () => {
    const { answers, closed } = await converse(gateway.url, `GET ${ME} HTTP/1.1\r\nhost: a\r\n\r\n`);
    expect([answers, closed]).toEqual([[], true]);
    expect((await gateway.get('/health/ready')).status).toBe(200);
  });

  it('K61 closes a connection that does not go on with its handshake, after the time for headers', async () => {
    const { hostname, port } = new URL(gateway.url);
    const startedAt = performance.now();
    const socket = connect(Number(port), hostname);
    await whenClosed(socket);
    expect(performance.now() - startedAt).toBeGreaterThan(3_900);
    expect((await gateway.get('/health/ready')).status).toBe(200);
  });

  it('closes with the process, whatever its clients have begun', async () => {
    const own = await TestGateway.start(sandbox, { TLS_CERT_FILE: file('cert'), TLS_KEY_FILE: file('key') });
    const { hostname, port } = new URL(own.url);
    const options = { host: hostname, port: Number(port), ca: servers.pem };
    const silent = connect(options);
    const unused = connectTls(options);
    await Promise.all([once(silent, 'connect'), once(unused, 'secureConnect')]);
    const closed = [silent, unused].map((each) => whenClosed(each.resume()));
    await own.stop();
    await Promise.all(closed);
    expect([silent.closed, unused.closed]).toEqual([true, true]);
  });

  it('leaves the management listener plain', async () => {
    expect(gateway.managementUrl).toMatch(/^http:/);
    const metrics = await gateway.metrics();
    for (const name of ['listener', 'client-ca'])
      expect(metrics).toMatch(
        new RegExp(`gateway_certificate_expiry_timestamp_seconds\\{certificate="${name}"\\} \\d`),
      );
  });
});

describe('a certificate is a credential', () => {
  it.each<[string, () => Identity, string]>([
    ['a name of its SAN, in any case', () => billing, 'billing'],
    ['a URI of its SAN', () => portal, 'portal'],
    ['the SHA-256 of its DER', () => pinned, 'pinned'],
  ])('of the caller whose entry has %s', async (_, identity, name) => {
    const answer = await ask(identity());
    expect([answer.status, answer.body]).toEqual([200, expect.objectContaining({ name })]);
  });

  it('with two names of one caller, and with a certificate of a sub-authority in between', async () => {
    const between = await makeAuthority('Between', clients.signer);
    const leaf = await between.issue([
      { type: 'url', value: 'spiffe://cluster.example/two' },
      { type: 'dns', value: 'two.internal' },
    ]);
    const answer = await ask({ ...leaf, cert: `${leaf.cert}\n${between.pem}` });
    expect(answer.body).toMatchObject({ name: 'twofold' });
  });

  it('beside the key or the token of the same caller', async () => {
    expect((await ask(billing, key('billing'))).body).toMatchObject({ name: 'billing' });
    expect((await ask(billing, await token('billing'))).body).toMatchObject({ name: 'billing' });
  });

  it('as long as the entry names it: then the next request on the same connection is refused, and a stream ends', async () => {
    const own = await clients.issue([{ type: 'dns', value: 'leaving.internal' }]);
    const client = ended(new TlsClient({ ca: servers.pem, identity: own }));
    const watching = ended(new TlsClient({ ca: servers.pem, identity: own }));
    const entry = { certificates: ['DNS:leaving.internal'], scopes: ['events:read'], enterprises: ['*'] };
    gateway.addCaller({ name: 'leaving', keys: [], ...entry });
    const change = async () => {
      const told = gateway.logged('callers-reloaded');
      gateway.writeCallers();
      await told;
    };
    await change();
    expect((await client.get(gateway.url + ME)).status).toBe(200);
    const stream = await watching.watch(`${gateway.url}/v1/events/stream`);
    expect(stream.status).toBe(200);
    gateway.callers.pop();
    await change();
    expect((await client.get(gateway.url + ME)).status).toBe(401);
    expect(await stream.text).toContain(':');
  });

  it('until it ends, also on a connection that is older', async () => {
    const validForMs = 3_000;
    const own = await clients.issue([{ type: 'url', value: WORKLOAD }], { from: -DAY_MS, to: validForMs });
    const client = ended(new TlsClient({ ca: servers.pem, identity: own }));
    expect((await client.get(gateway.url + ME)).status).toBe(200);
    const { validToDate } = new X509Certificate(own.cert);
    await until('it has ended', () => Date.now() > validToDate.getTime());
    const answer = await client.get(gateway.url + ME);
    // The client may have another one by now, which it shows on a new connection.
    expect([answer.status, answer.headers['connection']]).toEqual([401, 'close']);
    await until('the log has the reason', () =>
      refusals().some(
        ({ reason, requestId }) => reason === 'CERT_HAS_EXPIRED' && requestId === answer.body['requestId'],
      ),
    );
  });
});

describe('K60 credentials of two callers', () => {
  it.each<[string, () => Promise<Record<string, string>> | Record<string, string>]>([
    ['a key', () => key('billing')],
    ['a token', () => token('billing')],
  ])('are 401: a certificate and %s', async (_, headers) => {
    const answer = await ask(portal, await headers());
    expect([answer.status, answer.body['detail']]).toEqual([401, expect.stringContaining('two callers')]);
  });

  it('are 401: a certificate with names of both', async () => {
    const both = await clients.issue([
      { type: 'url', value: WORKLOAD },
      { type: 'dns', value: 'billing.internal' },
    ]);
    await expectRefused(both, 'SEVERAL_CALLERS');
    expect((await ask(both, key('billing'))).status).toBe(401);
  });

  it('are 401: a wrong key is not made right by a certificate', async () => {
    expect((await ask(portal, { 'x-api-key': 'lgw_wrong' })).status).toBe(401);
  });
});

describe('K59 a certificate that is no credential', () => {
  const kinds: Readonly<Record<string, [reason: string, () => Promise<Identity>]>> = {
    'names no entry': ['NO_CALLER', () => clients.issue([{ type: 'dns', value: 'unknown.internal' }])],
    'has expired': [
      'CERT_HAS_EXPIRED',
      () => clients.issue([{ type: 'url', value: WORKLOAD }], { from: -2 * DAY_MS, to: -DAY_MS }),
    ],
    'is not valid yet': [
      'CERT_NOT_YET_VALID',
      () => clients.issue([{ type: 'url', value: WORKLOAD }], { from: DAY_MS / 2, to: DAY_MS }),
    ],
    'is of another authority': [
      'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
      async () => (await makeAuthority('Foreign')).issue([{ type: 'url', value: WORKLOAD }]),
    ],
    'hides a name of another caller in one of its own': [
      'NO_CALLER',
      () => clients.issue([{ type: 'url', value: `spiffe://x, URI:${WORKLOAD}` }]),
    ],
  };
  it.each(Object.entries(kinds))(
    'is 401, and a key beside it counts: one that %s',
    async (_, [reason, make]) => {
      const identity = await make();
      await expectRefused(identity, reason);
      expect((await ask(identity, key('billing'))).body).toMatchObject({ name: 'billing' });
    },
  );

  it('is what a header says: none is trusted', async () => {
    const cert = encodeURIComponent(portal.cert);
    const headers = {
      'x-forwarded-client-cert': `By=spiffe://a;URI=${WORKLOAD};Cert="${cert}"`,
      ...{ 'x-ssl-client-cert': cert, 'client-cert': `:${cert}:`, 'x-ssl-client-verify': 'SUCCESS' },
    };
    expect((await ask(undefined, headers)).status).toBe(401);
  });
});
