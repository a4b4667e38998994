import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { endings } from '../support/endings.ts';
import { Fleet } from '../support/fleet.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { caseOf } from '../support/expected.ts';
import { operationCases, send } from '../support/operations.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { newApiKey } from '../support/canary.ts';

/** What callers may do to the gateway with their keys, grants and floods. Orders sent again: test/e2e/orders.e2e.ts. */

const ASSETS = '/v1/enterprises/ent-harbour/assets';

let sandbox: TestSandbox;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset({ tokens: true }));
afterAll(() => sandbox.close());

const keyed = async (gateway: TestGateway, key: string | null) => gateway.get(ASSETS, { key });

/** Everything that a caller can see of a refusal, except the parts that differ in every response. */
function seen({ status, headers, text, body }: TestAnswer): unknown {
  const own = [...headers].filter(([name]) => name !== 'x-request-id' && name !== 'date');
  return { status, own, text: text.replace(body['requestId'] as string, '') };
}

describe('K29 a key that is not valid', () => {
  it.each([
    [
      'a key after Bearer',
      (key: string) => ({ authorization: `Bearer ${key}` }),
      'X-Api-Key`, without `Bearer',
    ],
    [
      'Bearer in the header of keys',
      (key: string) => ({ 'x-api-key': `Bearer ${key}` }),
      'in the header `Authorization`',
    ],
    [
      'a token in the header of keys',
      () => ({ 'x-api-key': 'aaaa.bbbb.cccc' }),
      'in the header `Authorization`',
    ],
    [
      'a token where no issuer is configured',
      () => ({ authorization: 'Bearer aaaa.bbbb.cccc' }),
      'no issuer is configured',
    ],
    ['another scheme', (key: string) => ({ authorization: `Basic ${key}` }), 'must be `Bearer` and a token'],
    [
      'a key and a token',
      (key: string) => ({ 'x-api-key': key, authorization: 'Bearer a.b.c' }),
      'Send one of them',
    ],
  ])('tells %s apart', async (_, headersOf, detail) => {
    const gateway = ended(await startInProcess(sandbox));
    // Known or not: only the form counts.
    for (const key of [gateway.key, newApiKey().key]) {
      const { status, body } = await gateway.get(ASSETS, { key: null, headers: headersOf(key) });
      expect([status, body['code'], body['detail']]).toEqual([
        401,
        'unauthenticated',
        expect.stringContaining(detail),
      ]);
    }
  });

  it.each([
    ['no credential', {}, 'neither `X-Api-Key` nor `Authorization`'],
    ['an empty key', { 'x-api-key': '' }, 'is empty'],
    ['a key that no caller has', { 'x-api-key': newApiKey().key }, 'no caller of this gateway has it'],
    [
      'such a key beside the password of a proxy',
      { 'x-api-key': newApiKey().key, authorization: 'Basic cHJveHk6eA==' },
      'no caller of this gateway has it',
    ],
  ])('says that there is %s', async (_, headers, detail) => {
    const gateway = ended(await startInProcess(sandbox));
    const { status, body } = await gateway.get(ASSETS, { key: null, headers });
    expect([status, body['detail']]).toEqual([401, expect.stringContaining(detail)]);
  });

  it('is 401, with the same response whether a key was ever valid or not', async () => {
    const elsewhere = ended(await startInProcess(sandbox));
    const gateway = ended(await startInProcess(sandbox, {}, [{ name: 'leaver', enterprises: ['*'] }]));
    const revoked = gateway.keys['leaver'] as string;
    const reloaded = gateway.logged('callers-reloaded');
    gateway.callers = gateway.callers.filter(({ name }) => name !== 'leaver');
    gateway.writeCallers();
    await reloaded;
    const hash = gateway.callers[0]?.keys[0] as string;
    const keys = [
      'x',
      newApiKey().key,
      revoked,
      elsewhere.key,
      hash,
      gateway.key.slice(0, -1),
      `${gateway.key}x`,
      gateway.key.toUpperCase(),
      `${gateway.key}, ${gateway.key}`,
    ];
    const answers = [];
    for (const key of keys) answers.push(await keyed(gateway, key));
    expect(answers.map(({ status }) => status)).toEqual(keys.map(() => 401));
    for (const answer of answers) expect(seen(answer)).toEqual(seen(answers[0] as TestAnswer));
    expect(await sandbox.calls()).toEqual([]);
    const printed = (await gateway.log()).join('\n');
    for (const key of [revoked, elsewhere.key, gateway.key]) expect(printed).not.toContain(key);
    expect((await keyed(gateway, gateway.key)).status).toBe(200);
  });
});

