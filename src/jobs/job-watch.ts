import { Injectable } from '@nestjs/common';
import { eventText, Watchers } from '../operation/watchers.ts';
import { toJob } from './dto/job.dto.ts';
import { isEnded, type JobRecord } from './store/job-record.ts';
import { JobStore } from './store/job-store.ts';

/** A quiet stream gets a comment before the connection would count as stalled. */
const PACE = { pauseMs: 500, quietMs: 5_000, comment: () => ': no change\n\n' };

/** Sends the progress of jobs as server-sent events. */
@Injectable()
export class JobWatch {
  constructor(
    private readonly store: JobStore,
    private readonly watchers: Watchers,
  ) {}

  /**
   * Streams the changes of a job. `seen` is the version that the client has already. The stream also ends when the caller may not see the
   * job any more.
   */
  events(job: JobRecord, seen: number, maySee: () => Promise<boolean>): AsyncGenerator<string> {
    let current = job;
    let known = seen;
    return this.watchers.follow(async () => {
      // While the store is away, the client keeps the last version that it got.
      const found = await this.store.read(job.definition.jobId).catch(() => current);
      if (!found || !(await maySee())) return { next: 'end' };
      current = found;
      if (isEnded(found.state)) return { texts: [eventOf('done', found)], next: 'end' };
      if (found.version <= known) return {};
      known = found.version;
      return { texts: [eventOf('progress', found)] };
    }, PACE);
  }
}

function eventOf(name: 'progress' | 'done', job: JobRecord): string {
  return eventText(job.version, name, toJob(job));
}
