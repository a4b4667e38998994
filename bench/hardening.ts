import { spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { type CheapInput, cheapInputs, costOf, TELLS_TURNS } from '../test/support/cheap-input.ts';
import { Fleet } from '../test/support/fleet.ts';
import { memoryLimit } from '../test/support/memory-limit.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { ASSETS, ask, gatewayOf, MIB, orderOf, pidsOf, type Scenario, send, VALIDATE } from './hostile.ts';
import { type Attack, attacks, bounded, exhaustion } from './exhaustion.ts';
import { load, percentile } from './load.ts';
import { overload } from './overload.ts';
import { forgetPeak, residentMiB } from './processes.ts';

/**
 * What holds when callers or the platform are hostile, or just too many: `npm run bench:hardening [-- <words of a name>]` prints each
 * figure beside its limit. Needs the build, a redis-server and an otherwise idle machine. All processes
 * share its cores: attackers have the lowest priority and the known caller the highest, since in life they run elsewhere.
 */

/** Slow callers, in a process of their own so that they do not slow the measurement: how long the last one stayed open (s). */
async function drip(fleet: Fleet, count: number, head: string): Promise<number> {
  const { port } = new URL(gatewayOf(fleet).url);
  const child = spawn(process.execPath, ['--no-warnings', 'bench/drip.ts', port, String(count), head]);
  return Number(await text(child.stdout));
}

const slowOnes =
  (head: (key: string) => string, withinSeconds: number): Scenario =>
  async (fleet) => {
    const others = (seconds: number) => load({ rate: 100, seconds, send: () => send(fleet, ASSETS) });
    await others(5);
    const baseline = percentile(await others(15), 0.99);
    const slow = drip(fleet, 1_000, head(fleet.key));
    const beside = await others(15);
    const longest = await slow;
    const ratio = percentile(beside, 0.99) / baseline;
    const failures = beside.filter(({ status }) => status !== 200);
    const failed =
      failures.length === 0
        ? 'none'
        : `${failures.length} (${[...new Set(failures.map(({ status }) => status))].join()})`;
    return {
      measured: `the last after ${longest.toFixed(1)} s; others' p99 ${ratio.toFixed(2)} × of ${baseline.toFixed(1)} ms, ${failed} failed`,
      holds: longest <= withinSeconds && ratio <= 2 && failures.length === 0,
    };
  };

/** A hundred of them, and the memory a minute later beside the memory before. */
const bomb =
  (drop: (fleet: Fleet, sandbox: TestSandbox) => Promise<number>, expected: number): Scenario =>
  async (fleet, sandbox) => {
    const hundred = () => Promise.all(Array.from({ length: 100 }, () => drop(fleet, sandbox)));
    const others = (seconds: number) => load({ rate: 100, seconds, send: () => send(fleet, ASSETS) });
    // The first hundred leave memory that V8 and malloc have touched once and keep; a second hundred reuses it.
    await others(5);
    await hundred();
    await others(30);
    const before = residentMiB(pidsOf(fleet)).now;
    forgetPeak(pidsOf(fleet));
    const statuses = await hundred();
    const { peak } = residentMiB(pidsOf(fleet));
    await sandbox.reset();
    let after = residentMiB(pidsOf(fleet)).now;
    // The other callers go on meanwhile: an idle process does not collect its garbage either.
    for (let second = 0; second < 60 && after > before * 1.1; second += 2) {
      await others(2);
      after = residentMiB(pidsOf(fleet)).now;
    }
    const wrong = statuses.filter((status) => status !== expected);
    return {
      measured: `${before.toFixed(0)} MiB before, ${peak.toFixed(0)} at most, ${after.toFixed(0)} after; answered ${expected} but for ${wrong.length}${wrong.length ? ` (${[...new Set(wrong)].join()})` : ''}`,
      holds: after <= before * 1.1 && wrong.length === 0,
    };
  };

/** The same as a response of the platform to reads. */
const bombFromUpstream = (action: object, expected: number): Scenario =>
  bomb(async (fleet, sandbox) => {
    await sandbox.fault({ operation: 'listAssets', times: 1, action });
    return ask(fleet, ASSETS);
  }, expected);

const AT_ONCE = 32;

/** The memory that many at once take, beside their size. */
const weight =
  (
    bytes: number,
    one: (fleet: Fleet) => Promise<number>,
    prepare?: (sandbox: TestSandbox) => Promise<unknown>,
  ): Scenario =>
  async (fleet, sandbox) => {
    await prepare?.(sandbox);
    for (let count = 0; count < 10; count++) await one(fleet);
    await sleep(5_000);
    const before = residentMiB(pidsOf(fleet)).now;
    forgetPeak(pidsOf(fleet));
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => one(fleet)));
    const times = Math.max(0, residentMiB(pidsOf(fleet)).peak - before) / ((AT_ONCE * bytes) / MIB);
    return {
      measured: `${times.toFixed(1)} × (${AT_ONCE} of ${(bytes / MIB).toFixed(2)} MiB at once, answered ${[...new Set(statuses)].join()})`,
      holds: times <= 10,
    };
  };

