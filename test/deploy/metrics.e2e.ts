import { globSync, readFileSync } from 'node:fs';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { useStack } from '../support/stack.ts';

/** What dashboards, alerts and documents say about metrics and the log, compared with a gateway that runs. */

const { gateway } = useStack({ redis: true });
/** The names of all samples, `up` included, which Prometheus makes. */
let names: Set<string>;

beforeAll(async () => {
  const text = await gateway.metrics();
  const types = [...text.matchAll(/^# TYPE (\w+) (\w+)$/gm)];
  names = new Set([
    'up',
    ...types.flatMap(([, name = '', type]) =>
      type === 'histogram' ? ['_bucket', '_sum', '_count'].map((suffix) => name + suffix) : [name],
    ),
  ]);
});
const METRIC = /\b(?:gateway|process|nodejs)_\w+/g;

describe('every metric', () => {
  it.each(globSync('deploy/{prometheus,grafana}/*'))('of %s is one that the gateway has', (file) => {
    const used = readFileSync(file, 'utf8').match(METRIC) ?? [];
    expect(used.length).toBeGreaterThan(10);
    expect([...new Set(used)].filter((name) => !names.has(name))).toEqual([]);
  });

  it('that the runbook names is one that the gateway has', () => {
    const used = readFileSync('docs/operating.md', 'utf8').match(METRIC) ?? [];
    expect(used.length).toBeGreaterThan(5);
    const bare = new Set([...names].map((name) => name.replace(/_(bucket|sum|count)$/, '')));
    expect([...new Set(used)].filter((name) => !names.has(name) && !bare.has(name))).toEqual([]);
  });

  it.each([
    'gateway_jobs_ended_total',
    'gateway_order_reconciliation_attempts_total',
    'gateway_recorded_writes_total',
    'gateway_redis_errors_total',
    'gateway_upstream_contract_warnings_total',
    'gateway_upstream_refused_total',
    'gateway_upstream_retries_total',
  ])(
    'of the kind of %s begins with 0, since Prometheus sees no increase where the first value is 1',
    async (name) => {
      const samples = [...(await gateway.metrics()).matchAll(new RegExp(`^${name}\\{.*\\} (.*)$`, 'gm'))];
      expect(samples.length).toBeGreaterThan(3);
      expect(new Set(samples.map(([, value]) => value))).toEqual(new Set(['0']));
    },
  );

  it('of durations is without uploads and streams, which last as long as their caller sends or reads', async () => {
    const members = '/v1/enterprises/ent-harbour';
    const file = 'account,password,name\nanna,first-login-3,Anna Berg\n';
    const headers = { 'content-type': 'text/csv' };
    const job = await gateway.request('POST', `${members}/member-imports`, { body: file, headers });
    expect(job.status).toBe(202);
    const jobId = String(job.body['jobId']);
    for (const path of [`/v1/jobs/${jobId}/events`, `/v1/jobs/${jobId}/rows`, `${members}/members/export`])
      expect([path, (await gateway.get(path)).status]).toEqual([path, 200]);
    expect((await gateway.get(`/v1/jobs/${jobId}`)).status).toBe(200);
    const text = await gateway.metrics();
    const counted = (name: string) => [
      ...new Set([...text.matchAll(new RegExp(`^${name}\\{.*operation="(\\w+)"`, 'gm'))].map(([, id]) => id)),
    ];
    const streams = ['importMembers', 'watchJob', 'getJobRows', 'exportMembers'];
    expect(counted('gateway_requests_total')).toEqual([...streams, 'getJob']);
    expect(counted('gateway_request_duration_seconds_count')).toEqual(['getJob']);
  });

  it('has a help text, and its unit in its name', async () => {
    const text = await gateway.metrics();
    const own = [...text.matchAll(/^# HELP (gateway_\w+) (.*)\n# TYPE \w+ (\w+)$/gm)];
    expect(own.length).toBeGreaterThan(25);
    for (const [, name = '', help = '', type] of own) {
      expect(help.length).toBeGreaterThan(20);
      if (type === 'counter') expect(name).toMatch(/_total$/);
      if (type === 'histogram') expect(name).toMatch(/_(seconds|bytes)$/);
    }
  });
});

it('every line of the log that the runbook names is one that the gateway writes', () => {
  const source = globSync('src/**/*.ts')
    .map((path) => readFileSync(path, 'utf8'))
    .join('\n');
  const parts = readFileSync('docs/operating.md', 'utf8').matchAll(
    /log: (`[a-z-]+`(?:(?:,| and) `[a-z-]+`)*)/g,
  );
  const events = [...parts].flatMap(([, list = '']) => list.match(/[a-z-]+(?=`)/g) ?? []);
  expect(events.length).toBeGreaterThan(15);
  expect(events.filter((event) => !source.includes(`'${event}'`))).toEqual([]);
});
