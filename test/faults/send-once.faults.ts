import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { UpstreamPools } from '../../src/transport/upstream-pools.ts';
import { newTrace } from '../../src/observability/trace-context.ts';
import type { CallContext } from '../../src/upstream/call-context.ts';
import { UpstreamClient } from '../../src/upstream/upstream.client.ts';
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts';
import type { LateOutcome, SendOnce } from '../../src/upstream/upstream-path.ts';
import { order, read } from '../support/expected.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** A call that must not be sent twice, from the upstream client to the platform and back. */

let sandbox: TestSandbox;
const gateways: GatewayInProcess[] = [];

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset());
afterEach(async () => {
  for (const gateway of gateways.splice(0)) await gateway.stop();
});
afterAll(() => sandbox.close());

async function start(environment: Record<string, string> = {}): Promise<GatewayInProcess> {
  const gateway = await startInProcess(sandbox, environment);
  gateways.push(gateway);
  return gateway;
}

const HASTY = { UPSTREAM_ORDER_DEADLINE_MS: '3000' };
const everything = new Set(['*']);

const allowed = () => Promise.resolve(performance.now());

/** Allows the send, and records what the client reports. */
class Witness implements SendOnce {
  confirmed = 0;
  readonly outcomes: LateOutcome[] = [];
  readonly told = Promise.withResolvers<LateOutcome>();
  onConfirm: () => Promise<number> = allowed;

  confirm(): Promise<number> {
    this.confirmed++;
    return this.onConfirm();
  }

  late(outcome: LateOutcome): void {
    this.outcomes.push(outcome);
    this.told.resolve(outcome);
  }
}

function place(gateway: GatewayInProcess, once: SendOnce): Promise<unknown> {
  const context: CallContext = {
    requestId: 'req-once',
    caller: { name: 'tester', grants: { enterprises: everything, channels: everything, users: everything } },
    trace: newTrace(),
    upstreamMs: 0,
  };
  const assets = [{ products: [{ productUri: 'draft.pro' }] }];
  const item = { orderType: 'new_buy', licenseType: 'softkey', customerId: 'cus-harbour-default', assets };
  const body = {
    channelCode: 'crm',
    channelOrderId: 'SO-once',
    syncMode: 'sync',
    orderList: [{ sequence: 1, ...item }],
  };
  return gateway.app
    .get(UpstreamClient)
    .call('batchOrder', context, { query: { appKey: 'k' }, body, once }, (data) => JSON.stringify(data));
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as UpstreamFailure,
  );

const orders = () => sandbox.journal(order.upstream);

