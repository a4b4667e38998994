import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Metrics } from '../../observability/metrics.ts';
import type { Pass } from '../../kit/breaker/breaker.ts';
import type { Classified } from '../classify.ts';
import { type OperationGroup, OperationGroups } from './operation-groups.ts';
import type { GroupName } from '../../transport/upstream-pools.ts';
import { operationList, operations, type UpstreamOperation } from '../operations.ts';
import { connections } from '../../transport/upstream-pools.ts';
import { UpstreamFailure } from '../upstream-failure.ts';

let metrics: Metrics;
let groups: OperationGroups;
let group: OperationGroup;
const { listMembers, listAssetNums, batchOrder, addMembers } = operations;

beforeEach(() => {
  metrics = new Metrics();
  groups = new OperationGroups(metrics);
  group = groups.get(listMembers);
});

function refusalOf(enter: () => Pass): UpstreamFailure {
  try {
    enter();
  } catch (error) {
    if (error instanceof UpstreamFailure) return error;
    throw error;
  }
  throw new Error('was let in');
}

const attempts = (count: number, result: Classified) => {
  for (let each = 0; each < count; each++) group.leave(group.enter(listMembers), listMembers, result);
};

it('every operation is in the group of its module and effect, and orders are by themselves', () => {
  const groupOf = ({ name, module, effect }: UpstreamOperation): GroupName =>
    name === 'batchOrder' ? 'orders' : `${module}${effect === 'read' ? 'Reads' : 'Writes'}`;
  expect(operationList.map(({ name, group: own }) => [name, own])).toEqual(
    operationList.map((operation) => [operation.name, groupOf(operation)]),
  );
  expect(groups.get(batchOrder)).not.toBe(groups.get(operations.bindCustomer));
});

describe('what counts against upstream', () => {
  const cases: [string, Classified & { sent?: boolean }, 'open' | 'closed'][] = [
    ['no connection', { kind: 'unreachable', details: {} }, 'open'],
    ['a connection that takes too long', { kind: 'connect-timeout', details: {} }, 'open'],
    ['no response in time', { kind: 'timeout', details: {} }, 'open'],
    ['no connection in time', { kind: 'timeout', sent: false, details: {} }, 'closed'],
    ['a lost connection', { kind: 'lost', details: {} }, 'open'],
    ['HTTP 500', { kind: 'unavailable', details: { status: 500 } }, 'open'],
    ['HTTP 503', { kind: 'unavailable', details: { status: 503 } }, 'open'],
    ['code 500', { kind: 'refused', details: { status: 299, code: '500' } }, 'open'],
    ['code 80001', { kind: 'refused', details: { status: 299, code: '80001' } }, 'open'],
    ['HTTP 429', { kind: 'unavailable', details: { status: 429 } }, 'closed'],
    ['HTTP 401', { kind: 'unauthorized', details: { status: 401 } }, 'closed'],
    ['another code', { kind: 'refused', details: { status: 299, code: '13004' } }, 'closed'],
    ['nonsense', { kind: 'unreadable', details: { status: 200 } }, 'closed'],
    ['a departure from the interface', { kind: 'nonconforming', details: { status: 200 } }, 'closed'],
    ['a caller that hung up', { kind: 'abandoned', details: {} }, 'closed'],
    ['success', { kind: 'success', data: null }, 'closed'],
  ];

  it.each(cases)('20 times %s', (_, result, state) => {
    attempts(20, result);
    expect(group.state).toBe(state);
  });
});

describe('a group that is shut', () => {
  beforeEach(() => attempts(20, { kind: 'lost', details: {} }));

  it('refuses all of its operations as not sent, with the time to wait, and no other group', async () => {
    const failure = refusalOf(() => group.enter(listAssetNums));
    expect(failure).toMatchObject({ kind: 'circuit-open', sent: false, details: { retryAfter: 1 } });
    expect(() => groups.get(addMembers).enter(addMembers)).not.toThrow();
    const text = await metrics.registry.metrics();
    expect(text).toContain('gateway_upstream_breaker_state{group="memberReads"} 2');
    expect(text).toContain('gateway_upstream_breaker_state{group="memberWrites"} 0');
    expect(text).toContain('gateway_upstream_refused_total{group="memberReads",reason="breaker"} 1');
  });

  it('is all there is, or a part', () => {
    expect(groups.health).toBe('down');
    const writes = groups.get(addMembers);
    writes.leave(writes.enter(addMembers), addMembers, { kind: 'success', data: null });
    expect(groups.health).toBe('degraded');
  });
});

