import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { attentionFor } from './attention.ts';
import type { ReplicaState } from './replica-state.ts';

const NOW = 1_700_000_000_000;
const well: ReplicaState = {
  id: 'one',
  version: '1.0.0',
  startedAt: NOW - 60_000,
  at: NOW,
  draining: false,
  overload: null,
  inFlight: 0,
  memoryBytes: 0,
  redis: { status: 'up', reason: null },
  orders: { status: 'up', reason: null, stopped: 'none', unreadable: 0 },
  tokens: { held: [], failure: null },
  circuits: [['orders', 'closed']],
  seconds: 60,
  beats: [],
  requests: [['listAssets 200', 100]],
  latency: [],
  attempts: [['listAssets success', 100]],
  attemptLatency: [],
  cache: [],
  refused: [],
  tokenEvents: [],
  callers: [],
  events: [],
};
const no = { count: 0, oldestMs: 0 };
const none = { inDoubt: no, accepted: no };
const of = (over: Partial<ReplicaState>, doubts: Parameters<typeof attentionFor>[1] = none) =>
  attentionFor(
    {
      states: [
        { ...well, id: 'two' },
        { ...well, ...over },
      ],
      others: 'seen',
    },
    doubts,
    NOW,
  );

const down = (stopped: 'away' | 'epoch' | 'count' | 'settings', reason: string) => ({
  orders: { status: 'down', stopped, reason, unreadable: 0 } as const,
});
const failing = (kind: string, reason: string) => ({
  tokens: { held: [], failure: { principal: 'app:auth_order', kind, reason } },
});

const cases: readonly [string, ReturnType<typeof of>, string, RegExp][] = [
  ['a store that is away', of(down('away', 'away')), 'OrderStoreAway', /refused by 1 of 2 replicas: away$/],
  ['an emptied store', of(down('epoch', 'emptied')), 'OrderStoreUnconfirmed', /emptied/],
  ['a store that has gone back', of(down('count', 'gone back')), 'OrderStoreUnconfirmed', /gone back/],
  ['a store with wrong settings', of(down('settings', 'evicts')), 'OrderStoreRefuses', /evicts/],
  [
    'records under a lost key',
    of({ orders: { ...well.orders, unreadable: 2 } }),
    'OrderRecordsUnreadable',
    /^2 records of writes cannot be read: .*ENCRYPTION_KEYS/,
  ],
  [
    'refused credentials',
    of(failing('rejected', 'invalid_client')),
    'CredentialsRefused',
    /invalid_client to app:auth_order: check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET/,
  ],
  ['a silent token endpoint', of(failing('unavailable', 'timeout')), 'TokenEndpointFailing', /timeout/],
  [
    'an open circuit',
    of({ circuits: [['orders', 'open']], attempts: [['batchOrder timeout', 7]] }),
    'CircuitOpen',
    /for orders: .* batchOrder timeout \(7\)/,
  ],
  [
    'orders in doubt',
    of({}, { ...none, inDoubt: { count: 3, oldestMs: 7_500_000 } }),
    'OrdersInDoubt',
    /^3 orders .* 2 h ago/,
  ],
  [
    'orders accepted long ago',
    of({}, { ...none, accepted: { count: 2, oldestMs: 90_000_000 } }),
    'OrdersAccepted',
    /^2 orders accepted and not seen since: .* 25 h ago/,
  ],
  [
    'an order placed twice',
    of({ events: [{ line: { event: 'order-placed-twice' }, count: 1 }] }),
    'OrderPlacedTwice',
    /more than once/,
  ],
  [
    'many failures',
    of({ requests: [['getAsset 504', 30]], attempts: [['listAssets timeout', 30]] }),
    'ServerErrors',
    /^23 % .* getAsset 504 \(30\); failed attempts at the platform: listAssets timeout \(30\)$/,
  ],
  ['overload', of({ overload: 'event-loop' }), 'Overloaded', /event-loop/],
  [
    'the other Redis',
    of({ redis: { status: 'down', reason: 'NOAUTH Authentication required.' } }),
    'RedisAway',
    /NOAUTH Authentication required\. Reads go on/,
  ],
  ['a silent replica', of({ at: NOW - 40_000 }), 'GatewayDown', /one is silent: It reported 40 s ago/],
];

const alerts = [...readFileSync('deploy/prometheus/alerts.yml', 'utf8').matchAll(/alert: (\w+)/g)].map(
  ([, name]) => name,
);

it.each(cases)('G12 %s needs attention, with its cause and its runbook', (_, found, alert, text) => {
  expect(found.map((each) => each.alert)).toEqual([alert]);
  expect(`${found[0]?.title}: ${found[0]?.detail}`).toMatch(text);
  expect(alerts).toContain(alert);
});

it('G12 no replica is called silent while Redis takes no reports', () => {
  const full: ReplicaState = { ...well, redis: { status: 'down', reason: 'OOM' } };
  const silent = { ...well, id: 'two', at: NOW - 60_000 };
  const found = attentionFor({ states: [full, silent], others: 'seen' }, none, NOW);
  expect(found.map(({ title }) => title)).toEqual([
    'The shared Redis cannot be used by 1 of 2 replicas',
    'The other replicas cannot be seen',
  ]);
});

it('nothing needs attention where all is well', () => {
  expect(of({})).toEqual([]);
});

it('what callers notice comes first', () => {
  const found = of({ ...failing('unavailable', 'timeout'), redis: { status: 'down', reason: null } });
  expect(found.map(({ level }) => level)).toEqual(['act', 'watch']);
});
