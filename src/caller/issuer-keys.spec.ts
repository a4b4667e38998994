import type { ServerResponse } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Issuer } from '../../test/support/issuer.ts';
import { Metrics } from '../observability/metrics.ts';
import { RawServer, writeEndlessly } from '../../test/support/raw-server.ts';
import { RecordedLog } from '../../test/support/settings.ts';
import { IssuerKeys, KeysUnavailable } from './issuer-keys.ts';

const MINUTE = 60_000;

let issuer: Issuer;
let keys: IssuerKeys;
let recorded: RecordedLog;
let metrics: Metrics;
let now: number;
beforeEach(async () => {
  issuer = await Issuer.start();
  recorded = new RecordedLog();
  now = 1_000;
  metrics = new Metrics();
  keys = new IssuerKeys(new URL(`${issuer.url}/keys`), recorded.log, metrics, () => now);
});
afterEach(async () => {
  await keys.close();
  await issuer.close();
});

async function missed(reason: string): Promise<number> {
  const text = await metrics.registry.metrics();
  return Number(
    new RegExp(`^gateway_issuer_keys_missed_total\\{reason="${reason}"\\} (\\d+)$`, 'm').exec(text)?.[1],
  );
}

/** Returns the seconds for which no request has brought keys. */
async function missing(): Promise<Record<string, number>> {
  const samples = await metrics.samples('gateway_issuer_keys_missing_seconds');
  return Object.fromEntries(samples.map(({ labels, value }) => [labels['reason'] ?? '', value]));
}

const asked = () => issuer.requests.length;
const fails = (response: ServerResponse) => response.writeHead(503).end();

