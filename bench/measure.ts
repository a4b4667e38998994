import type { Contender, Platform } from './contenders.ts';
import { quantile } from './figures.ts';
import { flood, openChecked, WrongAnswer } from './generator.ts';
import { cpuSeconds } from './processes.ts';
import type { Task } from './tasks.ts';

/** One contender at one task. */
export interface Run {
  readonly contender: string;
  readonly task: Task;
  /** 64 where nothing is said. */
  readonly connections?: number;
}

/** What one contender did in one round. */
export interface Measured {
  readonly requests: number;
  /** Its process's CPU time for each request, all threads. */
  readonly cpuMicros: number;
  readonly perSecond: number;
  readonly p50: number;
  readonly p99: number;
}

const CONNECTIONS = 64;
/** Of the answers of a caching contender, this part at most may come from the platform: an entry lives 5 s. */
const MAX_MISSES = 0.05;

let requests = 0;
const next = () => requests++;

/** Puts the contender under load for so long. Throws where an answer is wrong, or was not made as the task says. */
export async function measure(
  { contender, running, asked }: Contender & { contender: string },
  { task, connections: count = CONNECTIONS }: Run,
  platform: Platform,
  seconds: number,
): Promise<Measured> {
  const ask = asked(task);
  const askedBefore = await platform.asked();
  const connections = await openChecked(running.port, count, ask, next);
  try {
    const cpuBefore = cpuSeconds(running.pid);
    const { latencies, seconds: took } = await flood(connections, ask, next, seconds);
    const cpu = cpuSeconds(running.pid) - cpuBefore;
    assertAsked(contender, task, latencies.length + count, (await platform.asked()) - askedBefore);
    return {
      requests: latencies.length,
      cpuMicros: (cpu * 1e6) / latencies.length,
      perSecond: latencies.length / took,
      p50: quantile(latencies, 0.5),
      p99: quantile(latencies, 0.99),
    };
  } finally {
    for (const connection of connections) connection.close();
  }
}

/** A read that was to go past a cache and did not, or the other way round, measures something else. */
function assertAsked(contender: string, task: Task, answered: number, asked: number): void {
  const caches = contender.startsWith('gateway') && task.kind === 'read' && task.how === 'cached';
  const right = caches ? asked <= Math.max(2, answered * MAX_MISSES) : asked === answered;
  if (!right) throw new WrongAnswer(`${contender}: ${answered} answers, of which the platform made ${asked}`);
}
