import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';
import { contenders, Platform } from './contenders.ts';
import { quantile } from './figures.ts';
import { underLoad } from './measure.ts';
import { compilePeers } from './processes.ts';
import { loadRun } from './scenarios.ts';
import type { SocketTime } from './socket-times.ts';

/**
 * Where one request waits: `npm run timeline [-- --rate <requests/s>] [--seconds <s>]` puts the gateway as it is shipped under the load of
 * "500 requests/s", and prints the median times of what its sockets do from the request to the end of the response. Only requests that no
 * other overlapped count, and of these the commonest course.
 */

const { values } = parseArgs({
  options: { rate: { type: 'string', default: '500' }, seconds: { type: 'string', default: '6' } },
});
const WARMUP_SECONDS = 3;
const run = loadRun('500 requests/s', 'gateway');
if (!run) throw new Error('there is no scenario of 500 requests/s');

const folder = mkdtempSync(join(tmpdir(), 'gateway-timeline-'));
const file = join(folder, 'times.json');
const preload = pathToFileURL(resolve('bench/socket-times.ts'));
preload.searchParams.set('into', file);
compilePeers();
const platform = await Platform.start();
const gateway = await contenders['gateway'](platform, {
  nodeOptions: `--import ${preload.href} --no-warnings`,
});
let from = 0;
try {
  await underLoad('gateway', gateway, { ...run, seconds: WARMUP_SECONDS, rate: undefined }, platform);
  from = Number(process.hrtime.bigint()) / 1_000;
  await underLoad(
    'gateway',
    gateway,
    { ...run, seconds: Number(values.seconds), rate: Number(values.rate) },
    platform,
  );
} finally {
  await gateway.running.stop();
  await platform.running.stop();
}
const times = (JSON.parse(readFileSync(file, 'utf8')) as SocketTime[]).filter(([at]) => at >= from);
rmSync(folder, { recursive: true });

const platformPort = Number(new URL(platform.url).port);
const courses = Map.groupBy(alone(times), (request) => request.map(nameOf).join());
const [commonest = []] = [...courses.values()].toSorted((one, other) => other.length - one.length);
process.stdout.write(
  `${commonest.length} requests at ${values.rate}/s; µs since the request was read, and since the line before\n`,
);
let before = 0;
for (const [index, time] of (commonest[0] ?? []).entries()) {
  const since = commonest.map((request) => (request[index]?.[0] ?? 0) - (request[0]?.[0] ?? 0));
  const median = quantile(since, 0.5);
  process.stdout.write(
    `${median.toFixed(0).padStart(7)} ${(median - before).toFixed(0).padStart(6)}  ${nameOf(time)}\n`,
  );
  before = median;
}

/** The requests that ended before another began. */
function alone(all: readonly SocketTime[]): SocketTime[][] {
  const found: SocketTime[][] = [];
  let request: SocketTime[] | undefined;
  for (const time of all) {
    if (time[1] === 'request read') request = [];
    request?.push(time);
    if (request === undefined || time[1] !== 'response ended') continue;
    found.push(request);
    request = undefined;
  }
  return found;
}

function nameOf([, what, port]: SocketTime): string {
  if (what === 'request read' || what === 'response ended') return what;
  if (port === 0) return `${what}: the caller's connection`;
  return `${what}: ${port === platformPort ? 'the platform' : 'Redis'}`;
}
