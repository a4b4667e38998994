import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { once } from 'node:events';
import { connect } from 'node:net';
import { text } from 'node:stream/consumers';
import { connect as connectTls } from 'node:tls';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Authority, type Identity, LOOPBACK, makeAuthority } from '../support/certificates.ts';
import { until } from '../support/redis.ts';
import { endings } from '../support/endings.ts';
import { metric } from '../support/expected.ts';
import { TestGateway } from '../support/gateway.ts';
import { IdentityFiles, replace, expectServedWhileReplaced } from '../support/replaced-certificates.ts';
import { useSandbox } from '../support/stack.ts';
import { fingerprintOf, shownBy, TlsClient } from '../support/tls-client.ts';

/** The files of the public listener's certificates change while the gateway runs. */

const ME = '/v1/callers/me';
const sandbox = useSandbox();
const { ended } = endings();
const folder = mkdtempSync(join(tmpdir(), 'certificates-'));
const ca = join(folder, 'ca.pem');
const files = new IdentityFiles(join(folder, 'cert.pem'), join(folder, 'key.pem'));
const trusted = getCACertificates('default');
const environment = { TLS_CERT_FILE: files.cert, TLS_KEY_FILE: files.key, TLS_CLIENT_CA_FILE: ca };

let servers: Authority;
let clients: Authority;
let gateway: TestGateway;
let current: Identity;

beforeAll(async () => {
  [servers, clients] = await Promise.all([makeAuthority('Servers'), makeAuthority('Clients')]);
  current = await servers.issue(LOOPBACK);
  files.put(current);
  writeFileSync(ca, clients.pem);
  setDefaultCACertificates([servers.pem]);
  gateway = await TestGateway.start(sandbox, environment, [
    { name: 'billing', keys: [], certificates: ['DNS:billing.internal'] },
  ]);
});
afterAll(async () => {
  await (gateway as TestGateway | undefined)?.stop();
  setDefaultCACertificates(trusted);
  rmSync(folder, { recursive: true, force: true });
});

const billing = (of: Authority) => of.issue([{ type: 'dns', value: 'billing.internal' }]);
const client = (identity?: Identity) => ended(new TlsClient({ ca: servers.pem, identity }));
const shown = () => shownBy(gateway.url, { ca: servers.pem });

async function replaced(): Promise<void> {
  current = await servers.issue(LOOPBACK);
  await replace(gateway, files, current);
}

describe('O4 a certificate of the public listener', () => {
  it('is replaced 5 times under 2,000 requests: none fails, and new connections have the new one', async () => {
    await expectServedWhileReplaced(gateway, { authority: servers, files, requests: 2_000, times: 5 });
    await replaced();
  });

  it('is replaced: a connection that is open stays open, and goes on', async () => {
    const { hostname, port } = new URL(gateway.url);
    const socket = connectTls({ host: hostname, port: Number(port), ca: servers.pem });
    let bytes = '';
    let isClosed = false;
    socket.on('data', (chunk: Buffer) => (bytes += String(chunk))).on('close', () => (isClosed = true));
    const ask = async (count: number) => {
      socket.write(`GET ${ME} HTTP/1.1\r\nhost: a\r\nx-api-key: ${gateway.key}\r\n\r\n`);
      while (bytes.split('HTTP/1.1 200').length <= count)
        await new Promise((done) => socket.once('data', done));
    };
    await ask(1);
    await replaced();
    await ask(2);
    expect(isClosed).toBe(false);
    expect(await shown()).toBe(fingerprintOf(current));
    socket.destroy();
  });
});

