import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { scenes, sectionOf } from '../night/scenes.ts';
import { promtool } from '../support/promtool.ts';

/** The alert rules and the Grafana dashboard. That their metrics exist is in test/deploy/metrics.e2e.ts. */

interface Rule {
  readonly alert: string;
  readonly expr: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

interface Case {
  readonly alert: string;
  /** Samples every 15 s, in promtool's notation (`0+1x20`: 0, 1, 2 … 20). */
  readonly fires: Readonly<Record<string, string>>;
  readonly silent: Readonly<Record<string, string>>;
  /** When the rule is evaluated; after 5 minutes if it is not said. */
  readonly at?: string;
  /** What the rule's result has of labels besides the severity. */
  readonly labels?: Readonly<Record<string, string>>;
  readonly summary: string;
}

const RULES = resolve('deploy/prometheus/alerts.yml');
const DAY = 86_400;
/** Buckets of a histogram: 100 requests in a scrape, of which `slow` took between 2.5 and 5 s. */
const buckets = (operation: string, slow: number): Record<string, string> => {
  const le = (bound: string, count: number) => ({
    [`gateway_request_duration_seconds_bucket{operation="${operation}",le="${bound}"}`]: `0+${count}x80`,
  });
  return { ...le('1', 100 - slow), ...le('2.5', 100 - slow), ...le('5', 100), ...le('+Inf', 100) };
};
const stopped = (reason: string) => `gateway_database_stopped{reason="${reason}",instance="a"}`;

const cases: readonly Case[] = [
  {
    alert: 'GatewayDown',
    fires: { 'up{job="gateway",instance="a"}': '1x3 0x10', 'up{job="gateway",instance="b"}': '1x20' },
    silent: { 'up{job="gateway",instance="a"}': '1x8 0x2 1x10' },
    at: '3m',
    labels: { job: 'gateway', instance: 'a' },
    summary: 'No metrics from a',
  },
  {
    alert: 'GatewayDown',
    fires: { 'up{job="another"}': '1x20' },
    silent: { 'up{job="gateway"}': '1x20' },
    at: '3m',
    labels: { job: 'gateway' },
    summary: 'No metrics from any gateway',
  },
  {
    alert: 'ServerErrors',
    // A replica without load gets one probe after the other, and addresses that do not exist.
    fires: {
      'gateway_requests_total{operation="live",status="200"}': '0+900x80',
      'gateway_requests_total{operation="ready",status="200"}': '0+900x80',
      'gateway_requests_total{operation="none",status="404"}': '0+900x80',
      'gateway_requests_total{operation="listAssets",status="200"}': '0+90x80',
      'gateway_requests_total{operation="listAssets",status="504"}': '0+10x80',
    },
    silent: {
      'gateway_requests_total{operation="ready",status="503"}': '0+900x80',
      'gateway_requests_total{operation="listAssets",status="200"}': '0+98x80',
      'gateway_requests_total{operation="listAssets",status="404"}': '0+50x80',
      'gateway_requests_total{operation="listAssets",status="504"}': '0+2x80',
    },
    at: '15m',
    summary: '10% of the responses are server errors',
  },
  {
    alert: 'ServerErrors',
    // A maintenance that stops orders only may last for days.
    fires: {
      'gateway_maintenance{stops="orders"}': '1x80',
      'gateway_requests_total{operation="placeOrder",status="503"}': '0+50x80',
      'gateway_requests_total{operation="listAssets",status="200"}': '0+40x80',
      'gateway_requests_total{operation="listAssets",status="500"}': '0+10x80',
    },
    silent: {
      'gateway_maintenance{stops="orders"}': '1x80',
      'gateway_requests_total{operation="placeOrder",status="503"}': '0+50x80',
      'gateway_requests_total{operation="listAssets",status="200"}': '0+50x80',
    },
    at: '15m',
    summary: '10% of the responses are server errors',
  },
  {
    alert: 'RequestsSlow',
    fires: buckets('listAssets', 50),
    silent: { ...buckets('listAssets', 0), ...buckets('placeOrder', 50) },
    at: '15m',
    labels: { operation: 'listAssets' },
    summary: 'One in a hundred requests of listAssets takes longer than 4.95s',
  },
  {
    alert: 'Overloaded',
    fires: { 'gateway_requests_refused_total{reason="event-loop"}': '0+1x80' },
    silent: {
      'gateway_requests_refused_total{reason="event-loop"}': '7x80',
      'gateway_requests_refused_total{reason="caller-rate"}': '0+9x80',
    },
    at: '15m',
    labels: { reason: 'event-loop' },
    summary: 'The gateway refuses requests because of load (event-loop)',
  },
  {
    alert: 'OrderPlacedTwice',
    fires: { 'gateway_order_reconciliation_attempts_total{result="placed_twice"}': '0x10 1x70' },
    silent: {
      'gateway_order_reconciliation_attempts_total{result="placed_twice"}': '0x80',
      'gateway_order_reconciliation_attempts_total{result="settled"}': '0+1x80',
    },
    at: '15m',
    labels: { result: 'placed_twice' },
    summary: 'The platform has an order more often than it was ordered',
  },
  {
    alert: 'OrdersInDoubt',
    fires: { 'gateway_orders_in_doubt_oldest_seconds{instance="a"}': '0+15x120' },
    silent: { 'gateway_orders_in_doubt_oldest_seconds{instance="a"}': '0+15x72 0x48' },
    at: '22m',
    summary: 'The outcome of an order is unknown for 22m 0s',
  },
  {
    alert: 'OrdersAccepted',
    fires: { 'gateway_orders_accepted_oldest_seconds{instance="a"}': '86000+15x120' },
    silent: { 'gateway_orders_accepted_oldest_seconds{instance="a"}': '86000+15x36 0x84' },
    at: '20m',
    summary: 'The platform accepted an order 1d 0h 13m 20s ago, and nothing shows that it was placed',
  },
  {
    alert: 'OrdersOverdue',
    fires: { 'gateway_orders_overdue_seconds{instance="a"}': '0+15x120' },
    silent: { 'gateway_orders_overdue_seconds{instance="a"}': '0+15x72 0x48' },
    at: '22m',
    summary: 'The time of a scheduled order came 22m 0s ago, and it was not sent',
  },
  {
    alert: 'OrderResultNotRecorded',
    fires: { 'gateway_order_results_not_recorded_total{reason="conflict"}': '0x10 1x30' },
    silent: { 'gateway_order_results_not_recorded_total{reason="conflict"}': '3x40' },
    labels: { reason: 'conflict' },
    summary: 'The outcome of an order is known and could not be recorded (conflict)',
  },
  {
    alert: 'DatabaseAway',
    fires: { [stopped('away')]: '1x40' },
    silent: { [stopped('away')]: '0x10 1x2 0x28', [stopped('numbers')]: '1x40' },
    summary: 'The database does not respond, so every order is refused',
  },
  {
    alert: 'DatabaseLost',
    fires: { [stopped('numbers')]: '1x40' },
    silent: { [stopped('numbers')]: '0x40', [stopped('none')]: '1x40', [stopped('away')]: '1x40' },
    labels: { reason: 'numbers' },
    summary: 'The database is empty, is another one or lacks commits (numbers), so every order is refused',
  },
  {
    alert: 'DatabaseUnfit',
    fires: { [stopped('writes')]: '1x40' },
    silent: { [stopped('writes')]: '0x40', [stopped('none')]: '1x40', [stopped('identity')]: '1x40' },
    labels: { reason: 'writes' },
    summary: 'The database cannot keep orders (writes), so every order is refused',
  },
  {
    alert: 'DatabaseWeak',
    fires: { 'gateway_database_weak{instance="a"}': '1x60' },
    silent: { 'gateway_database_weak{instance="a"}': '1x10 0x50' },
    at: '10m',
    summary: 'The database has standbys that are not synchronous, so a failover may lose commits',
  },
  {
    alert: 'OrderRecordsUnreadable',
    fires: { 'gateway_order_records_unreadable{instance="a"}': '0x10 2x30' },
    silent: { 'gateway_order_records_unreadable{instance="a"}': '0x40' },
    summary: '2 records of orders cannot be decrypted',
  },
  {
    alert: 'RedisAway',
    fires: { 'gateway_redis_up{instance="a"}': '0x40' },
    silent: { 'gateway_redis_up{instance="a"}': '1x10 0x2 1x28' },
    labels: { instance: 'a' },
    summary: 'a cannot use Redis',
  },
  {
    alert: 'CircuitOpen',
    fires: { 'gateway_upstream_breaker_state{group="orderReads",instance="a"}': '2 2 1 2 2 1 2 2 1 2x40' },
    silent: {
      'gateway_upstream_breaker_state{group="orderReads",instance="a"}': '2 2 1 0x40',
      'gateway_upstream_breaker_state{group="tokens",instance="a"}': '2x40',
    },
    labels: { group: 'orderReads' },
    summary: "The gateway does not call the platform's orderReads, because they fail",
  },
  {
    alert: 'PlatformFailing',
    fires: { 'gateway_upstream_failures_in_a_row{group="orderReads",instance="a"}': '0x4 1+1x40' },
    silent: {
      'gateway_upstream_failures_in_a_row{group="orderReads",instance="a"}': '2x40',
      'gateway_upstream_failures_in_a_row{group="orders",instance="a"}': '30x40',
      'gateway_upstream_breaker_state{group="orders",instance="a"}': '2 2 1 2x40',
    },
    labels: { group: 'orderReads' },
    summary: "The last 16 calls of the platform's orderReads have all failed",
  },
  {
    alert: 'TokenEndpointFailing',
    fires: { 'gateway_upstream_breaker_state{group="tokens",instance="a"}': '2 1 2 1 2x40' },
    silent: {
      'gateway_upstream_breaker_state{group="tokens",instance="a"}': '2 2 0x40',
      'gateway_upstream_breaker_state{group="orderReads",instance="a"}': '2x40',
    },
    summary: "The platform's token endpoint does not answer",
  },
  {
    alert: 'CredentialsRefused',
    // Nothing is asked for an hour between the growing pauses, and the credentials stay wrong.
    fires: {
      'gateway_token_events_total{principal="application",event="rejected"}': '1x240',
      'gateway_principals_rejected{principal="application",instance="a"}': '2x240',
      'gateway_principals_rejected{principal="application",instance="b"}': '0x240',
    },
    silent: {
      'gateway_token_events_total{principal="application",event="rejected"}': '0+1x240',
      'gateway_token_events_total{principal="session",event="rejected"}': '0+1x240',
      'gateway_principals_rejected{principal="application",instance="a"}': '2x40 0x200',
    },
    at: '50m',
    labels: { principal: 'application' },
    summary: 'The platform refuses the credentials of the application',
  },
  {
    alert: 'CredentialsRefused',
    fires: { 'gateway_token_events_total{principal="user",event="held_off"}': '0x4 1x40' },
    silent: { 'gateway_token_events_total{principal="session",event="held_off"}': '0+1x40' },
    labels: { principal: 'user' },
    summary: 'The platform refuses the credentials of the user',
  },
  {
    alert: 'UnmappedCode',
    fires: { 'gateway_upstream_unmapped_codes_total{operation="listAssets"}': '0x4 1x40' },
    silent: { 'gateway_upstream_unmapped_codes_total{operation="listAssets"}': '4x40' },
    labels: { operation: 'listAssets' },
    summary: 'The platform refused listAssets with a code that the gateway does not know',
  },
  {
    alert: 'EstateUnread',
    fires: { 'gateway_estate_unread_enterprises{instance="a"}': '2x40' },
    silent: { 'gateway_estate_unread_enterprises{instance="a"}': '0x40' },
    summary: '2 enterprises of the estate could not be read for a day',
  },
  {
    alert: 'GapsAppeared',
    fires: {
      'gateway_upstream_gaps_total{operation="listAssets",kind="unknown-field",instance="a"}': '_x400 1+1x40',
      'gateway_upstream_gaps_total{operation="listAssets",kind="unknown-word",instance="a"}': '1+1x440',
    },
    // Another replica starts and sees what is known.
    silent: {
      'gateway_upstream_gaps_total{operation="listAssets",kind="unknown-field",instance="a"}': '1+1x200',
      'gateway_upstream_gaps_total{operation="listAssets",kind="unknown-field",instance="b"}': '_x400 1x40',
    },
    at: '105m',
    labels: { operation: 'listAssets', kind: 'unknown-field' },
    summary: "The platform's answers to listAssets have a new departure from its interface (unknown-field)",
  },
  {
    alert: 'CertificateEnds',
    fires: { 'gateway_certificate_expiry_timestamp_seconds{certificate="platform"}': `${10 * DAY}x80` },
    silent: { 'gateway_certificate_expiry_timestamp_seconds{certificate="platform"}': `${20 * DAY}x80` },
    at: '15m',
    labels: { certificate: 'platform' },
    summary: 'The certificate platform ends in 9d 23h 45m 0s',
  },
  {
    alert: 'TlsRefused',
    fires: { 'gateway_tls_failures_total{server="platform"}': '0x4 1+1x40' },
    silent: { 'gateway_tls_failures_total{server="platform"}': '5x40' },
    labels: { server: 'platform' },
    summary: 'TLS with platform fails',
  },
  {
    alert: 'FileRefused',
    fires: { 'gateway_followed_file_refused{file="CALLERS_FILE",instance="a"}': '0x4 1x40' },
    silent: { 'gateway_followed_file_refused{file="CALLERS_FILE",instance="a"}': '1x10 0x30' },
    labels: { file: 'CALLERS_FILE' },
    summary: 'The new content of CALLERS_FILE is refused, and the content from before stays in use',
  },
  {
    alert: 'IssuerKeysMissing',
    // The gateway asks every five minutes, as the issuer wants it.
    fires: {
      'gateway_issuer_keys_missed_total{reason="unavailable",instance="a"}': '1x19 2x19 3x19',
      'gateway_issuer_keys_missing_seconds{reason="unavailable",instance="a"}': '0x19 300x19 600x19',
      'gateway_issuer_keys_missing_seconds{reason="unavailable",instance="b"}': '0x60',
    },
    // The issuer was away for a moment: some requests of each replica failed, and the next ones succeeded.
    silent: {
      'gateway_issuer_keys_missed_total{reason="unavailable",instance="a"}': '0+1x60',
      'gateway_issuer_keys_missing_seconds{reason="unavailable",instance="a"}': '0x20 20x20 0x20',
      'gateway_issuer_keys_missing_seconds{reason="unavailable",instance="b"}': '0x20 30x20 0x20',
    },
    at: '12m',
    labels: { reason: 'unavailable' },
    summary: 'The public keys of the JWT issuer cannot be read (unavailable)',
  },
  {
    alert: 'MaintenanceOn',
    fires: { 'gateway_maintenance{stops="orders",instance="a"}': '1x40' },
    silent: { 'gateway_maintenance{stops="orders",instance="a"}': '1x10 0x30' },
    at: '6m',
    labels: { stops: 'orders' },
    summary: 'An operator has stopped orders',
  },
  {
    alert: 'BudgetNearlyUsed',
    fires: { 'gateway_budget_used_ratio{caller="crm",budget="orders",instance="a"}': '0.5x10 0.85x30' },
    silent: { 'gateway_budget_used_ratio{caller="crm",budget="orders",instance="a"}': '0.79x40' },
    at: '6m',
    labels: { caller: 'crm', budget: 'orders' },
    summary: 'crm has used 85% of its orders of this month',
  },
  {
    alert: 'WebhookFailing',
    fires: {
      'gateway_webhooks{state="failing",instance="a"}': '2x40',
      'gateway_webhooks{state="failing",instance="b"}': '2x40',
      'gateway_webhooks{state="switched_off",instance="a"}': '3x40',
    },
    silent: {
      'gateway_webhooks{state="failing",instance="a"}': '2x10 0x30',
      'gateway_webhooks{state="ok",instance="a"}': '2x40',
    },
    at: '6m',
    summary: '5 webhooks get nothing: their receivers take no delivery, or they were switched off for it',
  },
  {
    alert: 'ImportStuck',
    fires: { 'gateway_jobs_idle_seconds{instance="a"}': '0+15x120' },
    silent: { 'gateway_jobs_idle_seconds{instance="a"}': '0+15x36 0+15x84' },
    at: '12m',
    summary: 'An import of members has made no progress for 12m 0s',
  },
];

const { groups } = parse(readFileSync(RULES, 'utf8')) as { groups: { rules: Rule[] }[] };
const rules = groups.flatMap((group) => group.rules);
const folder = mkdtempSync(join(tmpdir(), 'monitoring-'));
afterAll(() => rmSync(folder, { recursive: true }));

/** Writes a file for promtool: JSON is YAML too. */
function file(name: string, content: object): string {
  const path = join(folder, name);
  writeFileSync(path, JSON.stringify(content));
  return path;
}

/** A file of tests, of a rule alone: promtool evaluates all rules of a file at each step. */
function testFile({ alert, fires, silent, at = '5m', labels, summary }: Case, place: number): string {
  const rule = rules.find((each) => each.alert === alert);
  const expected = {
    exp_labels: { severity: rule?.labels.severity, ...labels },
    exp_annotations: { summary, runbook_url: rule?.annotations.runbook_url },
  };
  const one = (name: string, values: Case['fires'], exp_alerts: object[]) => ({
    name,
    interval: '15s',
    input_series: Object.entries(values).map(([series, samples]) => ({ series, values: samples })),
    alert_rule_test: [{ eval_time: at, alertname: alert, exp_alerts }],
  });
  const alone = file(`rule-${place}.json`, { groups: [{ name: 'alone', rules: [rule] }] });
  const tests = [one(`${alert} fires`, fires, [expected]), one(`${alert} is silent`, silent, [])];
  return file(`test-${place}.json`, { rule_files: [alone], evaluation_interval: '15s', tests });
}

describe('the alert rules', () => {
  it('are valid, each fire on their series, and are silent on the others', () => {
    expect(promtool('check', 'rules', RULES)).toMatchObject({ passed: true });
    expect(promtool('test', 'rules', ...cases.map(testFile))).toMatchObject({ passed: true });
  });

  it('all have such a test, and a section of the runbook, where their runbook_url points', () => {
    const names = rules.map(({ alert }) => alert);
    expect(names.length).toBeGreaterThan(15);
    expect([...new Set(cases.map(({ alert }) => alert))]).toEqual(names);
    const [page = ''] = new Set(rules.map(({ annotations }) => annotations.runbook_url.split('#')[0]));
    const headings = readFileSync(page, 'utf8').split('\n');
    expect(names.filter((alert) => !headings.includes(`### ${alert}`))).toEqual([]);
    const urls = rules.map(({ annotations }) => annotations.runbook_url);
    expect(urls).toEqual(names.map((alert) => `${page}#${alert.toLowerCase()}`));
  });
});

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly datasource: { readonly uid: string } }[];
}

