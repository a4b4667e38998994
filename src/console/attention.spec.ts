import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import type { TokenTrouble } from '../token/token-troubles.ts';
import { IdleJobs } from '../jobs/idle-jobs.ts';
import type { JobDispatcher } from '../jobs/job-dispatcher.ts';
import type { JobStore } from '../jobs/store/job-store.ts';
import type { UnfinishedJob } from '../jobs/store/stored-job.ts';
import type { JobsService } from '../jobs/jobs.service.ts';
import { attentionFor, type StoredState } from './attention.ts';
import type { PlatformState } from './platform-attention.ts';
import { RecentJobs } from './recent-jobs.ts';
import type { ReplicaState } from './replica-attention.ts';
import { runbook } from './runbook.ts';

/** The 27th of November at noon. */
const NOW = Date.UTC(2026, 10, 27, 12);
const DAY = 86_400_000;

const well: ReplicaState = {
  draining: false,
  overload: undefined,
  redis: { status: 'up', reason: undefined },
  database: { stopped: 'none', reason: undefined },
  databaseIsWeak: false,
  unreadable: 0,
  refusedFiles: [],
  certificates: [],
  tlsRefused: [],
  issuerKeys: [],
  notRecorded: [],
};
const serving: PlatformState = {
  ...{ tokens: [], isEndpointFailing: false },
  ...{ heldOff: [], openCircuits: [], failing: [] },
};
const no = { count: 0, oldestMs: 0 };
const stored: StoredState = {
  orders: { inDoubt: no, accepted: no, scheduled: { count: 0, overdueMs: 0 } },
  ...{ placedTwice: 0, unknown: [] },
  ...{ newGaps: 0, unknownCodes: 0, stuckJobs: 0, troubledWebhooks: 0 },
  unreadEnterprises: 0,
  budgets: [],
  maintenance: undefined,
};
const of = (over: Partial<ReplicaState>) => attentionFor({ ...well, ...over }, serving, stored, NOW);
const platform = (over: Partial<PlatformState>) => attentionFor(well, { ...serving, ...over }, stored, NOW);
const inStores = (over: Partial<StoredState>) => attentionFor(well, serving, { ...stored, ...over }, NOW);
const orders = (over: Partial<StoredState['orders']>) => inStores({ orders: { ...stored.orders, ...over } });

const down = (stopped: ReplicaState['database']['stopped'], reason: string) => ({
  database: { stopped, reason },
});
const trouble = (
  kind: TokenTrouble['kind'],
  reason: string,
  over: Partial<TokenTrouble> = {},
): PlatformState['tokens'] => [
  { principal: 'app:auth_order', of: 'application', kind, reason, retryAt: NOW + 66_000, ...over },
];
const user = { principal: 'user:anna', of: 'user' } as const;
const failing = (calls: number, timeouts: number, group: 'orderReads' | 'orders' = 'orderReads') => ({
  failing: [{ group, calls, timeouts, since: NOW - 900_000, last: NOW - 60_000 }],
});

