import { setTimeout as sleep } from 'node:timers/promises';
import { Injectable } from '@nestjs/common';
import { Watchers } from '../operation/watchers.ts';
import { toJob } from './dto/job.dto.ts';
import { isEnded, type JobRecord } from './store/job-record.ts';
import { JobStore } from './store/job-store.ts';

const LOOK_MS = 500;
/** Shorter than the time after which a connection without traffic counts as stalled. */
const COMMENT_MS = 5_000;

/** Gives the progress of jobs as server-sent events (of the HTML standard). */
@Injectable()
export class JobWatch {
  constructor(
    private readonly store: JobStore,
    private readonly watchers: Watchers,
  ) {}

  /** `seen`: the version that the client has had already. The events also end when the caller may not see the job any more. */
  async *events(job: JobRecord, seen: number, maySee: () => Promise<boolean>): AsyncGenerator<string> {
    const { over } = this.watchers;
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