describe('O13 a file of a certificate that is wrong', () => {
  const half = (pem: string) => pem.slice(0, pem.length / 2);
  it.each<[string, (next: Identity) => Record<string, string>, string]>([
    ['half of the certificate', ({ cert, key }) => ({ cert: half(cert), key }), 'TLS_CERT_FILE must be'],
    ['half of the key', ({ cert, key }) => ({ cert, key: half(key) }), 'TLS_KEY_FILE must be the path'],
    ['an empty certificate', ({ key }) => ({ cert: '', key }), 'TLS_CERT_FILE must be'],
    [
      'the new certificate with the old key',
      ({ cert }) => ({ cert }),
      'TLS_KEY_FILE must be the private key of TLS_CERT_FILE',
    ],
    [
      'one and a half authorities',
      () => ({ ca: clients.pem + half(servers.pem) }),
      'TLS_CLIENT_CA_FILE must be',
    ],
  ])(
    'is refused while the gateway runs: %s; the last pair stays, and the whole files are taken',
    async (_, put, reason) => {
      const next = await servers.issue(LOOPBACK);
      const paths: Record<string, string> = { cert: files.cert, key: files.key, ca };
      const told = gateway.logged('certificates-rejected');
      for (const [name, pem] of Object.entries(put(next))) writeFileSync(paths[name] ?? '', pem);
      await told;
      const line = gateway.logLines.findLast((each) => each.includes('"event":"certificates-rejected"'));
      expect(line).toContain(reason);
      const [file] = reason.split(' ');
      const refused = `gateway_followed_file_refused{file="${file}"}`;
      expect(await metric(gateway, refused)).toBe(1);
      expect((await gateway.metrics()).match(/gateway_followed_file_refused\{.*\} 1/g)).toHaveLength(1);
      expect(await shown()).toBe(fingerprintOf(current));
      expect((await client().get(gateway.url + ME, { 'x-api-key': gateway.key })).status).toBe(200);
      writeFileSync(ca, clients.pem);
      current = next;
      await replace(gateway, files, current);
      expect(await shown()).toBe(fingerprintOf(current));
      expect(await metric(gateway, refused)).toBe(0);
    },
  );

  it('is none if only line ends are missing between certificates, as `cat` joins files: each of them counts', async () => {
    writeFileSync(ca, servers.pem.trimEnd() + clients.pem);
    current = await servers.issue(LOOPBACK);
    files.put({ ...current, cert: current.cert.trimEnd() + servers.pem });
    await until('the pair is taken', async () => (await shown()) === fingerprintOf(current));
    expect((await client(await billing(clients)).get(gateway.url + ME)).status).toBe(200);
    writeFileSync(ca, clients.pem);
    await replaced();
  });

  it('ends the start with the names of the variables', async () => {
    const one = await servers.issue(LOOPBACK);
    const other = await servers.issue(LOOPBACK);
    const wrong = new IdentityFiles(join(folder, 'wrong-cert.pem'), join(folder, 'wrong-key.pem'));
    wrong.put({ cert: one.cert, key: other.key });
    const settings = { TLS_CERT_FILE: wrong.cert, TLS_KEY_FILE: wrong.key };
    await expect(TestGateway.start(sandbox, settings)).rejects.toThrow(
      'configuration: TLS_KEY_FILE must be the private key of TLS_CERT_FILE',
    );
    const { TLS_CERT_FILE } = settings;
    await expect(TestGateway.start(sandbox, { TLS_CERT_FILE })).rejects.toThrow(
      'TLS_CERT_FILE and TLS_KEY_FILE must be set together',
    );
  });
});

describe('O14 the authorities of client certificates', () => {
  const putAuthorities = async (...authorities: Authority[]) => {
    const told = gateway.logged('certificates-reloaded');
    writeFileSync(ca, authorities.map(({ pem }) => pem).join('\n'));
    await told;
  };

  it('are replaced: one that is added counts at once, one that is removed no more, on open connections too', async () => {
    const next = await makeAuthority('Next');
    const old = client(await billing(clients));
    const status = async (of: TlsClient) => (await of.get(gateway.url + ME)).status;
    expect(await status(old)).toBe(200);
    expect(await status(client(await billing(next)))).toBe(401);
    await putAuthorities(clients, next);
    const fresh = client(await billing(next));
    expect([await status(old), await status(fresh)]).toEqual([200, 200]);
    await putAuthorities(next);
    expect([await status(old), await status(fresh)]).toEqual([401, 200]);
    expect((await gateway.log()).join('\n')).toContain('"reason":"AUTHORITY_REMOVED"');
    await putAuthorities(clients);
  });

  it('are replaced during a handshake: a certificate of a removed one does not count', async () => {
    const [next, identity] = await Promise.all([makeAuthority('Next'), billing(clients)]);
    const { hostname: host, port } = new URL(gateway.url);
    const begun = connect(Number(port), host);
    await once(begun, 'connect');
    // The gateway accepts connections in their order, so it has accepted this one.
    expect((await client().get(gateway.url + ME, { 'x-api-key': gateway.key })).status).toBe(200);
    await putAuthorities(next);
    const socket = connectTls({ socket: begun, host, ca: servers.pem, ...identity });
    socket.write(`GET ${ME} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n`);
    expect(await text(socket)).toMatch(/^HTTP\/1\.1 401 /);
    await putAuthorities(clients);
  });

  it('are replaced: below a sub-authority a connection shows its certificate anew, if any authority is removed', async () => {
    const next = await makeAuthority('Next');
    const between = await makeAuthority('Between', clients.signer);
    const leaf = await billing(between);
    const own = client({ ...leaf, cert: `${leaf.cert}\n${between.pem}` });
    const ask = () => own.get(gateway.url + ME);
    expect((await ask()).status).toBe(200);
    await putAuthorities(clients, next);
    expect((await ask()).status).toBe(200);
    await putAuthorities(clients);
    const { status, headers } = await ask();
    expect([status, headers['connection']]).toEqual([401, 'close']);
    expect((await ask()).status).toBe(200);
  });
});
