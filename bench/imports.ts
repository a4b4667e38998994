import { fork } from 'node:child_process';
import { once } from 'node:events';
import { newSecret } from '../test/support/canary.ts';
import { Fleet } from '../test/support/fleet.ts';
import { ask as askRedis } from '../test/support/redis.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { type Spread, spread } from './figures.ts';
import { gatewayOf, pidsOf, send } from './hostile.ts';
import { percentile, type Sample } from './load.ts';
import { forgetPeak, residentMiB } from './processes.ts';

/**
 * What imports and exports cost, against the lines of docs/performance.md: `npm run bench:imports`. Needs the build, a redis-server and an
 * otherwise idle machine.
 */

const ENTERPRISE = '/v1/enterprises/ent-harbour';
const IMPORTS = `${ENTERPRISE}/member-imports`;
const ROWS_PER_CALL = 100;
const CALLS_AT_A_TIME = 2;
const MOST_MEMORY_MIB = 64;
const MOST_BYTES_PER_ROW = 600;
const FAST_ROWS = 10_000;
const LARGE_ROWS = 50_000;
const CALL_MS = 100;
/** Of another enterprise, from the cache: the emulated platform, which is busy too, has no part in it. */
const OTHERS = '/v1/enterprises/ent-meridian/assets';
const OTHERS_PER_SECOND = 100;
const ROUNDS = 5;

let missed = 0;
const sandbox = await TestSandbox.start();
const fleet = await Fleet.start(sandbox, 1, { environment: { CACHE_TTL_MS: '60000' } });
try {
  await ended(await accepted(file('warm', 1_000)));
  await speed();
  await room();
  await memoryOfImports();
  await memoryOfExport();
} finally {
  await fleet.stop();
  await sandbox.close();
}
process.exitCode = missed === 0 ? 0 : 1;

/** So many new members; their accounts begin with `name`. */
function file(name: string, rows: number): string {
  const lines = Array.from(
    { length: rows },
    (_, index) => `${name}${index},${newSecret('m')},Employee ${index},10,Office ${index % 40},`,
  );
  return ['account,password,name,departmentId,remark,passwordMobile', ...lines, ''].join('\n');
}

async function accepted(csv: string, query = ''): Promise<string> {
  const response = await send(fleet, IMPORTS + query, csv, { 'content-type': 'text/csv' });
  const body = (await response.json()) as { jobId: string };
  if (response.status !== 202) throw new Error(`${response.status} ${JSON.stringify(body)}`);
  return body.jobId;
}

/** Waits for the end of the events, and returns how long the job took in ms. */
async function ended(jobId: string): Promise<number> {
  await (await send(fleet, `/v1/jobs/${jobId}/events`)).text();
  const response = await send(fleet, `/v1/jobs/${jobId}`);
  const job = (await response.json()) as { state: string; createdAt: string; finishedAt: string };
  if (job.state !== 'succeeded') throw new Error(JSON.stringify(job));
  return Date.parse(job.finishedAt) - Date.parse(job.createdAt);
}

/** A platform that takes 100 ms a call, and other callers meanwhile; in rounds, since a 99th percentile is a few requests. */
async function speed(): Promise<void> {
  const rounds: { readonly tookMs: number; readonly ratio: number; readonly failed: number }[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    await sandbox.reset();
    await sandbox.fault({ operation: 'addMembers', action: { delayMs: CALL_MS } });
    const alone = await others(6);
    const csv = file(`fast${round}x`, FAST_ROWS);
    let job: Promise<number> | undefined;
    const beside = await others(6, () => {
      job = accepted(csv).then(ended);
    });
    rounds.push({
      tookMs: (await job) ?? Number.NaN,
      ratio: percentile(beside, 0.99) / percentile(alone, 0.99),
      failed: [...alone, ...beside].filter(({ status }) => status !== 200).length,
    });
  }
  await sandbox.reset();
  const leastMs = (FAST_ROWS / ROWS_PER_CALL / CALLS_AT_A_TIME) * CALL_MS;
  const times = spread(rounds.map(({ tookMs }) => tookMs / leastMs));
  const ratios = spread(rounds.map(({ ratio }) => ratio));
  const shown = ({ median, min, max }: Spread) =>
    `${median.toFixed(2)} × (${min.toFixed(2)}–${max.toFixed(2)})`;
  report(
    `${FAST_ROWS} rows, ${CALL_MS} ms a call`,
    'at most 1.2 × the time of its calls, two at a time',
    shown(times),
    times.median <= 1.2,
  );
  const failed = rounds.reduce((sum, round) => sum + round.failed, 0);
  report(
    "other callers' reads meanwhile",
    'p99 at most 1.5 ×, none failed',
    `${shown(ratios)}, ${failed} failed`,
    ratios.median <= 1.5 && failed === 0,
  );
}

