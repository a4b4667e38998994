import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { connections } from '../../src/transport/upstream-pools.ts';
import { caseOf, metric } from '../support/expected.ts';
import { FaultProxy } from '../support/fault-proxy.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { type OperationCase, send } from '../support/operations.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/**
 * How the gateway protects its callers and the platform while the platform fails, stalls or asks for a pause. A pause is for one operation
 * and may last a minute, so each test of pauses has an operation of its own; the others end with closed circuits.
 */

const sandbox = new TestSandbox();
const all = ['*'];
const gateway = new TestGateway([
  { name: 'neighbour', scopes: ['orders:read'], enterprises: all, channels: all, users: all },
]);
let proxy: FaultProxy;

const read = caseOf('listAssets');
const otherRead = caseOf('findCustomers');
const write = caseOf('disableLocks');

beforeAll(async () => {
  await sandbox.open();
  proxy = await FaultProxy.start(Number(new URL(sandbox.url).port));
  // The gateway, the platform and the callers share a processor here: only the gateway's own limits are tested.
  const patient = { UPSTREAM_DEADLINE_MS: '60000', UPSTREAM_ORDER_DEADLINE_MS: '60000' };
  await gateway.open(sandbox, { ...patient, UPSTREAM_BASE_URL: proxy.url });
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await gateway.stop();
  await Promise.all([proxy.close(), sandbox.close()]);
});

const sent = async ({ upstream }: OperationCase) => (await sandbox.journal(upstream)).length;
const retryAfter = ({ headers }: TestAnswer) => Number(headers.get('retry-after') ?? NaN);
const breaker = (group: string) => metric(gateway, `gateway_upstream_breaker_state{group="${group}"}`);
const unavailable = { code: 'upstream-unavailable', outcome: 'not_processed', retryable: true };
const unknown = { code: 'outcome-unknown', outcome: 'unknown', retryable: false };

/** Calls until the response is a success: a circuit closes with a probe. */
async function served(...operations: readonly OperationCase[]): Promise<void> {
  for (const operation of operations) {
    const isServed = async () => (await send(gateway, operation)).status < 300;
    await until(`${operation.id} is served again`, isServed);
  }
}

/** A call that was no probe, and its token requests: on a slow machine the breaker may allow a probe. */
async function refusal(operation: OperationCase): Promise<{ answer: TestAnswer; tokens: number }> {
  for (let each = 0; each < 20; each++) {
    const [calls, tokens] = [await sent(operation), await sandbox.journal('token')];
    const answer = await send(gateway, operation);
    if ((await sent(operation)) === calls)
      return { answer, tokens: (await sandbox.journal('token')).length - tokens.length };
  }
  throw new Error(`${operation.id} was never refused`);
}