describe('the keys of the issuer', () => {
  it('are asked for by the first who needs one, once for all who do', async () => {
    expect(asked()).toBe(0);
    const found = await Promise.all(Array.from({ length: 100 }, () => keys.having('key-1')));
    expect(new Set(found.map((set) => set?.ids.has('key-1')))).toEqual(new Set([true]));
    expect(issuer.requests).toEqual(['/keys']);
  });

  it('G3 of one id that is absent are asked for once a minute, and again when the set has changed', async () => {
    await keys.having('key-1');
    for (let second = 0; second < 61; second++) {
      expect(await keys.having('withdrawn')).toBeUndefined();
      expect(asked()).toBe(second < 60 ? 2 : 3);
      now += 1_000;
    }
    await issuer.addKey('key-2');
    expect(await keys.having('key-2')).toBeDefined();
    await issuer.addKey('withdrawn');
    expect(await keys.having('withdrawn')).toBeDefined();
  });

  it('G3 of made-up ids are asked for once in 5 s, however many they are, and then follow a rotation', async () => {
    await keys.having('key-1');
    let made = 0;
    const flood = async () => {
      for (let index = 0; index < 20; index++) expect(await keys.having(`made-up-${made++}`)).toBeUndefined();
      now += 1_000;
    };
    for (let second = 0; second < 30; second++) await flood();
    // The requests are the first one, three at once, and one every 5 s of 29 s.
    expect(asked()).toBe(1 + 3 + 5);
    await issuer.addKey('key-2');
    const rotatedAt = now;
    while (!(await keys.having('key-2'))) {
      await flood();
      // A wait of more than a minute was possible before made-up ids had a budget of their own.
      expect(now - rotatedAt).toBeLessThanOrEqual(5_000);
    }
  });

  it('G4 stay while the issuer publishes an empty set, for 15 minutes, which is logged', async () => {
    await keys.having('key-1');
    issuer.answer = (response) => response.end('{"keys":[]}');
    now += 5 * MINUTE;
    const logged = recorded.next('jwks-empty');
    expect(await keys.having('key-1')).toBeDefined();
    expect(await logged).toMatchObject({ level: 'warn', kept: 1 });
    expect(await missed('empty')).toBe(1);
    for (let minute = 1; minute < 15; minute++) {
      now += MINUTE;
      expect(await keys.having('key-1')).toBeDefined();
      await keys.having(`made-up-${minute}`);
    }
    now += MINUTE;
    await expect(keys.having('made-up')).rejects.toBeInstanceOf(KeysUnavailable);
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
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

  it('G4 tell how long they are missed, however rarely they are asked for', async () => {
    await keys.having('key-1');
    expect(await missing()).toEqual({ unavailable: 0, empty: 0 });
    issuer.answer = (response) => response.writeHead(503, { 'retry-after': '300' }).end();
    for (let request = 0; request < 3; request++) {
      now += 6 * MINUTE;
      expect(await keys.having('made-up')).toBeUndefined();
    }
    expect([asked(), await missing()]).toEqual([4, { unavailable: 720, empty: 0 }]);
    issuer.answer = (response) => response.end('{"keys":[]}');
    now += 6 * MINUTE;
    expect(await keys.having('made-up')).toBeUndefined();
    expect(await missing()).toEqual({ unavailable: 0, empty: 1_080 });
    // A request that failed long ago tells nothing about the next one.
    now += 60 * MINUTE;
    expect(await missing()).toEqual({ unavailable: 0, empty: 0 });
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(await missing()).toEqual({ unavailable: 0, empty: 0 });
    now += 6 * MINUTE;
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(await missing()).toEqual({ unavailable: 0, empty: 360 });
    issuer.answer = (response) => response.end(issuer.keySet);
    now += MINUTE;
    expect(await keys.having('key-1')).toBeDefined();
    expect(await missing()).toEqual({ unavailable: 0, empty: 0 });
  });

  it('G14 are not asked for before the end of a Retry-After, by no kind of request', async () => {
    await keys.having('key-1');
    issuer.answer = (response) => response.writeHead(429, { 'retry-after': '120' }).end();
    now += 5 * MINUTE;
    expect(await keys.having('made-up')).toBeUndefined();
    expect(asked()).toBe(2);
    issuer.answer = (response) => response.end(issuer.keySet);
    await issuer.addKey('key-2');
    for (let second = 0; second < 120; second++) {
      expect(await keys.having('key-1')).toBeDefined();
      expect(await keys.having('key-2')).toBeUndefined();
      now += 1_000;
    }
    expect(asked()).toBe(2);
    expect(await keys.having('key-2')).toBeDefined();
  });

  it('G14 that were never had are asked for when a Retry-After is over, and after five minutes at the latest', async () => {
    issuer.answer = (response) => response.writeHead(503, { 'retry-after': '86400' }).end();
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    issuer.answer = (response) => response.end(issuer.keySet);
    now += 5 * MINUTE - 1;
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(asked()).toBe(1);
    now += 1;
    expect(await keys.having('key-1')).toBeDefined();
  });

  it.each<[string, (response: ServerResponse) => unknown]>([
    ['a key twice in an object', (response) => response.end('{"keys":[],"keys":[]}')],
    ['more than 256 KiB', (response) => response.end(`{"keys":[],"x":"${'x'.repeat(300_000)}"}`)],
    ['a body that never ends', (response) => response.write('{"keys":')],
  ])('are not taken from %s', async (_, answer) => {
    issuer.answer = answer;
    await expect(keys.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(recorded.lines.at(-1)).toMatchObject({ event: 'jwks-unavailable', level: 'warn' });
    expect(await missed('unavailable')).toBe(1);
  });

  it('S27 are not taken from a response with no end of interim responses, which is cut off', async () => {
    const endless = await RawServer.start();
    let sent = () => 0;
    endless.respond = (socket) => (sent = writeEndlessly(socket, '', 'HTTP/1.1 103 Early Hints\r\n\r\n'));
    const own = new IssuerKeys(new URL(endless.origin), recorded.log, metrics);
    await expect(own.having('key-1')).rejects.toBeInstanceOf(KeysUnavailable);
    expect(recorded.lines.at(-1)).toMatchObject({
      event: 'jwks-unavailable',
      reason: 'UND_ERR_HEADERS_OVERFLOW',
    });
    expect(sent()).toBeLessThan(16 * 1_048_576);
    await own.close();
    await endless.close();
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
});