it('is confirmed once, and gets its response, without faults', async () => {
  const once = new Witness();
  expect(await place(await start(), once)).toContain('licenseOrderId');
  expect([once.confirmed, once.outcomes]).toEqual([1, []]);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('fails with the refusal, and nothing is sent to the platform', async () => {
  const gateway = await start();
  const once = new Witness();
  const refusal = new Error('in doubt already');
  once.onConfirm = () => Promise.reject(refusal);
  expect(await failureOf(place(gateway, once))).toBe(refusal);
  expect(await orders()).toEqual([]);
});

it('is confirmed again for the further attempt after 60000, which has another token', async () => {
  const gateway = await start();
  await sandbox.fault({ operation: order.upstream, times: 1, action: { code: '60000' } });
  const once = new Witness();
  expect(await place(gateway, once)).toContain('licenseOrderId');
  expect(once.confirmed).toBe(2);
  const attempts = await orders();
  expect(new Set(attempts.map(({ headers }) => headers['authorization'])).size).toBe(2);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('may be refused for the further attempt', async () => {
  const gateway = await start();
  await sandbox.fault({ operation: order.upstream, action: { code: '60000' } });
  const once = new Witness();
  const refusal = new Error('lost the lease');
  once.onConfirm = () => (once.confirmed === 1 ? allowed() : Promise.reject(refusal));
  expect(await failureOf(place(gateway, once))).toBe(refusal);
  expect(await orders()).toHaveLength(1);
});

/** A confirmation after which the process is paused, before it can send. */
function paused(): Promise<number> {
  const given = allowed();
  void given
    .then(() => undefined)
    .then(() => {
      const end = performance.now() + 200;
      while (performance.now() < end);
    });
  return given;
}

it('P8 is confirmed again when the process was paused after the confirmation, and sent once', async () => {
  const gateway = await start();
  const once = new Witness();
  once.onConfirm = () => (once.confirmed === 1 ? paused() : allowed());
  expect(await place(gateway, once)).toContain('licenseOrderId');
  expect(once.confirmed).toBe(2);
  expect(await orders()).toHaveLength(1);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('P8 is not sent when the process was paused after the further confirmation too: 503, and nothing happened', async () => {
  const gateway = await start();
  await place(gateway, new Witness());
  const once = new Witness();
  once.onConfirm = paused;
  expect(await failureOf(place(gateway, once))).toMatchObject({ kind: 'delayed', sent: false });
  expect(once.confirmed).toBe(2);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('P8 may be refused when it is confirmed again', async () => {
  const gateway = await start();
  const once = new Witness();
  const refusal = new Error('lost the lease');
  once.onConfirm = () => (once.confirmed === 1 ? paused() : Promise.reject(refusal));
  expect(await failureOf(place(gateway, once))).toBe(refusal);
  expect(await orders()).toEqual([]);
});

describe('a response after the deadline', () => {
  /** With a token already, so that the deadline is that of the order alone. */
  async function startHasty(): Promise<GatewayInProcess> {
    const gateway = await start(HASTY);
    expect((await send(gateway, read)).status).toBe(200);
    return gateway;
  }

  it('U15 is reported decoded, once, after the call has failed', async () => {
    const gateway = await startHasty();
    await sandbox.fault({ operation: order.upstream, action: { delayMs: 5_500 } });
    const once = new Witness();
    expect(await failureOf(place(gateway, once))).toMatchObject({ kind: 'timeout', sent: true });
    expect(once.outcomes).toEqual([]);
    expect(await once.told.promise).toEqual({ data: expect.stringContaining('licenseOrderId') });
    expect(once.outcomes).toHaveLength(1);
    expect(await sandbox.commits()).toHaveLength(1);
    expect(await orders()).toHaveLength(1);
  });

  it('U15 may be a refusal, which causes no further attempt', async () => {
    const gateway = await startHasty();
    await sandbox.fault({ operation: order.upstream, action: { delayMs: 5_500, code: '60000' } });
    const once = new Witness();
    await failureOf(place(gateway, once));
    const { failure } = (await once.told.promise) as { failure: UpstreamFailure };
    expect(failure).toBeInstanceOf(UpstreamFailure);
    expect(failure).toMatchObject({ kind: 'refused', details: { code: '60000' } });
    expect(once.confirmed).toBe(1);
    expect(await orders()).toHaveLength(1);
  });

  it('does not delay the end of the process', async () => {
    const gateway = await startHasty();
    await sandbox.fault({ operation: order.upstream, action: { hang: true } });
    const once = new Witness();
    await failureOf(place(gateway, once));
    gateway.app.get(UpstreamPools).endExchanges();
    expect(await once.told.promise).toMatchObject({ failure: { kind: 'timeout', sent: true } });
  });
});

it('K23 fifty callers that hang up on their orders: each is placed exactly once', async () => {
  const gateway = await start();
  await sandbox.fault({ operation: order.upstream, action: { delayMs: 3_000 } });
  const callers = new AbortController();
  const ids = Array.from({ length: 50 }, (_, index) => `SO-gone-${index}`);
  const calls = ids.map(async (channelOrderId) => {
    for (;;) {
      const { status } = await fetch(gateway.url + order.path, {
        method: 'POST',
        headers: { 'x-api-key': gateway.key, 'content-type': 'application/json' },
        body: JSON.stringify({ ...order.body, channelOrderId }),
        signal: callers.signal,
      });
      // A busy gateway sends no order whose confirmation is old.
      if (status !== 503) return;
      await sleep(100);
    }
  });
  const settled = Promise.allSettled(calls);
  while ((await orders()).length < ids.length) await sleep(20);
  callers.abort();
  expect((await settled).some(({ status }) => status === 'rejected')).toBe(true);
  while ((await sandbox.commits()).length < ids.length) await sleep(20);
  // Later effects would be visible by then: no call is under way.
  while (gateway.app.get(UpstreamPools).exchanges.size > 0) await sleep(20);
  const placed = (await sandbox.commits()).map(({ channelOrderId }) => channelOrderId);
  expect(placed.sort()).toEqual(ids.sort());
  expect(await orders()).toHaveLength(ids.length);
});
