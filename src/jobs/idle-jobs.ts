import type { UnfinishedJob } from './store/stored-job.ts';

/** Tells since when imports make no progress that they could make. Times are in ms since the epoch. */
export class IdleJobs {
  #stoppedAt = 0;
  #fullAt = 0;

  /** Notes whether a maintenance stops imports at this time, and whether this process has as many imports as it may have. */
  see(now: number, isStopped: boolean, isFull: boolean): void {
    if (isStopped) this.#stoppedAt = now;
    if (isFull) this.#fullAt = now;
  }

  /** A wait for the end of a maintenance, or of other imports before this one has begun, is no failure. */
  since({ changedAt, state }: UnfinishedJob): number {
    return Math.max(changedAt, this.#stoppedAt, state === 'queued' ? this.#fullAt : 0);
  }
}