describe('K30 a valid key', () => {
  it.each(
    operationCases.filter(({ path, body }) => /ent-|channelCode/.test(path + JSON.stringify(body ?? {}))),
  )("with another tenant's enterprise or channel is 403 at $id", async (operation) => {
    const foreign = { enterprises: ['ent-meridian'], channels: ['partner'], users: ['*'] };
    const gateway = ended(
      await startInProcess(sandbox, {}, [
        { name: 'meridian', scopes: operation.scopes as string[], ...foreign },
      ]),
    );
    const answer = await send(gateway, operation, { key: gateway.keys['meridian'] as string });
    expect([answer.status, answer.body['outcome']]).toEqual([403, 'not_processed']);
    expect(await sandbox.journal()).toEqual([]);
  });
});

describe('K31 a flood of one caller', () => {
  const QUOTA = 100;
  const FLOOD_S = 3;
  const RATE = 1_000;

  const median = (times: number[]) => times.sort((a, b) => a - b)[Math.floor(times.length / 2)] as number;

  it('of 1,000 requests a second is 429 for it, exactly beyond its limit, and affects no other caller', async () => {
    const flooder = { name: 'flooder', rateLimit: { requests: QUOTA, perSeconds: 3_600 } };
    const neighbour = { name: 'neighbour', rateLimit: { requests: 1_000_000, perSeconds: 3_600 } };
    const fleet = ended(await Fleet.start(sandbox, 2, { callers: [flooder, neighbour] }));
    const ask = async (name: string, index: number) => {
      const sentAt = performance.now();
      const answer = await fleet.get(index % 2, ASSETS, { 'x-api-key': fleet.keys[name] as string });
      return { ...answer, ms: performance.now() - sentAt };
    };
    /** The neighbour's requests, a few at a time, until the promise is settled. */
    const neighbourDuring = async (during: Promise<unknown>): Promise<Awaited<ReturnType<typeof ask>>[]> => {
      const over = new AbortController();
      void during.finally(() => over.abort());
      const answers = [];
      while (!over.signal.aborted) {
        answers.push(await ask('neighbour', answers.length));
        await wait(10);
      }
      return answers;
    };

    const alone = await neighbourDuring(wait(2_000));
    const flood: ReturnType<typeof ask>[] = [];
    const flooding = (async () => {
      const from = performance.now();
      while (flood.length < FLOOD_S * RATE) {
        const due = Math.min(((performance.now() - from) / 1_000) * RATE, FLOOD_S * RATE);
        while (flood.length < due) flood.push(ask('flooder', flood.length));
        await wait(5);
      }
      return Promise.all(flood);
    })();
    const beside = await neighbourDuring(flooding);
    const answers = await flooding;

    expect(answers.filter(({ status }) => status === 200)).toHaveLength(QUOTA);
    const refused = answers.filter(({ status }) => status === 429);
    expect(refused).toHaveLength(FLOOD_S * RATE - QUOTA);
    expect(refused[0]?.body).toMatchObject({ code: 'too-many-requests', outcome: 'not_processed' });
    expect(Number(refused[0]?.headers.get('retry-after'))).toBeGreaterThan(3_000);
    expect(new Set([...alone, ...beside].map(({ status }) => status))).toEqual(new Set([200]));
    const [before, during] = [alone, beside].map((each) => median(each.map(({ ms }) => ms))) as [
      number,
      number,
    ];
    // Client, platform and gateways share the machine with the flood, so this is only an alarm.
    expect(during).toBeLessThan(Math.max(20 * before, 2_000));
    expect(await sandbox.journal('listAssets')).toHaveLength(QUOTA + alone.length + beside.length);
  });
});

describe('O3 a key is replaced by another', () => {
  it('without a gap: both are valid while both are in the file, and the old one no longer afterwards', async () => {
    const gateway = ended(await startInProcess(sandbox));
    const old = gateway.key;
    const renewed = newApiKey();
    const entry = gateway.callers[0] as { keys: string[] };
    const change = async (keys: string[]) => {
      const reloaded = gateway.logged('callers-reloaded');
      entry.keys = keys;
      gateway.writeCallers();
      await reloaded;
    };
    const statuses = async () => [
      (await keyed(gateway, old)).status,
      (await keyed(gateway, renewed.key)).status,
    ];
    const [oldHash = ''] = entry.keys;

    expect(await statuses()).toEqual([200, 401]);
    await change([oldHash, renewed.hash]);
    expect(await statuses()).toEqual([200, 200]);
    await sandbox.fault({ operation: caseOf('listAssets').upstream, action: { delayMs: 2_000 }, times: 1 });
    const underWay = keyed(gateway, old);
    await until('it is under way', async () => (await sandbox.spoiled()) === 1);
    await change([renewed.hash]);
    expect(await statuses()).toEqual([401, 200]);
    // An admitted request gets its response.
    expect((await underWay).status).toBe(200);
  });
});