describe('a platform that asks for a pause', () => {
  const pause = (operation: OperationCase, httpStatus: number, headers: object, times?: number) =>
    sandbox.fault({ operation: operation.upstream, times, action: { httpStatus, headers } });

  it('U19 503 with Retry-After, for a read: not tried again, and not called until then', async () => {
    const retries = 'gateway_upstream_retries_total{group="orderReads"}';
    const before = await metric(gateway, retries);
    await pause(read, 503, { 'Retry-After': '3' }, 1);
    const first = await send(gateway, read);
    expect([first.status, retryAfter(first)]).toEqual([503, 3]);
    expect(first.body).toMatchObject(unavailable);
    const second = await send(gateway, read);
    expect(second.body).toMatchObject({ ...unavailable, status: 503 });
    expect(second.body['upstream']).toBeUndefined();
    expect([1, 2, 3]).toContain(retryAfter(second));
    expect(await sent(read)).toBe(1);
    expect((await send(gateway, otherRead)).status).toBe(200);
    await served(read);
    expect(await sent(read)).toBe(2);
    const refused = 'gateway_upstream_refused_total{group="orderReads",reason="gate"}';
    expect(await metric(gateway, refused)).toBeGreaterThan(0);
    expect(await metric(gateway, retries)).toBe(before);
  });

  it('U20 429 with Retry-After far ahead is 503 with a bounded time, and a pause until then', async () => {
    const other = caseOf('listAssetNums');
    await pause(other, 429, { 'Retry-After': new Date(Date.now() + 3600_000).toUTCString() });
    for (let each = 0; each < 3; each++) {
      const answer = await send(gateway, other);
      expect(answer.body).toMatchObject({ ...unavailable, status: 503 });
      expect(retryAfter(answer)).toBeGreaterThan(1);
      expect(retryAfter(answer)).toBeLessThanOrEqual(60);
    }
    expect(await sent(other)).toBe(1);
  });

  it.each<[string, object]>([
    ['no Retry-After', {}],
    ['one that says nothing', { 'Retry-After': 'soon' }],
    ['a date that is over', { 'Retry-After': 'Thu, 01 Jan 1970 00:00:00 GMT' }],
  ])('U20 429 with %s is 503 without a pause', async (_, headers) => {
    await pause(read, 429, headers, 1);
    const answer = await send(gateway, read);
    expect(answer.body).toMatchObject({ ...unavailable, status: 503 });
    expect(answer.headers.get('retry-after')).toBe('1');
    expect((await send(gateway, read)).status).toBe(200);
  });

  it.each([
    ['U19 503', 503, 'enableLocks'],
    ['U20 429', 429, 'reserveAssetNums'],
  ])(
    '%s for a write: its outcome is unknown, and the next is refused before it is sent',
    async (_, status, id) => {
      const other = caseOf(id);
      await pause(other, status, { 'Retry-After': '30' });
      expect((await send(gateway, other)).body).toMatchObject({ ...unknown, status: 502 });
      const second = await send(gateway, other);
      expect(second.body).toMatchObject({ ...unavailable, status: 503 });
      expect(retryAfter(second)).toBeGreaterThan(1);
      expect(retryAfter(second)).toBeLessThanOrEqual(30);
      expect(await sent(other)).toBe(1);
    },
  );
});

describe('a platform that is down', () => {
  it('U29 gets few calls under load; responses come at once, and the gateway serves again when it is up', async () => {
    await sandbox.fault({ operation: '*', action: { delayMs: 300, reset: 'before-headers' } });
    const statuses: number[] = [];
    for (let round = 0; round < 10; round++) {
      const herd = Array.from({ length: 20 }, (_, each) => send(gateway, each % 4 ? read : write));
      statuses.push(...(await Promise.all(herd)).map(({ status }) => status));
    }
    // Writes under way at the failure may have been carried out.
    expect(statuses.filter((status) => status !== 503 && status !== 502)).toEqual([]);
    expect((await sandbox.calls()).length).toBeLessThan(statuses.length);

    const asked = (await sandbox.calls()).length;
    for (let each = 0; each < 10; each++) {
      for (const operation of [read, write]) {
        const { answer } = await refusal(operation);
        expect(answer.body).toMatchObject({ ...unavailable, status: 503 });
        expect([1, 2]).toContain(retryAfter(answer));
      }
    }
    // Each second a circuit lets one call through, to see whether the platform answers again: a slow machine sends many of the 20.
    expect((await sandbox.calls()).length - asked).toBeLessThan(20);

    await sandbox.reset();
    await served(read, write);
    expect([await breaker('orderReads'), await breaker('orderWrites')]).toEqual([0, 0]);
  });

  it('U29 readiness and metrics show an open circuit, and no token is requested for a call that will not be made', async () => {
    const members = caseOf('listMembers');
    await served(members, read);
    const ready = async () => {
      const { status, body } = await gateway.get('/health/ready');
      return { httpStatus: status, ...body };
    };
    expect(await ready()).toMatchObject({ status: 'ok', upstream: 'up', load: 'ok' });
    // A token is good for one call from now on.
    await sandbox.reset({ tokens: true });
    await sandbox.fault({ operation: 'token', action: { patch: { expires_in: 0 } } });
    await sandbox.fault({ operation: members.upstream, action: { httpStatus: 500 } });
    await until('the circuit opens', async () => {
      await send(gateway, members);
      return (await breaker('memberReads')) === 2;
    });
    const { answer, tokens } = await refusal(members);
    expect(answer.body).toMatchObject(unavailable);
    expect(tokens).toBe(0);
    expect(await breaker('orderReads')).toBe(0);
    expect(await ready()).toMatchObject({ httpStatus: 200, status: 'degraded', upstream: 'degraded' });
    expect((await gateway.get('/health/live')).body).toEqual({ status: 'ok' });
    const series = 'gateway_upstream_refused_total{group="memberReads",reason="breaker"}';
    expect(await metric(gateway, series)).toBeGreaterThan(0);
    await sandbox.reset();
    await served(members);
    expect(await ready()).toMatchObject({ status: 'ok', upstream: 'up' });
  });

  it('a brief failure of a read is retried and counted, within the budget of its group', async () => {
    const series = 'gateway_upstream_retries_total{group="orderReads"}';
    const before = await metric(gateway, series);
    await sandbox.fault({ operation: read.upstream, times: 1, action: { httpStatus: 502 } });
    expect((await send(gateway, read)).status).toBe(200);
    expect(await metric(gateway, series)).toBe(before + 1);
  });
});