const cases: readonly [string, ReturnType<typeof of>, string, RegExp][] = [
  ['a database that is away', of(down('away', 'away')), 'DatabaseAway', /^Orders are refused: away$/],
  [
    'what the database does not answer',
    inStores({ unknown: ['imports', 'webhooks'] }),
    'DatabaseAway',
    /^Not known: imports, webhooks: The database did not answer/,
  ],
  ['an emptied database', of(down('unready', 'emptied')), 'DatabaseLost', /emptied/],
  ['another database', of(down('identity', 'not the one')), 'DatabaseLost', /not the one/],
  ['a database that has gone back', of(down('numbers', 'gone back')), 'DatabaseLost', /gone back/],
  ['a database with wrong settings', of(down('settings', 'fsync')), 'DatabaseUnfit', /fsync/],
  ['a full database', of(down('writes', 'full')), 'DatabaseUnfit', /full/],
  ['a weak database', of({ databaseIsWeak: true }), 'DatabaseWeak', /failover/],
  [
    'records under a lost key',
    of({ unreadable: 2 }),
    'OrderRecordsUnreadable',
    /^2 records of writes cannot be read: .*ENCRYPTION_KEYS/,
  ],
  [
    'refused credentials',
    platform({ tokens: trouble('rejected', 'invalid_client') }),
    'CredentialsRefused',
    /invalid_client to app:auth_order: check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET\. The first call after 12:01:06 UTC tries again$/,
  ],
  [
    'refused credentials whose pause is over',
    platform({ tokens: trouble('rejected', 'invalid_client', { retryAt: NOW - 1 }) }),
    'CredentialsRefused',
    /UPSTREAM_APP_SECRET\. The next call tries again, and ends this message where it gets a token$/,
  ],
  [
    'refused credentials that were replaced',
    platform({ tokens: trouble('rejected', 'invalid_client', { retryAt: undefined }) }),
    'CredentialsRefused',
    /The credentials have changed since then: the next call tries them$/,
  ],
  [
    'a refused password of a user',
    platform({ tokens: trouble('rejected', 'invalid_grant', user) }),
    'CredentialsRefused',
    /^The platform refuses the password of user:anna: .*invalid_grant to user:anna: check UPSTREAM_USERS_FILE\. /,
  ],
  [
    'refused new tokens',
    platform({ heldOff: ['user'] }),
    'CredentialsRefused',
    /^The platform refuses even new tokens of the user: /,
  ],
  [
    'a silent token endpoint',
    platform({ tokens: trouble('unavailable', 'no_answer') }),
    'TokenEndpointFailing',
    /does not serve app:auth_order: no_answer\. The first call after 12:01:06 UTC tries again$/,
  ],
  [
    'a token endpoint that serves no login',
    platform({ isEndpointFailing: true }),
    'TokenEndpointFailing',
    /^Users cannot log in: /,
  ],
  [
    'an open circuit',
    platform({ openCircuits: ['orders', 'members'], ...failing(30, 30, 'orders') }),
    'CircuitOpen',
    /for orders, members: The circuit is open because calls failed.*30 of the last 30 calls of orders timed out since 11:45 UTC/,
  ],
  [
    'a platform that hangs, in a night of few calls',
    platform(failing(11, 11)),
    'PlatformFailing',
    /^The platform does not answer: 11 of the last 11 calls of orderReads timed out since 11:45 UTC, the latest at 11:59 UTC$/,
  ],
  [
    'a platform whose few calls fail',
    platform(failing(5, 2)),
    'PlatformFailing',
    /^The platform does not serve calls: 5 of the last 5 calls of orderReads failed \(2 timed out\) since /,
  ],
  [
    'a callers file that is refused',
    of({
      refusedFiles: [
        { file: 'CALLERS_FILE', reason: 'must be the path of a usable file: callers[0].scopes: no' },
      ],
    }),
    'FileRefused',
    /^The new content of CALLERS_FILE is refused: CALLERS_FILE must be the path of a usable file: callers\[0\]/,
  ],
  [
    'a certificate that is refused',
    of({ refusedFiles: [{ file: 'TLS_CERT_FILE', reason: 'TLS_KEY_FILE must be the private key' }] }),
    'FileRefused',
    /^The new content of TLS_CERT_FILE is refused: TLS_KEY_FILE must be the private key\. /,
  ],
  [
    'a certificate that ends',
    of({ certificates: [{ name: 'listener', leftMs: 9.2 * DAY }] }),
    'CertificateEnds',
    /^The certificate listener ends in 9 days: /,
  ],
  [
    'a certificate that has ended',
    of({ certificates: [{ name: 'platform', leftMs: -1 }] }),
    'CertificateEnds',
    /^The certificate platform has ended: /,
  ],
  ['refused TLS', of({ tlsRefused: ['platform'] }), 'TlsRefused', /^TLS fails with: platform: /],
  ['missing keys of the issuer', of({ issuerKeys: ['empty'] }), 'IssuerKeysMissing', /no keys .* \(empty\)/],
  [
    'a result that was not recorded',
    of({ notRecorded: ['conflict'] }),
    'OrderResultNotRecorded',
    /could not be recorded: The reason is conflict/,
  ],
  [
    'a budget that is used up',
    inStores({
      budgets: [
        { caller: 'crm', budget: 'orders', ratio: 1 },
        { caller: 'shop', budget: 'licences', ratio: 0.856 },
      ],
    }),
    'BudgetNearlyUsed',
    /^A budget is used up: crm has used 100 % of its orders, shop has used 85 % of its licences of this month/,
  ],
  [
    'a maintenance',
    inStores({
      maintenance: {
        ...{ stops: 'orders', from: NOW, until: NOW + 2 * DAY, reason: 'moves', by: 'ops', active: true },
      },
    }),
    'MaintenanceOn',
    /^Maintenance: Orders are stopped from 12:00 UTC to 2026-11-29 12:00 UTC: moves$/,
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
  [
    'a scheduled order that is late',
    orders({ scheduled: { count: 1, overdueMs: 3_600_000 } }),
    'OrdersOverdue',
    /^A scheduled order is late: Its time came 60 min ago/,
  ],
  [
    'an order placed twice',
    inStores({ placedTwice: 1 }),
    'OrderPlacedTwice',
    /^1 order placed more than once/,
  ],
  ['overload', of({ overload: 'event-loop' }), 'Overloaded', /event-loop/],
  [
    'the other Redis',
    of({ redis: { status: 'down', reason: 'NOAUTH Authentication required.' } }),
    'RedisAway',
    /NOAUTH Authentication required\. Reads go on/,
  ],
  ['an import that stands still', inStores({ stuckJobs: 1 }), 'ImportStuck', /^1 import without progress/],
  ['a receiver that is ill', inStores({ troubledWebhooks: 2 }), 'WebhookFailing', /^2 webhooks are failing/],
  ['unknown codes', inStores({ unknownCodes: 1 }), 'UnmappedCode', /^1 code of the platform .*: .*in doubt/],
  [
    'enterprises that cannot be read',
    inStores({ unreadEnterprises: 2 }),
    'EstateUnread',
    /^2 enterprises of the estate not read/,
  ],
  ['new gaps', inStores({ newGaps: 2 }), 'GapsAppeared', /^2 new gaps/],
];

const rules = readFileSync('deploy/prometheus/alerts.yml', 'utf8');
const alerts = [...rules.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name);

/** Prometheus alone knows these: a process that is gone, and rates over minutes, of which a replica keeps none. */
const NOT_OF_A_REPLICA = ['GatewayDown', 'ServerErrors', 'RequestsSlow'];

it('G15 every alert that a replica can know is also in the console, in the same words', () => {
  const shown = new Set([...cases.map(([, , alert]) => alert), ...NOT_OF_A_REPLICA]);
  expect([...shown].toSorted()).toEqual(alerts.toSorted());
});

it.each(cases)('G12 %s needs attention, with its cause and its runbook', (_, found, alert, text) => {
  expect(found.map((each) => each.alert)).toEqual([alert]);
  expect(`${found[0]?.title}: ${found[0]?.detail}`).toMatch(text);
  expect(alerts).toContain(alert);
});

it('G12 the runbook has a section for every alert, where its link leads, with all words of its page and no markup of it', () => {
  const html = runbook()();
  const ids = [...html.matchAll(/<h2 id="([^"]+)">/g)].map(([, id = '']) => id);
  expect(ids).toEqual(expect.arrayContaining(['dashboard', ...alerts.map((alert) => alert.toLowerCase())]));
  expect(html).toContain('<strong>Do:</strong> Look for the order in the platform&#39;s own list');
  expect(html).toContain('rate(gateway_requests_total{status=~&quot;5..&quot;}[5m])');
  const links = [...html.matchAll(/href="#([^"]+)"/g)].map(([, id]) => id);
  expect(links).toEqual(expect.arrayContaining(['databaselost', '9-tls-and-client-certificates']));
  expect(links.filter((id) => !ids.includes(id ?? ''))).toEqual([]);
  expect(html.replaceAll(/<code.*?<\/code>/gs, '')).not.toMatch(/\*\*|`|\]\(|^- |section \d/m);
});

it('an import stands still from when on its alert fires, and none does in a maintenance', async () => {
  const [, seconds] = /gateway_jobs_idle_seconds\) > (\d+)/.exec(rules) ?? [];
  const since = Date.now() - Number(seconds) * 1_000;
  const unfinished = [since - 5_000, since + 5_000].map((changedAt) => ({ changedAt, state: 'running' }));
  const idle = new IdleJobs();
  const jobsIn = (list: () => Promise<object[]>) =>
    new RecentJobs(
      { unfinished: list } as unknown as JobStore,
      undefined as unknown as JobsService,
      { idleSince: (job: UnfinishedJob) => idle.since(job) } as unknown as JobDispatcher,
    );
  expect(await jobsIn(() => Promise.resolve(unfinished)).unfinished()).toEqual({ total: 2, stuck: 1 });
  idle.see(Date.now(), true, false);
  expect(await jobsIn(() => Promise.resolve(unfinished)).unfinished()).toEqual({ total: 2, stuck: 0 });
});

it('a replica that stops says so, and no alert does', () => {
  expect(of({ draining: true })).toMatchObject([{ level: 'watch', title: 'This replica stops' }]);
});

it('nothing needs attention where all is well, also without a shared Redis', () => {
  expect(of({})).toEqual([]);
  expect(of({ redis: { status: 'off', reason: undefined } })).toEqual([]);
});

it('what callers notice comes first', () => {
  const found = of({ redis: { status: 'down', reason: undefined }, overload: 'heap' });
  expect(found.map(({ level }) => level)).toEqual(['act', 'watch']);
});
