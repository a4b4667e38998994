import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { newSecret } from '../test/support/canary.ts';
import { Fleet } from '../test/support/fleet.ts';
import { orderOf } from '../test/support/order-body.ts';
import { freePort, until } from '../test/support/redis.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { type Panel, picture, type Series } from './panels.ts';

/**
 * `npm run dashboard` draws the Grafana dashboard from a real run: two gateways with traffic and an import, and a platform that answers
 * 502 for a while and loses responses to orders. A real Prometheus scrapes them and evaluates each panel. Writes docs/dashboard.svg.
 * Needs the build, a redis-server and Debian's prometheus.
 */

const SECONDS = { quiet: 60, broken: 30, mended: 90 };
const SCRAPE_S = 1;
const STEP_S = 2;
/** What Grafana puts into queries: here four scrapes, as there, and all replicas. */
const VARIABLES = { $__rate_interval: `${4 * SCRAPE_S}s`, $instance: '.*' };
const PER_SECOND = 40;
const ENTERPRISE = '/v1/enterprises/ent-harbour';
const NO_CACHE = { 'cache-control': 'no-cache' };
const PICTURE = 'docs/dashboard.svg';

const folder = mkdtempSync(join(tmpdir(), 'dashboard-'));
const sandbox = await TestSandbox.start();
const fleet = await Fleet.start(sandbox, 2, { environment: { CACHE_TTL_MS: '5000' } });
const prometheus = await startPrometheus();
const from = Date.now() / 1_000;
let orders = 0;
const day = new AbortController();
try {
  const traffic = requests(day.signal);
  await sleep(SECONDS.quiet * 500);
  const fileImport = importMembers();
  await sleep(SECONDS.quiet * 500);
  const lost = { operation: 'batchOrder', times: 2, phase: 'after', action: { reset: 'before-headers' } };
  const rules = [
    ...(await sandbox.fault(lost)),
    ...(await sandbox.fault({ operation: 'listAssets', action: { status: 502 } })),
  ];
  await sleep(SECONDS.broken * 1_000);
  await sandbox.heal(rules);
  await sleep(SECONDS.mended * 1_000);
  day.abort();
  await Promise.all([traffic, fileImport]);
  const { panels } = JSON.parse(readFileSync('deploy/grafana/gateway.json', 'utf8')) as { panels: Panel[] };
  const now = Date.now() / 1_000;
  const series = new Map<Panel, Series[]>();
  for (const panel of panels) series.set(panel, await evaluate(panel, now));
  const minutes = ((now - from) / 60).toFixed(0);
  const title = `deploy/grafana/gateway.json, ${minutes} minutes of two replicas; the platform answers 502 after the first`;
  writeFileSync(PICTURE, picture(title, panels, series, { from, until: now, step: STEP_S }));
  const empty = [...series].filter(([{ type }, { length }]) => type !== 'row' && length === 0);
  console.log(
    `${PICTURE}: ${panels.length} panels; without data: ${empty.map(([{ title: name }]) => name).join(', ') || 'none'}`,
  );
} finally {
  prometheus.kill('SIGTERM');
  await once(prometheus, 'exit');
  await fleet.stop();
  await sandbox.close();
  rmSync(folder, { recursive: true });
}

async function startPrometheus() {
  const port = await freePort();
  const targets = fleet.gateways.map(({ managementUrl }) => new URL(managementUrl).host);
  writeFileSync(
    join(folder, 'prometheus.yml'),
    JSON.stringify({
      global: { scrape_interval: `${SCRAPE_S}s` },
      scrape_configs: [{ job_name: 'gateway', static_configs: [{ targets }] }],
    }),
  );
  const child = spawn(
    'prometheus',
    [
      `--config.file=${join(folder, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
      '--log.level=error',
    ],
    { stdio: ['ignore', 'inherit', 'inherit'] },
  );
  const url = `http://127.0.0.1:${port}`;
  await until('Prometheus is ready', async () =>
    fetch(`${url}/-/ready`).then(
      ({ ok }) => ok,
      () => false,
    ),
  );
  return Object.assign(child, { url });
}

/** Requests of a usual day, until the end. Refusals belong to it. */
async function requests(over: AbortSignal): Promise<void> {
  const kinds = [
    () => fleet.get(0, `${ENTERPRISE}/assets`),
    () => fleet.get(1, `${ENTERPRISE}/assets`, NO_CACHE),
    () => fleet.get(1, `${ENTERPRISE}/members`, { 'x-acting-user': 'anna' }),
    () => fleet.get(0, '/v1/customers?channelCode=crm&channelCustomerId=CH-1001'),
    () => fleet.post(1, '/v1/license-orders?validateOnly=true', orderOf('SO-picture')),
    () => fleet.get(0, '/v1/enterprises/no-such/assets'),
  ];
  const open: Promise<unknown>[] = [];
  for (let index = 0; !over.aborted; index++) {
    const kind = kinds[index % kinds.length];
    const send = index % 20 === 0 ? () => fleet.post(0, '/v1/license-orders', order(orders++)) : kind;
    open.push(Promise.resolve(send?.()).catch(() => undefined));
    await sleep(1_000 / PER_SECOND);
  }
  await Promise.all(open);
}

/** It names its enterprise, so that the gateway can look for it. */
function order(index: number): object {
  const { items, ...rest } = orderOf(`SO-picture-${index}`);
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  return { ...rest, items: items.map((item) => ({ ...item, customer })) };
}

async function importMembers(): Promise<void> {
  const rows = Array.from({ length: 3_000 }, (_, row) => `p${row},${newSecret('m')},Employee ${row}`);
  const response = await fetch(`${fleet.gateways[0]?.url}${ENTERPRISE}/member-imports`, {
    method: 'POST',
    headers: { 'x-api-key': fleet.key, 'content-type': 'text/csv' },
    body: ['account,password,name', ...rows, ''].join('\n'),
  });
  if (response.status !== 202) throw new Error(await response.text());
}

async function evaluate({ targets = [] }: Panel, now: number): Promise<Series[]> {
  const all: Series[] = [];
  for (const { expr, legendFormat } of targets) {
    const query = Object.entries(VARIABLES).reduce(
      (said, [name, value]) => said.replaceAll(name, value),
      expr,
    );
    const range = new URLSearchParams({ query, start: String(from), end: String(now), step: String(STEP_S) });
    const response = await fetch(`${prometheus.url}/api/v1/query_range?${range}`);
    if (!response.ok) throw new Error(`${expr}: ${await response.text()}`);
    const { data } = (await response.json()) as {
      data: { result: { metric: Record<string, string>; values: [number, string][] }[] };
    };
    for (const { metric, values } of data.result) {
      const points = values
        .map(([at, value]) => [at, Number(value)] as const)
        .filter(([, value]) => Number.isFinite(value));
      const legend = legendFormat.replace(/\{\{(\w+)\}\}/g, (_, label: string) => metric[label] ?? '');
      if (points.length > 0) all.push({ legend, points });
    }
  }
  return all;
}
