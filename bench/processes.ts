import { type ChildProcess, execFileSync, fork } from 'node:child_process';
import { once } from 'node:events';
import { closeSync, existsSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { build } from 'esbuild';
import { BUNDLE_OPTIONS } from '../scripts/bundle-options.ts';

/** The target of the load: one process, or several that share it. */
export interface Running {
  readonly ports: readonly number[];
  readonly pids: readonly number[];
  /** Returns the processes of its Redis and its PostgreSQL, if it has them. */
  readonly serverPids?: () => readonly number[];
  stop(): Promise<void>;
}

const here = fileURLToPath(new URL('.', import.meta.url));

const compiled = join(here, 'dist', 'peers');
/** The bundle of bare Nest, made as the gateway's. */
export const BARE_NEST = join(compiled, 'bundle', 'bare-nest.js');

/** Compiles the peers. They run as JavaScript, as the gateway does, because decorators need a compiler. */
export async function compilePeers(): Promise<void> {
  const tsc = fileURLToPath(import.meta.resolve('typescript/lib/tsc.js'));
  execFileSync(process.execPath, [tsc, '-p', join(here, 'peers')], { stdio: 'inherit' });
  await build({
    ...BUNDLE_OPTIONS,
    entryPoints: [join(compiled, 'bare-nest.js')],
    outfile: BARE_NEST,
    minifyWhitespace: true,
  });
}

/** Starts a server of `bench/peers`, by its name or its file. Its output goes to a file, as the gateway's does. */
export async function startPeer(name: string, environment: Record<string, string> = {}): Promise<Running> {
  const folder = mkdtempSync(join(tmpdir(), 'bench-peer-'));
  const log = openSync(join(folder, 'log'), 'a');
  const child = fork(isAbsolute(name) ? name : join(compiled, `${name}.js`), {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', ...environment },
    stdio: ['ignore', log, 'inherit', 'ipc'],
  });
  closeSync(log);
  const stop = () => endOf(child, folder);
  try {
    const port = await listening(child, name);
    return { ports: [port], pids: [pidOf(child)], stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Kills a process and removes its folder. */
export async function endOf(child: ChildProcess, folder: string): Promise<void> {
  if (child.exitCode === null && child.signalCode === null) {
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  }
  rmSync(folder, { recursive: true, force: true });
}

function listening(child: ChildProcess, name: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve((message as { port: number }).port));
    child.once('exit', (code) => reject(new Error(`${name} ended with ${code} before it listened`)));
  });
}

export function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process that did not start');
  return pid;
}

/** The unit in which Linux reports processor time on every platform that Node runs on: hundredths of a second. */
const TICKS_A_SECOND = 100;

/**
 * Returns the CPU seconds of all threads so far, in user mode and in the kernel, with those of children that have ended. A child that ends
 * meanwhile, such as a worker of PostgreSQL, counts with its parent.
 */
export function cpuSeconds(pids: readonly number[]): number {
  return sum(pids, (pid) => {
    if (!existsSync(`/proc/${pid}`)) return 0;
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
    // The code reads fields 14 to 17 of proc(5), counted behind the name, which may contain anything.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return fields.slice(11, 15).reduce((total, ticks) => total + Number(ticks), 0) / TICKS_A_SECOND;
  });
}

/** Returns the process and its children. */
export function family(pid: number): number[] {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, 'latin1').trim();
  return [pid, ...children.split(' ').filter(Boolean).map(Number)];
}

/** Returns the resident memory in MiB. */
export function residentMiB(pids: readonly number[]): number {
  return sum(pids, (pid) => {
    const status = readFileSync(`/proc/${pid}/status`, 'latin1');
    return Number(/^VmRSS:\s+(\d+) kB$/m.exec(status)?.[1]) / 1_024;
  });
}

function sum(pids: readonly number[], of: (pid: number) => number): number {
  return pids.reduce((total, pid) => total + of(pid), 0);
}
