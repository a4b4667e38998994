import { spawn } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { gzipSync } from 'node:zlib';
import { Agent, request } from 'undici';
import { Fleet } from '../test/support/fleet.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { load, percentile, type Sample } from './load.ts';

/**
 * What holds when callers or the platform are hostile, or just too many: `npm run bench:hardening [-- <words of a name>]` prints each
 * figure beside its line. Needs the build and a redis-server, and a machine that does nothing else.
 */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const VALIDATE = '/v1/license-orders?validateOnly=true';
const MIB = 1024 * 1024;

type Measured = { readonly measured: string; readonly holds: boolean };
type Scenario = (fleet: Fleet, sandbox: TestSandbox) => Promise<Measured>;

const gatewayOf = ({ gateways: [gateway] }: Fleet) => gateway as NonNullable<typeof gateway>;

/** Sends and reads, and gives the status; 0 where there was no answer. */
async function ask(fleet: Fleet, path: string, body?: string | Buffer, more: object = {}): Promise<number> {
  try {
    const answer = await send(fleet, path, body, more);
    await answer.arrayBuffer();
    return answer.status;
  } catch {
    return 0;
  }
}

function send(fleet: Fleet, path: string, body?: string | Buffer, more: object = {}): Promise<Response> {
  const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json', ...more };
  return fetch(gatewayOf(fleet).url + path, { method: body === undefined ? 'GET' : 'POST', headers, body });
}

/** An order of so many items, as long as it is to be. */
function orderOf(items: number, noteLength = 0): string {
  const note = 'n'.repeat(noteLength);
  const item = {
    orderType: 'new_buy',
    licenseType: 'softkey',
    customer: { customerId: 'cus-harbour-default' },
    assets: [{ products: [{ productUri: 'draft.pro' }] }],
    ...(note && { branch: { name: note } }),
  };
  return JSON.stringify({
    channelCode: 'crm',
    channelOrderId: 'SO-bench',
    orders: Array.from({ length: items }, () => item),
  });
}

/** Resident memory now, and the most since {@link forgetPeak}, in MiB. */
function memoryOf(fleet: Fleet): { now: number; peak: number } {
  const status = readFileSync(`/proc/${gatewayOf(fleet).child.pid}/status`, 'utf8');
  const mib = (name: string) => Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)?.[1]) / 1024;
  return { now: mib('VmRSS'), peak: mib('VmHWM') };
}

function forgetPeak(fleet: Fleet): void {
  writeFileSync(`/proc/${gatewayOf(fleet).child.pid}/clear_refs`, '5');
}

/** Slow callers, in a process of their own so that they do not slow down whoever measures: how long the last was kept (s). */
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

/** A hundred of them, and the memory a minute later beside that before. */
const bomb =
  (drop: (fleet: Fleet, sandbox: TestSandbox) => Promise<number>, expected: number): Scenario =>
  async (fleet, sandbox) => {
    const hundred = () => Promise.all(Array.from({ length: 100 }, () => drop(fleet, sandbox)));
    const others = (seconds: number) => load({ rate: 100, seconds, send: () => send(fleet, ASSETS) });
    // What the first hundred leave for good is room that V8 and malloc have touched once; a second hundred finds it there.
    await others(5);
    await hundred();
    await others(30);
    const before = memoryOf(fleet).now;
    forgetPeak(fleet);
    const statuses = await hundred();
    const { peak } = memoryOf(fleet);
    await sandbox.reset();
    let after = memoryOf(fleet).now;
    // The others go on meanwhile, as they do: a process that does nothing does not collect its garbage either.
    for (let second = 0; second < 60 && after > before * 1.1; second += 2) {
      await others(2);
      after = memoryOf(fleet).now;
    }
    const wrong = statuses.filter((status) => status !== expected);
    return {
      measured: `${before.toFixed(0)} MiB before, ${peak.toFixed(0)} at most, ${after.toFixed(0)} after; answered ${expected} but for ${wrong.length}${wrong.length ? ` (${[...new Set(wrong)].join()})` : ''}`,
      holds: after <= before * 1.1 && wrong.length === 0,
    };
  };