/** Other callers' reads; `meanwhile` is called when they have begun. */
async function others(seconds: number, meanwhile?: () => void): Promise<readonly Sample[]> {
  const child = fork('bench/reader.ts', [String(OTHERS_PER_SECOND), String(seconds)], {
    env: { READER_URL: gatewayOf(fleet).url + OTHERS, READER_KEY: fleet.key },
    execArgv: ['--no-warnings'],
  });
  await once(child, 'message');
  meanwhile?.();
  const [samples] = await once(child, 'message');
  return samples as Sample[];
}

/** What waits in Redis while the platform does not answer. */
async function room(): Promise<void> {
  await sandbox.fault({ operation: 'listMembers', action: { delayMs: 3_000 }, times: 1 });
  const before = await usedMemory();
  const jobId = await accepted(file('room', FAST_ROWS));
  const bytes = ((await usedMemory()) - before) / FAST_ROWS;
  await ended(jobId);
  await sandbox.reset();
  report(
    'a waiting row in Redis',
    `at most ${MOST_BYTES_PER_ROW} bytes`,
    `${bytes.toFixed(0)} bytes`,
    bytes <= MOST_BYTES_PER_ROW,
  );
}

function usedMemory(): Promise<number> {
  return askRedis(fleet.redis, async (client) =>
    Number(/used_memory:(\d+)/.exec(await client.info('memory'))?.[1]),
  );
}

async function memoryOfImports(): Promise<void> {
  const csv = file('large', LARGE_ROWS);
  await reportMemory(`an import of ${LARGE_ROWS} rows`, async () => {
    await ended(await accepted(csv));
  });
  // Every row is compared with the list of members.
  await reportMemory(`an upsert of ${LARGE_ROWS} members who are there`, async () => {
    await ended(await accepted(csv, '?mode=upsert'));
  });
}

/** Of the members that {@link memoryOfImports} has left. */
async function memoryOfExport(): Promise<void> {
  await reportMemory(`an export of ${LARGE_ROWS} members`, async () => {
    const response = await send(fleet, `${ENTERPRISE}/members/export`, undefined, { accept: 'text/csv' });
    let lines = 0;
    for await (const bytes of response.body ?? [])
      lines +=
        Buffer.from(bytes as Uint8Array)
          .toString('latin1')
          .split('\n').length - 1;
    if (lines < LARGE_ROWS) throw new Error(`the export has ${lines} lines`);
  });
}

/** The most resident memory meanwhile, beside the memory before. */
async function reportMemory(name: string, work: () => Promise<void>): Promise<void> {
  const pids = pidsOf(fleet);
  const before = residentMiB(pids).now;
  forgetPeak(pids);
  const started = performance.now();
  await work();
  const more = residentMiB(pids).peak - before;
  const seconds = ((performance.now() - started) / 1_000).toFixed(1);
  report(
    name,
    `at most ${MOST_MEMORY_MIB} MiB of resident memory more`,
    `${more.toFixed(0)} MiB on top of ${before.toFixed(0)} (${seconds} s)`,
    more <= MOST_MEMORY_MIB,
  );
}

function report(name: string, line: string, measured: string, holds: boolean): void {
  if (!holds) missed++;
  process.stdout.write(
    `${holds ? 'holds ' : 'MISSED'}  ${name}\n        line ${line}\n        here ${measured}\n`,
  );
}
