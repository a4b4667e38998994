import type { ServerResponse } from 'node:http';
import { finished } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Inject, Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { edge } from '../shared/edge.ts';
import { toJob } from './dto/job.dto.ts';
import { isEnded, type JobRecord } from './store/job-record.ts';
import { JOB_STORE, type JobStore } from './store/job-store.ts';

const LOOK_MS = 500;
/** Shorter than the time after which a connection without traffic counts as stalled. */
const COMMENT_MS = 5_000;
/** Each watcher reads the store twice a second. */
const MAX_WATCHERS = 500;
const MAX_WATCHERS_OF_CALLER = 100;

/** Gives the progress of jobs as server-sent events (of the HTML standard). */
@Injectable()
export class JobWatch implements BeforeApplicationShutdown {
  readonly #shutdown = new AbortController();
  /** How many watchers each caller has. */
  readonly #watchers = new Map<string, number>();

  constructor(@Inject(JOB_STORE) private readonly store: JobStore) {}

  /** A client whose events end without `done` connects again, to another process. */
  beforeApplicationShutdown(): void {
    this.#shutdown.abort();
  }

  /** Counts a watch of the caller from now until its response has ended. */
  count(caller: string, response: ServerResponse): void {
    const all = this.#watchers.values().reduce((sum, count) => sum + count, 0);
    const own = this.#watchers.get(caller) ?? 0;
    if (all >= MAX_WATCHERS || own >= MAX_WATCHERS_OF_CALLER)
      throw new ProblemException('overloaded', { retryAfter: 1 });
    this.#watchers.set(caller, own + 1);
    const over = edge('end of a watch', () => {
      const left = (this.#watchers.get(caller) ?? 1) - 1;
      if (left > 0) this.#watchers.set(caller, left);
      else this.#watchers.delete(caller);
    });
    finished(response, over);
  }

  /** `seen`: the version that the client has had already. The events also end when the caller may not see the job any more. */
  async *events(job: JobRecord, seen: number, maySee: () => Promise<boolean>): AsyncGenerator<string> {
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
      if (!next || !(await maySee())) return;
      current = next;
    }
  }
}

function eventOf(name: 'progress' | 'done', job: JobRecord): string {
  return `id: ${job.version}\nevent: ${name}\ndata: ${JSON.stringify(toJob(job))}\n\n`;
}
