import { type ChildProcess, fork } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';

/** A process under load. */
export interface Running {
  readonly port: number;
  readonly pid: number;
  stop(): Promise<void>;
}

/** A server of `bench/peers`, on a free port. */
export async function startPeer(file: string, environment: Record<string, string> = {}): Promise<Running> {
  const child = fork(new URL(`./peers/${file}`, import.meta.url), {
    env: { PATH: process.env['PATH'], NODE_ENV: 'production', NODE_NO_WARNINGS: '1', ...environment },
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const { port } = await listening(child, file);
  const stop = async () => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const ended = once(child, 'exit');
    child.kill('SIGKILL');
    await ended;
  };
  return { port, pid: pidOf(child), stop };
}

function listening(child: ChildProcess, file: string): Promise<{ port: number }> {
  return new Promise((resolve, reject) => {
    child.once('message', (message) => resolve(message as { port: number }));
    child.once('exit', (code) => reject(new Error(`${file} ended with ${code} before it listened`)));
  });
}

export function pidOf({ pid }: ChildProcess): number {
  if (pid === undefined) throw new Error('a process that did not start');
  return pid;
}

/** Linux reports in hundredths of a second on every platform that Node runs on. */
const TICKS_A_SECOND = 100;

/** CPU seconds of all threads of the process so far, in it and in the kernel on its behalf. */
export function cpuSeconds(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1');
  // Fields 14 and 15 of proc(5), counted behind the name, which may hold anything.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  const kilobytes = /^VmRSS:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'latin1'))?.[1];
  return Number(kilobytes) * 1_024;
}
