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

/** The progress of jobs as server-sent events (of the HTML standard). */
@Injectable()
export class JobWatch implements BeforeApplicationShutdown {
  readonly #shutdown = new AbortController();
  #watchers = 0;

  constructor(@Inject(JOB_STORE) private readonly store: JobStore) {}

  /** A client whose events end without `done` connects again, to another process. */
  beforeApplicationShutdown(): void {
    this.#shutdown.abort();
  }

  /** `progress` whenever the job has changed, then `done`. `seen` is the version that the client has had already. */
  events(job: JobRecord, seen: number): AsyncGenerator<string> {
    if (this.#watchers >= MOST_WATCHERS) throw new ProblemException('overloaded', { retryAfter: 1 });
    return this.#events(job, seen, this.#shutdown.signal);
  }

  async *#events(job: JobRecord, seen: number, over: AbortSignal): AsyncGenerator<string> {
    this.#watchers++;
    try {
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
    } finally {
      this.#watchers--;
    }
  }
}

function eventOf(name: 'progress' | 'done', job: JobRecord): string {
  return `id: ${job.version}\nevent: ${name}\ndata: ${JSON.stringify(toJob(job))}\n\n`;
}