it.each(scenes.map((scene) => [scene.alert, scene.name, scene] as const))(
  'the section %s says what ends it in a night in which this breaks: %s',
  (alert, _, { remedy }) => {
    expect(sectionOf(alert)).toContain(remedy);
  },
);

describe('the dashboard', () => {
  const { panels } = JSON.parse(readFileSync('deploy/grafana/gateway.json', 'utf8')) as { panels: Panel[] };

  it('has panels that do not overlap, each with a query on the chosen data source', () => {
    expect(new Set(panels.map(({ id }) => id)).size).toBe(panels.length);
    const cells = panels.flatMap(({ gridPos: { x, y, w, h } }) =>
      Array.from({ length: w * h }, (_, index) => `${x + (index % w)} ${y + Math.floor(index / w)}`),
    );
    expect(new Set(cells).size).toBe(cells.length);
    for (const { type, targets = [] } of panels) {
      expect(targets.length > 0).toBe(type !== 'row');
      for (const { datasource } of targets) expect(datasource.uid).toBe('${datasource}');
    }
  });

  it('has queries that Prometheus understands', () => {
    const recorded = panels
      .flatMap(({ targets = [] }) => targets)
      .map(({ expr }, index) => ({
        record: `query:${index}`,
        expr: expr.replaceAll('$__rate_interval', '1m').replaceAll('$instance', '.*'),
      }));
    expect(recorded.length).toBeGreaterThan(30);
    const queries = file('queries.json', { groups: [{ name: 'dashboard', rules: recorded }] });
    expect(promtool('check', 'rules', queries)).toMatchObject({ passed: true });
  });
});