describe('a caller that hangs up', () => {
  function hungUp(
    { method, path, body }: OperationCase,
    more: Record<string, string> = {},
  ): { call: Promise<unknown>; hangUp: () => void } {
    const caller = new AbortController();
    const type = body && { 'content-type': 'application/json' };
    const headers = { 'x-api-key': gateway.key, ...type, ...more };
    const { signal } = caller;
    const call = fetch(gateway.url + path, { method, headers, signal, body: body && JSON.stringify(body) });
    return { call, hangUp: () => caller.abort() };
  }

  it('K22 on a read ends the call to the platform', async () => {
    await proxy.drop();
    await sandbox.fault({ operation: read.upstream, action: { hang: true } });
    const { call, hangUp } = hungUp(read);
    await until('the call is at the platform', async () => (await sent(read)) === 1);
    expect(proxy.open).toBe(1);
    hangUp();
    await expect(call).rejects.toThrow();
    await until('its connection is closed', () => proxy.open === 0);
  });

  it('K22 on a read that waits for a token causes no call to the platform', async () => {
    await served(read, otherRead);
    await sandbox.revokeTokens();
    await sandbox.fault({ operation: 'token', times: 1, action: { delayMs: 3_000 } });
    const { call, hangUp } = hungUp(read);
    await sandbox.untilSpoiled(1, call);
    const before = await sent(read);
    hangUp();
    await expect(call).rejects.toThrow();
    // This read waits for the same token.
    await served(otherRead);
    expect(await sent(read)).toBe(before);
  });

  const linesOf = (requestId: string) =>
    gateway.logLines
      .filter((line) => line.includes(`"requestId":"${requestId}"`) && line.includes('"event":"request"'))
      .map((line) => JSON.parse(line) as Record<string, unknown>);

  it('K22 before its response has one line in the log, and counts once, with 499', async () => {
    const count = `gateway_requests_total{operation="${read.id}",status="499"}`;
    const durations = `gateway_request_duration_seconds_count{operation="${read.id}"}`;
    const [before, observed] = [await metric(gateway, count), await metric(gateway, durations)];
    await sandbox.fault({ operation: read.upstream, action: { hang: true } });
    const { call, hangUp } = hungUp(read, { 'x-request-id': 'hung-up' });
    await until('the call is at the platform', async () => (await sent(read)) === 1);
    hangUp();
    await expect(call).rejects.toThrow();
    await until('it has its line', () => linesOf('hung-up').length > 0);
    expect(linesOf('hung-up')).toMatchObject([
      {
        ...{ event: 'request', operation: read.id, status: 499, caller: 'tester' },
        durationMs: expect.any(Number),
      },
    ]);
    expect([await metric(gateway, count), await metric(gateway, durations)]).toEqual([
      before + 1,
      observed + 1,
    ]);
    await sandbox.reset();
    await served(read);
    await gateway.log();
    expect(linesOf('hung-up')).toHaveLength(1);
  });

  it('K22 during a stream has its line in the log with the status that was sent', async () => {
    const headers = { 'x-api-key': gateway.key, 'x-request-id': 'hung-up-later' };
    const caller = new AbortController();
    const stream = await fetch(`${gateway.url}/v1/events/stream`, { headers, signal: caller.signal });
    expect(stream.status).toBe(200);
    caller.abort();
    await until('it has its line', () => linesOf('hung-up-later').length > 0);
    expect(linesOf('hung-up-later')).toMatchObject([{ operation: 'watchEvents', status: 200 }]);
  });

  it('G16 after two seconds tells as much of a platform that hangs as a timeout of the gateway', async () => {
    const upstream = async () => (await gateway.get('/health/ready')).body['upstream'];
    const inARow = () => metric(gateway, 'gateway_upstream_failures_in_a_row{group="orderReads"}');
    await served(read);
    expect([await upstream(), await inARow()]).toEqual(['up', 0]);
    await sandbox.fault({ operation: read.upstream, action: { hang: true } });
    const before = await sent(read);
    const calls = Array.from({ length: 3 }, () => hungUp(read));
    await until('the calls are at the platform', async () => (await sent(read)) === before + 3);
    await sleep(2_000);
    for (const { hangUp } of calls) hangUp();
    await Promise.allSettled(calls.map(({ call }) => call));
    await until('readiness says slow', async () => (await upstream()) === 'slow');
    expect([await inARow(), await breaker('orderReads')]).toEqual([3, 0]);
    await sandbox.reset();
    await served(read);
    expect([await upstream(), await inARow()]).toEqual(['up', 0]);
  });

  it('K23 on a write does not end it: the platform carries it out', async () => {
    const series = `gateway_upstream_attempts_total{operation="${write.upstream}",outcome="success"}`;
    const before = await metric(gateway, series);
    await sandbox.fault({ operation: write.upstream, phase: 'before', action: { delayMs: 1_000 } });
    const { call, hangUp } = hungUp(write);
    await until('the call is at the platform', async () => (await sent(write)) === 1);
    hangUp();
    await expect(call).rejects.toThrow();
    await until('the gateway has the response', async () => (await metric(gateway, series)) > before);
    expect((await sandbox.journal(write.upstream))[0]?.committed).toBe(true);
  });
});