const deep = `{"size":${'['.repeat(20_000)}${']'.repeat(20_000)}}`;
const keys = `{${Array.from({ length: 90_000 }, (_, index) => `"${index.toString(36)}":1`).join()}}`;
const zipped = gzipSync(Buffer.alloc(50 * MIB, ' '));
const full = orderOf(1_000, 200);
const values = `{"size":[${'1111111,'.repeat(39_999)}1]}`;
const MEMORY = 'resident memory back within 10 % in 60 s';
const WEIGHT = 'at most 10 × its size';
const bodyOf = (bytes: string) => ({ raw: { text: bytes } });
const answerOf = (bytes: number) => ({ pad: bytes });

/** Enough for a small container. */
const LIMIT_MIB = 512;

const AT_ONCE_NAME = `exhaustion in ${LIMIT_MIB} MiB for 60 s: ${Object.keys(attacks).join(', ')} at once`;
const atOnce = Object.assign({}, ...Object.values(attacks)) as Attack;

/** All attacks at once, with so many new connections a second, or as many as the gateway accepts; and each alone. */
const exhaustions: Readonly<Record<string, Scenario>> = {
  ...Object.fromEntries(
    [250, 500, 1_000, undefined].map((opens) => [
      `${AT_ONCE_NAME}, new connections a second: ${opens ?? 'as many as it accepts'}`,
      exhaustion({ ...atOnce, opens }, 60),
    ]),
  ),
  ...Object.fromEntries(
    Object.entries(attacks).map(([name, attack]) => [`attack alone: ${name}`, exhaustion(attack, 20)]),
  ),
};

/** The longest wait of other callers: a turn of the event loop that one input takes. */
const cheap =
  (input: CheapInput): Scenario =>
  async (fleet) => {
    await costOf(fleet, input, 1);
    const one = await costOf(fleet, input, 1);
    const five = await costOf(fleet, input, 5);
    const { turnMs, moreMiB } = five;
    return {
      measured: `one ${one.turnMs.toFixed(0)} ms, ${one.moreMiB.toFixed(0)} MiB more; five at once ${turnMs.toFixed(0)} ms, ${moreMiB.toFixed(0)} MiB more (answered ${[...new Set([...one.statuses, ...five.statuses])].join()})`,
      holds: Math.max(one.turnMs, turnMs) <= 100 && moreMiB <= 200,
    };
  };

