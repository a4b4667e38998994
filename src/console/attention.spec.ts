import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { JobStore } from '../jobs/store/job-store.ts';
import type { JobsService } from '../jobs/jobs.service.ts';
import { attentionFor, type ReplicaState, type StoredState } from './attention.ts';
import { RecentJobs } from './recent-jobs.ts';
import { runbook } from './runbook.ts';

const well: ReplicaState = {
  draining: false,
  overload: undefined,
  redis: { status: 'up', reason: undefined },
  orders: { stopped: 'none', reason: undefined, unreadable: 0 },
  tokenFailure: undefined,
  openCircuits: [],
  maintenance: undefined,
};
const no = { count: 0, oldestMs: 0 };
const noOrders: StoredState['orders'] = { inDoubt: no, accepted: no, placedTwice: 0 };
const nothing = { newGaps: 0, unknownCodes: 0, stuckJobs: 0, troubledWebhooks: 0 };
const of = (over: Partial<ReplicaState>) =>
  attentionFor({ ...well, ...over }, { orders: noOrders, ...nothing });
const inStores = (over: Partial<StoredState>) =>
  attentionFor(well, { orders: noOrders, ...nothing, ...over });
const orders = (over: Partial<StoredState['orders']>) => inStores({ orders: { ...noOrders, ...over } });

const down = (stopped: ReplicaState['orders']['stopped'], reason: string) => ({
  orders: { stopped, reason, unreadable: 0 },
});
const failing = (kind: 'rejected' | 'unavailable', reason: string) => ({
  tokenFailure: { principal: 'app:auth_order', kind, reason },
});

const cases: readonly [string, ReturnType<typeof of>, string, RegExp][] = [
  ['a store that is away', of(down('away', 'away')), 'OrderStoreAway', /^Orders are refused: away$/],
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
    of({ openCircuits: ['orders', 'members'] }),
    'CircuitOpen',
    /for orders, members: The circuit is open because calls failed/,
  ],
  [
    'orders in doubt',
    orders({ inDoubt: { count: 3, oldestMs: 7_500_000 } }),
    'OrdersInDoubt',
    /^3 orders .* 2 h ago/,
  ],
  [
    'orders accepted long ago',
    orders({ accepted: { count: 2, oldestMs: 90_000_000 } }),
    'OrdersAccepted',
    /^2 orders accepted and not seen since: .* 25 h ago/,
  ],
  ['an order placed twice', orders({ placedTwice: 1 }), 'OrderPlacedTwice', /^1 order placed more than once/],
  ['overload', of({ overload: 'event-loop' }), 'Overloaded', /event-loop/],
  [
    'the other Redis',
    of({ redis: { status: 'down', reason: 'NOAUTH Authentication required.' } }),
    'RedisAway',
    /NOAUTH Authentication required\. Reads go on/,
  ],
  ['an import that stands still', inStores({ stuckJobs: 1 }), 'ImportStuck', /^1 import without progress/],
  ['a receiver that is ill', inStores({ troubledWebhooks: 2 }), 'WebhookFailing', /^2 webhooks without/],
  ['unknown codes', inStores({ unknownCodes: 1 }), 'UnmappedCode', /^1 code of the platform .*: .*in doubt/],
  ['new gaps', inStores({ newGaps: 2 }), 'GapsAppeared', /^2 new gaps/],
];

const rules = readFileSync('deploy/prometheus/alerts.yml', 'utf8');
const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);

it.each(cases)('G12 %s needs attention, with its cause and its runbook', (_, found, alert, text) => {
  expect(found.map((each) => each.alert)).toEqual([alert]);
  expect(`${found[0]?.title}: ${found[0]?.detail}`).toMatch(text);
  expect(alerts).toContain(alert);
});

it('G12 the runbook has a section for every alert, where its link leads, with all words of its page and no markup of it', () => {
  const html = runbook()();
  const ids = [...html.matchAll(/<h2 id="(\w+)">/g)].map(([, id = '']) => id);
  expect(ids).toEqual(['dashboard', ...alerts.map((alert) => alert.toLowerCase())]);
  expect(html).toContain('<strong>Do:</strong> Look for the order in the platform&#39;s own list');
  expect(html).toContain('rate(gateway_requests_total{status=~&quot;5..&quot;}[5m])');
  const links = [...html.matchAll(/href="#(\w+)"/g)].map(([, id]) => id);
  expect(links).toContain('orderstoreunconfirmed');
  expect(links.filter((id) => !ids.includes(id ?? ''))).toEqual([]);
  expect(html.replaceAll(/<code>.*?<\/code>/g, '')).not.toMatch(/\*\*|`|\]\(|^- /m);
});

it('an import stands still from when on its alert fires, and none does while the store is away', async () => {
  const [, seconds] = /gateway_jobs_idle_seconds\) > (\d+)/.exec(rules) ?? [];
  const since = Date.now() - Number(seconds) * 1_000;
  const unfinished = [since - 5_000, since + 5_000].map((changedAt) => ({ changedAt }));
  const jobsIn = (list: () => Promise<object[]>) =>
    new RecentJobs({ unfinished: list } as unknown as JobStore, undefined as unknown as JobsService);
  expect(await jobsIn(() => Promise.resolve(unfinished)).unfinished()).toEqual({ total: 2, stuck: 1 });
  const away = jobsIn(() => Promise.reject(new Error('away')));
  expect(await away.unfinished()).toEqual({ total: 0, stuck: 0 });
});

it('a replica that stops says so, and no alert does', () => {
  expect(of({ draining: true })).toMatchObject([{ level: 'watch', title: 'This replica stops' }]);
});

it('nothing needs attention where all is well, also without a shared Redis', () => {
  expect(of({})).toEqual([]);
  expect(of({ redis: { status: 'off', reason: undefined } })).toEqual([]);
});

it('what callers notice comes first', () => {
  const found = of({ ...failing('unavailable', 'timeout'), redis: { status: 'down', reason: undefined } });
  expect(found.map(({ level }) => level)).toEqual(['act', 'watch']);
});