describe('a group of operations that stalls', () => {
  it('makes an order with deletions wait for ten seconds, however many enterprises it names', async () => {
    await sandbox.fault({ operation: 'listAssets', action: { hang: true } });
    const items = ['harbour', 'meridian'].map((name) => ({
      ...{ orderType: 'delete_asset', licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1009' },
      customer: { customerId: `cus-${name}-default`, enterpriseGlobalId: `ent-${name}` },
      assets: [{ assetNums: ['8000001009'] }],
    }));
    const started = performance.now();
    await gateway.post('/v1/license-orders', orderOf('SO-STALLED', { syncMode: 'async', items }));
    // The deadline of a read is a minute here.
    expect(performance.now() - started).toBeLessThan(50_000);
    expect(await sandbox.journal('listAssets')).toHaveLength(1);
    expect(await sandbox.journal('batchOrder')).toHaveLength(1);
  });

  it('S11 serves a caller in its turn while another has far more calls than the group has connections', async () => {
    const requestId = randomUUID();
    await sandbox.fault({
      ...{ operation: read.upstream, times: connections.orderReads },
      ...{ phase: 'before', action: { delayMs: 3_000 } },
    });
    const flood = Array.from({ length: 640 }, () => send(gateway, read));
    const inFlight = () => metric(gateway, 'gateway_requests_in_flight');
    await until('all requests have arrived', async () => (await inFlight()) === flood.length);
    const key = gateway.keys['neighbour'] as string;
    const { status } = await gateway.get(read.path, { key, headers: { 'x-request-id': requestId } });
    expect(status).toBe(200);
    await Promise.all(flood);
    const calls = await sandbox.journal(read.upstream);
    const place = calls.findIndex(({ headers }) => headers['x-request-id'] === requestId);
    expect(place).toBeLessThan(2 * connections.orderReads);
  });

  it('U30 does not affect the others, also with more calls than it has connections', async () => {
    await sandbox.fault({ operation: read.upstream, action: { hang: true } });
    const stalled = Array.from({ length: 300 }, () => send(gateway, read));
    const others = ['listMembers', 'getAssetProducts', 'disableLocks', 'updateMember', 'placeOrder'];
    for (let round = 0; round < 3; round++) {
      const answers = await Promise.all(others.map((id) => send(gateway, caseOf(id))));
      expect(answers.map(({ status }) => status)).toEqual([200, 200, 200, 204, 201]);
    }
    // Ends what hangs: the stalled calls fail, or succeed at a further attempt.
    await sandbox.reset();
    const statuses = (await Promise.all(stalled)).map(({ status }) => status);
    expect(statuses.filter((status) => status !== 503 && status !== 200)).toEqual([]);
    await served(read);
  });
});