describe('G16 failures in a row, too few to open the circuit', () => {
  const timeout: Classified = { kind: 'timeout', details: {} };
  const lost: Classified = { kind: 'lost', details: {} };

  it('are told from the third on, with their number, and make the platform slow', async () => {
    attempts(2, timeout);
    expect([groups.failing, groups.health]).toEqual([[], 'up']);
    attempts(2, { kind: 'connect-timeout', details: {} });
    expect(groups.failing).toEqual([
      { group: 'memberReads', calls: 4, timeouts: 4, since: expect.any(Number), last: expect.any(Number) },
    ]);
    expect([groups.health, groups.open]).toEqual(['slow', []]);
    const text = await metrics.registry.metrics();
    expect(text).toContain('gateway_upstream_failures_in_a_row{group="memberReads"} 4');
    expect(text).toContain('gateway_upstream_failures_in_a_row{group="orders"} 0');
  });

  it('make it degraded where some failed in another way', () => {
    attempts(2, timeout);
    attempts(1, lost);
    expect(groups.failing).toMatchObject([{ calls: 3, timeouts: 2 }]);
    expect(groups.health).toBe('degraded');
  });

  it('end with a call that succeeds or is refused by the platform, and not with one that shows nothing', () => {
    attempts(3, timeout);
    attempts(1, { kind: 'abandoned', details: {} });
    expect(groups.health).toBe('slow');
    attempts(1, { kind: 'refused', details: { status: 299, code: '13004' } });
    expect([groups.failing, groups.health]).toEqual([[], 'up']);
  });

  it('are also those of callers who gave up after two seconds, which open no circuit', () => {
    const leave = (ms: number) =>
      group.leave(group.enter(listMembers), listMembers, { kind: 'abandoned', details: {} }, ms);
    for (let each = 0; each < 30; each++) leave(1_999);
    expect(groups.health).toBe('up');
    for (let each = 0; each < 30; each++) leave(2_000);
    expect(groups.failing).toMatchObject([{ calls: 30, timeouts: 30 }]);
    expect([groups.health, groups.open]).toEqual(['slow', []]);
  });

  it('are forgotten when nobody has called for an hour, and begin anew', () => {
    attempts(3, timeout);
    const later = Date.now() + 3_600_001;
    const clock = jest.spyOn(Date, 'now').mockReturnValue(later);
    try {
      expect(groups.health).toBe('up');
      attempts(3, timeout);
      expect(groups.failing).toMatchObject([{ calls: 3, since: later }]);
    } finally {
      clock.mockRestore();
    }
  });
});

describe('the gate of an operation', () => {
  it.each([429, 503])('closes on HTTP %s with a time, for that operation alone', async (status) => {
    attempts(1, { kind: 'unavailable', details: { status, retryAfter: 7 } });
    expect(refusalOf(() => group.enter(listMembers))).toMatchObject({
      kind: 'circuit-open',
      sent: false,
      details: { retryAfter: 7 },
    });
    expect(() => group.enter(listAssetNums)).not.toThrow();
    expect(await metrics.registry.metrics()).toContain(
      'gateway_upstream_refused_total{group="memberReads",reason="gate"} 1',
    );
  });

  it.each([
    ['no time', { status: 429 }],
    ['no time at all', { status: 429, retryAfter: 0 }],
    ['another status', { status: 500, retryAfter: 7 }],
  ])('stays open on %s', (_, details) => {
    attempts(1, { kind: 'unavailable', details });
    expect(() => group.enter(listMembers)).not.toThrow();
  });
});

describe('the queue of a group', () => {
  it('ends for one caller 3,000 calls behind the connections, and moves on when one leaves', async () => {
    const passes = Array.from({ length: connections.memberReads + 3_000 }, () => group.enter(listMembers));
    expect(refusalOf(() => group.enter(listMembers))).toMatchObject({ kind: 'circuit-open', sent: false });
    expect(() => group.enter(listMembers, 'another')).not.toThrow();
    expect(() => groups.get(addMembers).enter(addMembers)).not.toThrow();
    group.leave(passes[0] as Pass, listMembers, undefined);
    expect(() => group.enter(listMembers)).not.toThrow();
    expect(await metrics.registry.metrics()).toContain(
      'gateway_upstream_refused_total{group="memberReads",reason="bulkhead"} 1',
    );
  });

  it('ends for all callers together when two of them have filled it', () => {
    const most = connections.memberReads + 3_000;
    for (const caller of ['one', 'other'])
      for (let each = 0; each < most; each++) group.enter(listMembers, caller);
    expect(refusalOf(() => group.enter(listMembers, 'third'))).toMatchObject({ kind: 'circuit-open' });
    group.leave(0, listMembers, undefined, 0, 'one');
    expect(() => group.enter(listMembers, 'third')).not.toThrow();
  });
});
