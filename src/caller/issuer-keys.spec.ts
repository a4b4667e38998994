import { createServer, type ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Issuer } from '../../test/support/issuer.ts';
import { RawServer } from '../../test/support/raw-server.ts';
import { RecordedLog } from '../../test/support/settings.ts';
import { IssuerKeys, KeysUnavailable } from './issuer-keys.ts';

const MINUTE = 60_000;

let issuer: Issuer;
let keys: IssuerKeys;
let recorded: RecordedLog;
let now: number;
beforeEach(async () => {
  issuer = await Issuer.start();
  recorded = new RecordedLog();
  now = 1_000;
  keys = new IssuerKeys(new URL(`${issuer.url}/keys`), recorded.log, () => now);
});
afterEach(async () => {
  await keys.close();
  await issuer.close();
});

const asked = () => issuer.requests.length;
const fails = (response: ServerResponse) => response.writeHead(503).end();

describe('the keys of the issuer', () => {
  it('are asked for by the first who needs one, once for all who do', async () => {
    expect(asked()).toBe(0);
    const found = await Promise.all(Array.from({ length: 100 }, () => keys.having('key-1')));
    expect(new Set(found.map((set) => set?.ids.has('key-1')))).toEqual(new Set([true]));
    expect(issuer.requests).toEqual(['/keys']);
  });

  it('of ids that nobody knows are asked for once a minute, however many they are', async () => {
    await keys.having('key-1');
    for (let minute = 1; minute <= 3; minute++) {
      now += MINUTE;
      const found = await Promise.all(
        Array.from({ length: 1_000 }, (_, index) => keys.having(`made-up-${minute}-${index}`)),
      );
      expect(found.every((set) => set === undefined)).toBe(true);
      now += MINUTE - 1;
      expect(await keys.having('another')).toBeUndefined();
      expect(asked()).toBe(1 + minute);
      now -= MINUTE - 1;
    }
  });

  it('follow the issuer: a new one by the first token that names it, a withdrawn one within minutes', async () => {
    await keys.having('key-1');
    await issuer.addKey('key-2');
    now += MINUTE;
    expect((await keys.having('key-2'))?.ids).toEqual(new Set(['key-1', 'key-2']));
    issuer.withdrawKey('key-1');
    now += 5 * MINUTE;
    // Old keys serve while others are asked for.
    expect(await keys.having('key-1')).toBeDefined();
    await recorded.next('jwks-loaded');
    expect(await keys.having('key-1')).toBeUndefined();
    expect(await keys.having('key-2')).toBeDefined();
    expect(asked()).toBe(3);
  });

  it('are the same object until the issuer gives others', async () => {
    const first = await keys.having('key-1');
    now += MINUTE;
    await keys.having('made-up');
    expect(asked()).toBe(2);
    expect(keys.current()).toBe(first);
  });

  it('go on for an hour while it fails, and not longer', async () => {
    await keys.having('key-1');
    issuer.answer = fails;
    for (let minute = 0; minute < 59; minute++) {
      now += MINUTE;
      expect(await keys.having('key-1')).toBeDefined();
      expect(await keys.having('key-2')).toBeUndefined();
    }
    expect(asked()).toBeLessThanOrEqual(60);
    now += MINUTE;
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(keys.current()).toBeUndefined();
  });

  it('that were never had are asked for again after 5 s', async () => {
    issuer.answer = fails;
    const failures = await Promise.allSettled(Array.from({ length: 100 }, () => keys.having('key-1')));
    expect(failures.every(({ status }) => status === 'rejected')).toBe(true);
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(asked()).toBe(1);
    expect(recorded.lines.filter(({ event }) => event === 'jwks-unavailable')).toHaveLength(1);
    issuer.answer = (response) => response.end(issuer.keySet);
    now += 5_000;
    expect(await keys.having('key-1')).toBeDefined();
  });

  it.each<[string, (response: ServerResponse) => unknown]>([
    ['no JSON', (response) => response.end('<html>')],
    ['no key set', (response) => response.end('{"keys":{"kty":"EC"}}')],
    ['a key twice in an object', (response) => response.end('{"keys":[],"keys":[]}')],
    ['more than 256 KiB', (response) => response.end(`{"keys":[],"x":"${'x'.repeat(300_000)}"}`)],
    ['another status', (response) => response.writeHead(203).end('{"keys":[]}')],
    ['a head that never ends', (response) => response.flushHeaders()],
    ['a body that never ends', (response) => response.write('{"keys":')],
  ])('are not taken from %s', async (_, answer) => {
    issuer.answer = answer;
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(recorded.lines.at(-1)).toMatchObject({ event: 'jwks-unavailable', level: 'warn' });
  });

  it('are not looked for where a redirect or a proxy leads', async () => {
    const elsewhere = await RawServer.start();
    const proxies = ['http_proxy', 'HTTP_PROXY', 'all_proxy', 'ALL_PROXY'];
    for (const name of proxies) process.env[name] = elsewhere.origin;
    try {
      issuer.answer = (response) =>
        response.writeHead(302, { location: `${elsewhere.origin}/keys` }).end(issuer.keySet);
      await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
      expect([asked(), elsewhere.connections.length]).toEqual([1, 0]);
    } finally {
      for (const name of proxies) delete process.env[name];
      await elsewhere.close();
    }
  });

  it('fail where nobody listens', async () => {
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const { port } = server.address() as { port: number };
    await new Promise((resolve) => server.close(resolve));
    const none = new IssuerKeys(new URL(`http://127.0.0.1:${port}/`), recorded.log);
    await expect(none.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    await none.close();
  });
});
