import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { type OperationCase, operationCases, send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** How the gateway protects its callers and the platform while the platform fails, stalls or asks for a pause. */

jest.setTimeout(60_000);

let sandbox: TestSandbox;
/** Each test has its own, since breakers and gates keep state. */
let gateway: TestGateway;

const named = (id: string) => operationCases.find((each) => each.id === id) as OperationCase;
const read = named('listAssets');
const otherRead = named('findCustomers');
const write = named('disableLocks');

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(async () => {
  await sandbox.reset();
  gateway = await startInProcess(sandbox);
});
afterEach(() => gateway.stop());
afterAll(() => sandbox.close());

const sent = async ({ upstream }: OperationCase) => (await sandbox.journal(upstream)).length;
const retryAfter = ({ headers }: TestAnswer) => Number(headers.get('retry-after') ?? NaN);
const unavailable = { code: 'upstream-unavailable', outcome: 'not_processed', retryable: true };

async function metric(line: string): Promise<number> {
  const found = (await gateway.metrics()).split('\n').find((each) => each.startsWith(`${line} `));
  return found === undefined ? 0 : Number(found.slice(line.length));
}

/** Calls until the response has this status, up to a limit. */
async function eventually(status: number, operation = read): Promise<TestAnswer> {
  const giveUp = performance.now() + 20_000;
  for (;;) {
    const answer = await send(gateway, operation);
    if (answer.status === status) return answer;
    if (performance.now() > giveUp) throw new Error(`${operation.id} is still ${answer.status}`);
    await sleep(50);
  }
}

/** Fails until the group's breaker opens. */
async function breakOpen(operation: OperationCase): Promise<void> {
  await sandbox.fault({ operation: operation.upstream, action: { httpStatus: 500 } });
  // Only failures of the last ten seconds count.
  let isSent = true;
  for (let each = 0; isSent || each < 20; each++) {
    const before = await sent(operation);
    await send(gateway, operation);
    isSent = (await sent(operation)) > before;
  }
}

/** A call that was no probe, and its token requests: on a slow machine the breaker may allow a probe. */
async function refusal(operation: OperationCase): Promise<{ answer: TestAnswer; tokens: number }> {
  for (let each = 0; each < 20; each++) {
    const [calls, tokens] = [await sent(operation), (await sandbox.journal('token')).length];
    const answer = await send(gateway, operation);
    if ((await sent(operation)) === calls)
      return { answer, tokens: (await sandbox.journal('token')).length - tokens };
  }
  throw new Error(`${operation.id} was never refused`);
}

describe('a platform that asks for a pause', () => {
  it('U19 503 with Retry-After, for a read: not tried again, and not called until then', async () => {
    await sandbox.fault({
      operation: read.upstream,
      times: 1,
      action: { httpStatus: 503, headers: { 'Retry-After': '4' } },
    });
    const first = await send(gateway, read);
    expect(first.status).toBe(503);
    expect(first.body).toMatchObject(unavailable);
    expect(retryAfter(first)).toBe(4);
    const second = await send(gateway, read);
    expect(second.status).toBe(503);
    expect(second.body).toMatchObject(unavailable);
    expect(second.body['upstream']).toBeUndefined();
    expect([1, 2, 3, 4]).toContain(retryAfter(second));
    expect(await sent(read)).toBe(1);
    expect((await send(gateway, otherRead)).status).toBe(200);
    await eventually(200);
    expect(await sent(read)).toBe(2);
    expect(await metric('gateway_upstream_refused_total{group="orderReads",reason="gate"}')).toBeGreaterThan(
      0,
    );
    expect(await metric('gateway_upstream_retries_total{group="orderReads"}')).toBe(0);
  });

  it('U19 503 with Retry-After, for a write: its outcome is unknown, and the next is refused before it is sent', async () => {
    await sandbox.fault({
      operation: write.upstream,
      action: { httpStatus: 503, headers: { 'Retry-After': '30' } },
    });
    const first = await send(gateway, write);
    expect(first.status).toBe(502);
    expect(first.body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown', retryable: false });
    const second = await send(gateway, write);
    expect(second.status).toBe(503);
    expect(second.body).toMatchObject(unavailable);
    expect(retryAfter(second)).toBeGreaterThan(1);
    expect(retryAfter(second)).toBeLessThanOrEqual(30);
    expect(await sent(write)).toBe(1);
  });

  it.each<[string, string, number, number]>([
    ['seconds', '30', 25, 30],
    ['10^9 seconds', '1000000000', 55, 60],
    ['a date', new Date(Date.now() + 3600_000).toUTCString(), 55, 60],
  ])(
    'U20 429 with Retry-After as %s is 503 with a bounded time, and a pause until then',
    async (_, value, from, to) => {
      await sandbox.fault({
        operation: read.upstream,
        action: { httpStatus: 429, headers: { 'Retry-After': value } },
      });
      for (let each = 0; each < 3; each++) {
        const answer = await send(gateway, read);
        expect(answer.status).toBe(503);
        expect(answer.body).toMatchObject(unavailable);
        expect(retryAfter(answer)).toBeGreaterThanOrEqual(from);
        expect(retryAfter(answer)).toBeLessThanOrEqual(to);
      }
      expect(await sent(read)).toBe(1);
    },
  );

  it.each<[string, object]>([
    ['no Retry-After', {}],
    ['a negative one', { 'Retry-After': '-5' }],
    ['one that says nothing', { 'Retry-After': 'soon' }],
    ['a date that is over', { 'Retry-After': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
  ])('U20 429 with %s is 503 without a pause', async (_, headers) => {
    await sandbox.fault({ operation: read.upstream, times: 1, action: { httpStatus: 429, headers } });
    const answer = await send(gateway, read);
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject(unavailable);
    expect(answer.headers.get('retry-after')).toMatch(/^[01]$/);
    expect((await send(gateway, read)).status).toBe(200);
  });

  it('U20 429 for a write: its outcome is unknown, and the next is refused before it is sent', async () => {
    await sandbox.fault({
      operation: write.upstream,
      action: { httpStatus: 429, headers: { 'Retry-After': '30' } },
    });
    expect((await send(gateway, write)).body).toMatchObject({ code: 'outcome-unknown', outcome: 'unknown' });
    expect((await send(gateway, write)).body).toMatchObject(unavailable);
    expect(await sent(write)).toBe(1);
  });
});

describe('a platform that is down', () => {
  it('U29 gets few calls under any load; responses come at once, and the gateway serves again when it is up', async () => {
    await sandbox.fault({ operation: '*', action: { delayMs: 300, reset: 'before-headers' } });
    const answers: Promise<TestAnswer>[] = [];
    for (let each = 0; each < 400; each++) {
      answers.push(send(gateway, each % 4 ? read : write));
      await sleep(5);
    }
    const statuses = (await Promise.all(answers)).map(({ status }) => status);
    // Writes under way at the failure may have been carried out.
    expect(statuses.every((status) => status === 503 || status === 502)).toBe(true);
    const attempts = (await sandbox.calls()).length;
    expect(attempts / statuses.length).toBeLessThanOrEqual(1.2);
    expect(attempts).toBeLessThan(statuses.length);

    const refused: number[] = [];
    for (let each = 0; each < 30; each++) {
      for (const operation of [read, write]) {
        const started = performance.now();
        const answer = await send(gateway, operation);
        if (answer.body['code'] !== 'upstream-unavailable') continue;
        expect(answer.body).toMatchObject(unavailable);
        expect([1, 2]).toContain(retryAfter(answer));
        refused.push(performance.now() - started);
      }
    }
    refused.sort((one, other) => one - other);
    // Far from the 300 ms that the platform takes to fail.
    expect(refused[Math.floor(refused.length / 2)]).toBeLessThan(200);

    await sandbox.reset();
    const backAt = performance.now();
    await Promise.all([eventually(200, read), eventually(200, write)]);
    expect(performance.now() - backAt).toBeLessThan(10_000);
    expect(await metric('gateway_upstream_breaker_state{group="orderReads"}')).toBe(0);
  });

  it('U29 a write is refused as not processed, and nothing of it is sent', async () => {
    await breakOpen(write);
    const { answer } = await refusal(write);
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject(unavailable);
    expect([1, 2]).toContain(retryAfter(answer));
  });

  it('U29 no token is requested for a call that will not be made', async () => {
    // Good for one call each.
    await sandbox.reset({ tokens: true });
    await sandbox.fault({ operation: 'token', action: { patch: { expires_in: 0 } } });
    await breakOpen(read);
    const { answer, tokens } = await refusal(read);
    expect(answer.body).toMatchObject(unavailable);
    expect(tokens).toBe(0);
  });

  it('business refusals, limits and malformed requests open no breaker', async () => {
    for (const action of [{ code: '13004' }, { httpStatus: 429 }, { raw: { text: 'nonsense' } }]) {
      await sandbox.fault({ operation: read.upstream, times: 25, action });
      for (let each = 0; each < 25; each++) await send(gateway, read, { undocumented: true });
    }
    expect((await send(gateway, read)).status).toBe(200);
  });

  it('readiness and metrics show which circuits are open, in words and numbers', async () => {
    const ready = async () => {
      const { status, body } = await gateway.get('/health/ready');
      return { status, ...body };
    };
    expect(await ready()).toMatchObject({ status: 'ok', upstream: 'up', load: 'ok' });
    await breakOpen(read);
    const state = 'gateway_upstream_breaker_state';
    expect(await metric(`${state}{group="orderReads"}`)).toBe(2);
    expect(await metric(`${state}{group="memberReads"}`)).toBe(0);
    const down = await gateway.get('/health/ready');
    expect(down.status).toBe(200);
    expect(down.body).toMatchObject({ status: 'degraded', upstream: 'down' });
    expect((await send(gateway, named('listMembers'))).status).toBe(200);
    expect((await gateway.get('/health/ready')).body).toMatchObject({
      status: 'degraded',
      upstream: 'degraded',
    });
    expect((await gateway.get('/health/live')).body).toEqual({ status: 'ok' });
    await send(gateway, read);
    expect(
      await metric('gateway_upstream_refused_total{group="orderReads",reason="breaker"}'),
    ).toBeGreaterThan(0);
    await sandbox.reset();
    await eventually(200);
    expect((await gateway.get('/health/ready')).body).toMatchObject({ status: 'ok', upstream: 'up' });
  });

  it('a brief failure of a read is retried and counted, within the budget of its group', async () => {
    await sandbox.fault({ operation: read.upstream, times: 1, action: { httpStatus: 502 } });
    expect((await send(gateway, read)).status).toBe(200);
    expect(await metric('gateway_upstream_retries_total{group="orderReads"}')).toBe(1);
  });
});

describe('a group of operations that stalls', () => {
  it('U30 does not affect the others, also with more calls than it has connections', async () => {
    const hasty = await startInProcess(sandbox, { UPSTREAM_DEADLINE_MS: '6000' });
    // Their tokens are fetched before the burst.
    for (const each of [read, named('listMembers')]) expect((await send(hasty, each)).status).toBe(200);
    await sandbox.fault({ operation: read.upstream, action: { hang: true } });
    const stalled = Array.from({ length: 300 }, () => send(hasty, read));
    const others = ['listMembers', 'listAssetNums', 'disableLocks', 'updateMember', 'placeOrder'].map(named);
    for (let round = 0; round < 6; round++) {
      const answers = await Promise.all(
        others.map((each) =>
          send(hasty, {
            ...each,
            ...(each.id === 'placeOrder' && {
              body: { ...each.body, channelOrderId: `SO-U30-${round}` },
            }),
          }),
        ),
      );
      for (const answer of answers) expect(answer.status).toBeLessThan(300);
    }
    for (const answer of await Promise.all(stalled)) {
      expect([504, 503]).toContain(answer.status);
      expect(answer.body).toMatchObject({ outcome: 'not_processed', retryable: true });
    }
    await hasty.stop();
  });
});

describe('a burst', () => {
  it('of 1,000 callers at once, on a cold start, is served, and causes one token request', async () => {
    await sandbox.reset({ tokens: true });
    // The gateway, the platform and the callers share a processor here: only the gateway's own limits are tested.
    const patient = await startInProcess(sandbox, { UPSTREAM_DEADLINE_MS: '60000' });
    const answers = await Promise.all(Array.from({ length: 1_000 }, () => send(patient, read)));
    await patient.stop();
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([200]));
    expect(await sandbox.journal('token')).toHaveLength(1);
  });
});

describe('a caller that hangs up', () => {
  it('K22 on a read ends the call to the platform', async () => {
    const closed = Promise.withResolvers<void>();
    const arrived = Promise.withResolvers<void>();
    const platform = createServer((request) => {
      request.socket.once('close', () => closed.resolve());
      arrived.resolve();
    });
    platform.listen(0, '127.0.0.1');
    await once(platform, 'listening');
    const patient = await startInProcess(sandbox, {
      UPSTREAM_BASE_URL: `http://127.0.0.1:${(platform.address() as AddressInfo).port}`,
      UPSTREAM_DEADLINE_MS: '60000',
    });
    const caller = new AbortController();
    const call = fetch(patient.url + read.path, {
      headers: { 'x-api-key': patient.key },
      signal: caller.signal,
    });
    await arrived.promise;
    caller.abort();
    await expect(call).rejects.toThrow();
    await closed.promise;
    await patient.stop();
    platform.close();
  });

  it('K23 on a write does not end it: the platform carries it out', async () => {
    await sandbox.fault({ operation: write.upstream, phase: 'before', action: { delayMs: 1_000 } });
    const caller = new AbortController();
    const call = fetch(gateway.url + write.path, {
      method: write.method,
      headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
      body: JSON.stringify(write.body),
      signal: caller.signal,
    });
    while ((await sent(write)) === 0) await sleep(20);
    caller.abort();
    await expect(call).rejects.toThrow();
    const giveUp = performance.now() + 20_000;
    const line = `gateway_upstream_attempts_total{operation="${write.upstream}",outcome="success"}`;
    while ((await metric(line)) === 0 && performance.now() < giveUp) await sleep(50);
    expect(await metric(line)).toBe(1);
    expect((await sandbox.journal(write.upstream))[0]?.committed).toBe(true);
  });
});
