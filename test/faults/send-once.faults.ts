import { afterAll, beforeAll, beforeEach, expect, it } from '@jest/globals';
import { UpstreamPools } from '../../src/transport/upstream-pools.ts';
import { newTrace } from '../../src/observability/tracing.ts';
import { type CallContext, Progress } from '../../src/request/call-context.ts';
import { UpstreamClient } from '../../src/upstream/upstream.client.ts';
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts';
import type { LateOutcome, SendOnce } from '../../src/upstream/upstream.exchange.ts';
import { order, read } from '../support/expected.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { send } from '../support/operations.ts';
import { useSandbox } from '../support/stack.ts';

/** A call that must not be sent twice, from the upstream client to the platform and back. */

const sandbox = useSandbox();
let gateway: GatewayInProcess;

beforeAll(async () => {
  gateway = await startInProcess(sandbox, { UPSTREAM_ORDER_DEADLINE_MS: '2500' });
  // The gateway has a token already, so that the deadline is that of the order alone.
  expect((await send(gateway, read)).status).toBe(200);
});
beforeEach(() => sandbox.reset());
afterAll(() => gateway.stop());

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

function place(sendOnce: SendOnce): Promise<unknown> {
  const context: CallContext = {
    requestId: 'req-once',
    caller: { name: 'tester', grants: { enterprises: everything, channels: everything, users: everything } },
    trace: newTrace(),
    progress: new Progress(),
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
    .call('batchOrder', context, { query: { appKey: 'k' }, body, sendOnce }, (data) => JSON.stringify(data));
}

const failureOf = (call: Promise<unknown>) =>
  call.then(
    () => Promise.reject(new Error('it succeeded')),
    (error: unknown) => error as UpstreamFailure,
  );

const orders = () => sandbox.journal(order.upstream);

it('fails with the refusal, and nothing is sent to the platform', async () => {
  const sendOnce = new Witness();
  const refusal = new Error('in doubt already');
  sendOnce.onConfirm = () => Promise.reject(refusal);
  expect(await failureOf(place(sendOnce))).toBe(refusal);
  expect(await orders()).toEqual([]);
});

it('is confirmed again for the further attempt after 60000, which has another token', async () => {
  await sandbox.fault({ operation: order.upstream, times: 1, action: { code: '60000' } });
  const sendOnce = new Witness();
  expect(await place(sendOnce)).toContain('licenseOrderId');
  expect(sendOnce.confirmed).toBe(2);
  const attempts = await orders();
  expect(new Set(attempts.map(({ headers }) => headers['authorization'])).size).toBe(2);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('may be refused for the further attempt', async () => {
  await sandbox.fault({ operation: order.upstream, action: { code: '60000' } });
  const sendOnce = new Witness();
  const refusal = new Error('lost the lease');
  sendOnce.onConfirm = () => (sendOnce.confirmed === 1 ? allowed() : Promise.reject(refusal));
  expect(await failureOf(place(sendOnce))).toBe(refusal);
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
  const sendOnce = new Witness();
  sendOnce.onConfirm = () => (sendOnce.confirmed === 1 ? paused() : allowed());
  expect(await place(sendOnce)).toContain('licenseOrderId');
  expect(sendOnce.confirmed).toBe(2);
  expect(await orders()).toHaveLength(1);
  expect(await sandbox.commits()).toHaveLength(1);
});

it('P8 is not sent when the process was paused after the further confirmation too: 503, and nothing happened', async () => {
  const sendOnce = new Witness();
  sendOnce.onConfirm = paused;
  expect(await failureOf(place(sendOnce))).toMatchObject({ kind: 'delayed', sent: false });
  expect(sendOnce.confirmed).toBe(2);
  expect(await orders()).toEqual([]);
});

it('U15 reports a response after the deadline once, which may be a refusal, and causes no further attempt', async () => {
  await sandbox.fault({ operation: order.upstream, action: { delayMs: 4_000, code: '60000' } });
  const sendOnce = new Witness();
  expect(await failureOf(place(sendOnce))).toMatchObject({ kind: 'timeout', sent: true });
  expect(sendOnce.outcomes).toEqual([]);
  const { failure } = (await sendOnce.told.promise) as { failure: UpstreamFailure };
  expect(failure).toBeInstanceOf(UpstreamFailure);
  expect(failure).toMatchObject({ kind: 'refused', details: { code: '60000' } });
  expect([sendOnce.confirmed, sendOnce.outcomes.length]).toEqual([1, 1]);
  expect(await orders()).toHaveLength(1);
});

it('does not delay the end of the process for a response after the deadline', async () => {
  await sandbox.fault({ operation: order.upstream, action: { hang: true } });
  const sendOnce = new Witness();
  await failureOf(place(sendOnce));
  gateway.app.get(UpstreamPools).endExchanges();
  expect(await sendOnce.told.promise).toMatchObject({ failure: { kind: 'timeout', sent: true } });
});
