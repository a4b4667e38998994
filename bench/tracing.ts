import { setTimeout as sleep } from 'node:timers/promises';
import { Collector } from '../test/support/collector.ts';
import { Fleet } from '../test/support/fleet.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { ratio, spread } from './figures.ts';
import { type Ask, flood, openChecked } from './generator.ts';
import { cpuSeconds, pidOf } from './processes.ts';

/**
 * What traces cost: `npm run bench:tracing`. CPU of the gateway for each request, with a collector and a sample of the traces, ÷ without
 * one, in turns, since times on a shared machine say little. Exits with 1 where one in a hundred traces costs more than its line.
 */

const ROUNDS = 21;
const SECONDS = 0.6;
/** Rounds that do not count: the code is compiled. */
const WARM_UP = 4;
const CONNECTIONS = 8;
const LINE = 1.05;
const SAMPLES = ['0.01', '1'];
const SAMPLE_OF_LINE = '0.01';

const sandbox = await TestSandbox.start();
const collector = await Collector.start();
const fleets = new Map<string, Fleet>();
let requests = 0;
const next = () => requests++;
try {
  for (const sample of ['none', ...SAMPLES]) fleets.set(sample, await start(sample));
  const tasks = { 'read past the cache': 'cache-control: no-cache\r\n', 'cached read': '' };
  for (const [task, header] of Object.entries(tasks)) await compare(task, header);
} finally {
  for (const fleet of fleets.values()) await fleet.stop();
  collector.close();
  await sandbox.close();
}

function start(sample: string): Promise<Fleet> {
  const traces = {
    ...collector.environment,
    OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
    OTEL_TRACES_SAMPLER_ARG: sample,
    OTEL_BSP_SCHEDULE_DELAY: '5000',
  };
  return Fleet.start(sandbox, 1, {
    environment: { CACHE_TTL_MS: '600000', ...(sample !== 'none' && traces) },
    how: { bundled: true },
    caller: { rateLimit: { requests: 1_000_000_000, perSeconds: 1 } },
  });
}

async function compare(task: string, header: string): Promise<void> {
  const cpu = new Map([...fleets.keys()].map((sample) => [sample, [] as number[]]));
  for (let round = -WARM_UP; round < ROUNDS; round++) {
    for (const [sample, fleet] of fleets) {
      const micros = await run(fleet, header);
      if (round >= 0) cpu.get(sample)?.push(micros);
    }
  }
  const without = cpu.get('none') ?? [];
  for (const sample of SAMPLES) {
    const times = ratio(cpu.get(sample) ?? [], without);
    const holds = times.median <= LINE;
    if (sample === SAMPLE_OF_LINE && !holds) process.exitCode = 1;
    const verdict =
      sample === SAMPLE_OF_LINE ? (holds ? `holds (≤ ${LINE})` : `FAILS (≤ ${LINE})`) : 'no line';
    console.log(
      `${task}, ${Number(sample) * 100} % of the traces: × ${times.median.toFixed(3)} (${times.min.toFixed(3)}–${times.max.toFixed(3)}) of ${spread(without).median.toFixed(0)} µs; ${verdict}`,
    );
  }
}

/** CPU of the gateway for each request, in µs. */
async function run(fleet: Fleet, header: string): Promise<number> {
  const [gateway] = fleet.gateways;
  if (!gateway) throw new Error('there is no gateway');
  const ask: Ask = {
    request: () =>
      `GET /v1/enterprises/ent-harbour/assets HTTP/1.1\r\nhost: gateway\r\nx-api-key: ${fleet.key}\r\n${header}\r\n`,
    status: 200,
    check: (body) => JSON.parse(body) as unknown,
  };
  const pids = [pidOf(gateway.child)];
  const connections = await openChecked([Number(new URL(gateway.url).port)], CONNECTIONS, ask, next);
  const before = cpuSeconds(pids);
  const { latencies } = await flood(connections, ask, next, SECONDS);
  const micros = ((cpuSeconds(pids) - before) * 1e6) / latencies.length;
  for (const connection of connections) connection.close();
  // What the round has left to write and to collect is not the next one's.
  await sleep(100);
  return micros;
}
