import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { JOB_STORE } from './job-dispatcher.ts';
import { isEnded, type JobRecord } from './job-record.ts';
import type { JobStore } from './job-store.ts';
import { toJob } from './job.mapper.ts';

const LOOK_MS = 500;
/** Shorter than the time after which a connection without traffic counts as stalled. */
const COMMENT_MS = 5_000;
/** Each looks at the store twice a second. */
const MOST_WATCHERS = 500;
const MOST_OF_CALLER = 100;

/** The progress of jobs as server-sent events (of the HTML standard). */
@Injectable()
export class JobWatch implements BeforeApplicationShutdown {
  readonly #shutdown = new AbortController();
  /** By caller. */
  readonly #watchers = new Map<string, number>();

  constructor(@Inject(JOB_STORE) private readonly store: JobStore) {}

  /** A client whose events end without `done` connects again, to another process. */
  beforeApplicationShutdown(): void {
    this.#shutdown.abort();
  }

  /** `progress` whenever the job has changed, then `done`. `seen` is the version that the client has had already. */
  events(job: JobRecord, seen: number, caller: string): AsyncGenerator<string> {
    const all = this.#watchers.values().reduce((sum, count) => sum + count, 0);
    if (all >= MOST_WATCHERS || this.#of(caller) >= MOST_OF_CALLER)
      throw new ProblemException('overloaded', { retryAfter: 1 });
    return this.#counted(caller, this.#events(job, seen));
  }

  #of(caller: string): number {
    return this.#watchers.get(caller) ?? 0;
  }

  /** Counts the caller while its events are read. */
  async *#counted(caller: string, events: AsyncGenerator<string>): AsyncGenerator<string> {
    this.#watchers.set(caller, this.#of(caller) + 1);
    try {
      yield* events;
    } finally {
      this.#watchers.set(caller, this.#of(caller) - 1);
    }
  }

  async *#events(job: JobRecord, seen: number): AsyncGenerator<string> {
    const over = this.#shutdown.signal;
    let known = seen;
    let quietSince = performance.now();
    for (let current = job; !over.aborted;) {
      if (isEnded(current.state)) return yield eventOf('done', current);
      if (current.version > known) {
        known = current.version;
        quietSince = performance.now();
        yield eventOf('progress', current);
      } else if (performance.now() - quietSince > COMMENT_MS) {
        quietSince = performance.now();
        yield ': no change\n\n';
      }
      await sleep(LOOK_MS, undefined, { signal: over }).catch(() => undefined);
      // While the store is away the client keeps what it has.
      const next = await this.store.read(job.definition.jobId).catch(() => current);
      if (!next) return;
      current = next;
    }
  }
}

function eventOf(name: 'progress' | 'done', job: JobRecord): string {
  return `id: ${job.version}\nevent: ${name}\ndata: ${JSON.stringify(toJob(job))}\n\n`;
}