/** The same from the platform: this is what it answers to reads. */
const bombFromUpstream = (action: object, expected: number): Scenario =>
  bomb(async (fleet, sandbox) => {
    await sandbox.fault({ operation: 'listAssets', times: 1, action });
    return ask(fleet, ASSETS);
  }, expected);

const AT_ONCE = 32;

/** What so many at once take, beside their size. */
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
    const before = memoryOf(fleet).now;
    forgetPeak(fleet);
    const statuses = await Promise.all(Array.from({ length: AT_ONCE }, () => one(fleet)));
    const times = Math.max(0, memoryOf(fleet).peak - before) / ((AT_ONCE * bytes) / MIB);
    return {
      measured: `${times.toFixed(1)} × (${AT_ONCE} of ${(bytes / MIB).toFixed(2)} MiB at once, answered ${[...new Set(statuses)].join()})`,
      holds: times <= 10,
    };
  };

/** CPU time of the gateway so far (s). */
function cpuOf(fleet: Fleet): number {
  const fields =
    readFileSync(`/proc/${gatewayOf(fleet).child.pid}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  const TICKS_A_SECOND = 100;
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** Served requests for each second of CPU time, since on a shared machine the gateway may get less of it at one time than at another. */
const overload: Scenario = async (fleet) => {
  const body = orderOf(50);
  const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json' };
  // Lighter than fetch: what is measured must not be the one who measures.
  const agent = new Agent({ pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const one = async (path = VALIDATE): Promise<Response> => {
    const order = path === VALIDATE ? { method: 'POST' as const, body } : {};
    const answer = await request(gatewayOf(fleet).url + path, { dispatcher: agent, headers, ...order });
    await answer.body.dump();
    return new Response(null, { status: answer.statusCode });
  };
  const served = (samples: readonly Sample[]) => samples.filter(({ status }) => status === 200);
  /** As fast as eight callers, each with one request at a time, are served. */
  const saturate = async (seconds: number) => {
    const end = performance.now() + seconds * 1_000;
    const before = cpuOf(fleet);
    let count = 0;
    const caller = async () => {
      while (performance.now() < end) if ((await one()).status === 200) count++;
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    return { rate: count / seconds, perCpuSecond: count / (cpuOf(fleet) - before) };
  };
  await saturate(5);
  const peak = await saturate(10);
  // Connections that are open already: opening them is work as well.
  await Promise.all(Array.from({ length: 1_500 }, () => one('/health/live')));
  const seconds = 30;
  const before = cpuOf(fleet);
  const over = await load({ rate: 2 * peak.rate, seconds, send: () => one() });
  const share = served(over).length / (cpuOf(fleet) - before) / peak.perCpuSecond;
  const after = await load({ rate: peak.rate / 2, seconds: 10, send: () => one() });
  await agent.destroy();
  const refused = over.filter(({ status }) => status === 503);
  const late = after.filter(({ status, ms }) => status !== 200 || ms > 500);
  const recovery = Math.max(0, ...late.map(({ at, ms }) => at + ms / 1_000));
  const refusal = percentile(refused, 0.99);
  const lost = over.length - served(over).length - refused.length;
  const took = (samples: readonly Sample[], part: number) => `${percentile(samples, part).toFixed(0)} ms`;
  return {
    measured:
      `peak ${peak.rate.toFixed(0)}/s; ${(share * 100).toFixed(0)} % of it served per CPU second (${(served(over).length / seconds).toFixed(0)}/s), ` +
      `half in ${took(served(over), 0.5)}; half refused in ${took(refused, 0.5)}, 99 % in ${took(refused, 0.99)}; ` +
      `${lost} neither; recovered after ${recovery.toFixed(1)} s`,
    holds: share >= 0.9 && refusal <= 50 && recovery <= 5 && lost === 0,
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
        `POST /v1/asset-nums HTTP/1.1\r\nHost: a\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n{`,
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
    weight(values.length, (fleet) => ask(fleet, '/v1/asset-nums', values)),
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
  const fleet = await Fleet.start(sandbox, 1);
  const { measured, holds } = await run(fleet, sandbox);
  await fleet.stop();
  await sandbox.close();
  if (!holds) missed++;
  process.stdout.write(
    `${holds ? 'holds ' : 'MISSED'}  ${name}\n        line ${line}\n        here ${measured}\n`,
  );
}
process.exitCode = missed === 0 ? 0 : 1;