const scenarios: readonly (readonly [name: string, line: string, run: Scenario])[] = [
  [
    'slow headers, 1,000 at once',
    "closed within 6 s, others' p99 at most 2 ×",
    slowOnes(() => 'GET /health/live HTTP/1.1\r\nHost: a\r\nX-Slow: ', 6),
  ],
  [
    'slow bodies, 1,000 at once',
    "closed within 11 s, others' p99 at most 2 ×",
    slowOnes(
      (key) =>
        `POST /v1/asset-num-reservations HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
      11,
    ),
  ],
  [
    'bombs × 100: gzip',
    MEMORY,
    bomb((fleet) => ask(fleet, VALIDATE, zipped, { 'content-encoding': 'gzip' }), 415),
  ],
  ['bombs × 100: deep JSON', MEMORY, bomb((fleet) => ask(fleet, VALIDATE, deep), 400)],
  ['bombs × 100: 90,000 keys', MEMORY, bomb((fleet) => ask(fleet, VALIDATE, keys), 400)],
  [
    'bombs × 100: 1 MiB of text',
    MEMORY,
    bomb((fleet) => ask(fleet, VALIDATE, `"${'x'.repeat(MIB - 2)}"`), 400),
  ],
  [
    'bombs × 100: 10 MiB of text',
    MEMORY,
    bomb((fleet) => ask(fleet, VALIDATE, Buffer.alloc(10 * MIB, ' ')), 413),
  ],
  [
    'bombs × 100 from upstream: gzip',
    MEMORY,
    bombFromUpstream(
      { raw: { base64: zipped.toString('base64'), headers: { 'content-encoding': 'gzip' } } },
      502,
    ),
  ],
  [
    'bombs × 100 from upstream: deep JSON',
    MEMORY,
    bombFromUpstream(bodyOf(`{"code":0,"data":${'['.repeat(20_000)}${']'.repeat(20_000)}}`), 502),
  ],
  ['bombs × 100 from upstream: 20 MiB', MEMORY, bombFromUpstream(answerOf(20 * MIB), 502)],
  [
    'memory of a request: an order of 1,000 items',
    WEIGHT,
    weight(full.length, (fleet) => ask(fleet, VALIDATE, full)),
  ],
  [
    'memory of a request: 40,000 values',
    WEIGHT,
    weight(values.length, (fleet) => ask(fleet, '/v1/asset-num-reservations', values)),
  ],
  [
    'memory of an answer: 1.9 MiB from upstream',
    WEIGHT,
    weight(
      1_900_000,
      (fleet) => ask(fleet, ASSETS),
      (sandbox) => sandbox.fault({ operation: 'listAssets', action: answerOf(1_900_000) }),
    ),
  ],
  ...Object.entries(exhaustions).map(
    ([name, run]) =>
      [name, 'it lives; no request of a known caller fails, and its p99 is at most 2 ×', run] as const,
  ),
  ...cheapInputs.map(
    (input) =>
      [
        `cheap input: ${input.name}`,
        'no turn of the event loop takes more than 100 ms, and five at once no more than 200 MiB',
        cheap(input),
      ] as const,
  ),
  [
    'overload: twice what it can serve for 30 s',
    'at least 90 % of the peak served, refusals within 50 ms (p99), recovered within 5 s',
    overload,
  ],
];

const words = process.argv.slice(2).join(' ').toLowerCase();
let missed = 0;
for (const [name, line, run] of scenarios) {
  if (!name.toLowerCase().includes(words)) continue;
  const sandbox = await TestSandbox.start();
  const isLimited = name in exhaustions;
  const group = isLimited ? memoryLimit(LIMIT_MIB * MIB) : undefined;
  if (isLimited && !group)
    process.stdout.write(
      'No control group can be made here: the next scenario runs without its limit of memory.\n',
    );
  const folder = mkdtempSync(join(tmpdir(), 'bench-hardening-'));
  const nodeOptions = name.startsWith('cheap input') ? TELLS_TURNS : '';
  const how = { group, bundled: true, logFile: join(folder, 'log'), nodeOptions };
  const fleet = await Fleet.start(sandbox, 1, { how, callers: [bounded] });
  const { measured, holds } = await run(fleet, sandbox);
  await fleet.stop();
  await sandbox.close();
  group?.remove();
  rmSync(folder, { recursive: true });
  if (!holds) missed++;
  process.stdout.write(
    `${holds ? 'holds ' : 'MISSED'}  ${name}\n        line ${line}\n        here ${measured}\n`,
  );
}
process.exitCode = missed === 0 ? 0 : 1;
