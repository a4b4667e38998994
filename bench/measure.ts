import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { NODE_PATH, START_SCRIPT } from '../test/support/gateway-process.ts';
import { freePort } from '../test/support/redis.ts';
import { BEFORE, type Contender, SHIPPED, startOf } from './contenders.ts';
import { openFleet, type Platform } from './fleet.ts';
import { quantile } from './figures.ts';
import { type Answered, Connection, flood, openChecked, pace, WrongAnswer } from './generator.ts';
import { BARE_NEST, cpuSeconds, residentMiB, startPeer } from './processes.ts';
import { gatewayAsked, type Task } from './tasks.ts';
import type { Tree } from './tree.ts';

/** The measurements of one round. CPU is that of the processes, over all their threads. */
export interface Measured {
  readonly cpuMicros: number;
  /** CPU of its Redis and its PostgreSQL, for each request. */
  readonly serverMicros: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly megabytes: number;
  /** Share of the requests that the gateway refused with "try later". */
  readonly refused: number;
  readonly startMs: number;
}
export type Metric = keyof Measured;

export interface Work {
  readonly task: Task;
  readonly connections: number;
  /** The requests a second. If absent, as many as get responses. */
  readonly rate?: number | undefined;
  readonly seconds: number;
  /** The load of other callers at the same time. */
  readonly beside?: { readonly task: Task; readonly rate: number } | undefined;
}

/** The connections for the load of other callers. */
const BESIDE_CONNECTIONS = 16;
/** The share of a caching contender's responses that may come from the platform. An entry lives 5 s. */
const MAX_MISSES = 0.05;
/** The share of refusals above which the bench measures nothing, because the machine is too slow for the load. */
const MAX_REFUSED = 0.2;

let requests = 0;
/** Returns the number of the next request of this run. Orders never have a number twice. */
export const next = () => requests++;

/** Puts a contender under load. Throws if a response is wrong, or was not made as the task says. */
export async function underLoad(
  name: string,
  { running, asked }: Contender,
  { task, connections: count, rate, seconds, beside }: Work,
  platform: Platform,
): Promise<Partial<Measured>> {
  const ask = asked(task);
  const askedBefore = await platform.asked();
  let connections: Connection[] = [];
  let others: Connection[] = [];
  try {
    connections = await openChecked(running.ports, count, ask, next);
    const askBeside = beside && asked(beside.task);
    if (askBeside) others = await openChecked(running.ports, BESIDE_CONNECTIONS, askBeside, next);
    const servers = running.serverPids?.() ?? [];
    const cpuBefore = cpuSeconds(running.pids);
    const serversBefore = cpuSeconds(servers);
    const [answered]: Answered[] = await Promise.all([
      rate === undefined
        ? flood(connections, ask, next, seconds)
        : pace(connections, ask, next, seconds, rate),
      ...(askBeside ? [pace(others, askBeside, next, seconds, beside.rate)] : []),
    ]);
    if (!answered) throw new Error('nothing was measured');
    const cpu = cpuSeconds(running.pids) - cpuBefore;
    const serverCpu = cpuSeconds(servers) - serversBefore;
    const { latencies } = answered;
    const refused = answered.refused / (latencies.length + answered.refused);
    if (refused > MAX_REFUSED) throw new WrongAnswer(`${(refused * 100).toFixed(0)} % refused`);
    // Orders of other callers drop cached reads.
    if (!beside)
      assertAsked(
        task,
        latencies.length + count,
        (await platform.asked()) - askedBefore,
        /gateway|floor/.test(name),
      );
    return {
      cpuMicros: (cpu * 1e6) / latencies.length,
      ...(servers.length > 0 && { serverMicros: (serverCpu * 1e6) / latencies.length }),
      perSecond: latencies.length / answered.seconds,
      refused,
      p50Ms: quantile(latencies, 0.5),
      p99Ms: quantile(latencies, 0.99),
      megabytes: residentMiB(running.pids),
    };
  } catch (error) {
    throw error instanceof WrongAnswer ? new WrongAnswer(`${name}: ${error.message}`) : error;
  } finally {
    for (const connection of [...connections, ...others]) connection.close();
  }
}

/** Throws if reads hit the cache instead of bypassing it, or the reverse, because they would measure something else. */
function assertAsked(task: Task, answered: number, asked: number, hasCache: boolean): void {
  const cached = hasCache && task.kind === 'read' && task.how === 'cached';
  const right = cached ? asked <= Math.max(4, answered * MAX_MISSES) : asked === answered;
  if (!right) throw new WrongAnswer(`${answered} answers, of which the platform made ${asked}`);
}

/** The folder with V8's compiled code, which the image has too, by command. A start without settings makes it, and ends. */
const compiled = new Map<string, string>();
function compiledCode([program = '', ...args]: readonly string[], cwd?: string): string {
  const command = args.join(' ') + String(cwd);
  const known = compiled.get(command);
  if (known !== undefined) return known;
  const folder = mkdtempSync(join(tmpdir(), 'bench-compiled-'));
  process.once('exit', () => rmSync(folder, { recursive: true }));
  spawnSync(program, args, { cwd, env: { PATH: NODE_PATH, NODE_COMPILE_CACHE: folder } });
  compiled.set(command, folder);
  return folder;
}

/**
 * Measures the time from the start of the gateway's process to the first 200 of a read, including the token. Redis and PostgreSQL already
 * run, and the database has its tables, because another process was started before.
 */
export async function startOfGateway(platform: Platform, tree?: Tree): Promise<Partial<Measured>> {
  const NODE_COMPILE_CACHE = compiledCode(tree?.start ?? ['sh', START_SCRIPT], tree?.folder);
  const { fleet, stop } = await openFleet(platform);
  try {
    const PORT = String(await freePort());
    const environment = { ...(tree ? BEFORE : SHIPPED), PORT, NODE_COMPILE_CACHE };
    const how = { ...(tree && startOf(tree)), logFile: join(fleet.folder, 'gateway.log') };
    const launch = () => fleet.launch(environment, how, 0);
    await (await launch()).stop();
    const began = performance.now();
    const launched = launch();
    const task: Task = { kind: 'read', what: 'assets', bytes: 1_024, how: 'fresh', changing: false };
    const request = gatewayAsked([fleet.key], tree?.dialect)(task).request(next(), 0);
    const [startMs] = await Promise.all([firstAnswer(Number(PORT), request, began), launched]);
    return { startMs };
  } finally {
    await stop();
  }
}

/** Measures the start of Nest with Fastify, Swagger and one route without a platform, bundled and with compiled code too. */
export async function startOfBareNest(): Promise<Partial<Measured>> {
  const NODE_COMPILE_CACHE = compiledCode([process.execPath, BARE_NEST]);
  const PORT = String(await freePort());
  const began = performance.now();
  const launched = startPeer(BARE_NEST, { PORT, NODE_COMPILE_CACHE });
  const request = 'GET /greetings/bench HTTP/1.1\r\nhost: 127.0.0.1\r\n\r\n';
  const [startMs, running] = await Promise.all([firstAnswer(Number(PORT), request, began), launched]);
  await running.stop();
  return { startMs };
}

const GIVE_UP_MS = 60_000;

async function firstAnswer(port: number, request: string, began: number): Promise<number> {
  for (;;) {
    try {
      const connection = await Connection.open(port);
      await connection.send(request, 200);
      const answered = performance.now();
      connection.close();
      return answered - began;
    } catch (error) {
      const refused = (error as NodeJS.ErrnoException).code === 'ECONNREFUSED';
      if (!refused || performance.now() - began > GIVE_UP_MS) throw error;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
  }
}
