import { expect, it } from '@jest/globals';
import { IdleJobs } from './idle-jobs.ts';

const queued = { jobId: 'queued', state: 'queued', changedAt: 1_000 } as const;
const running = { ...queued, jobId: 'running', state: 'running' } as const;

it('an import stands still from its last change on, and one that waits for its turn from the first free place on', () => {
  const idle = new IdleJobs();
  idle.see(2_000, false, false);
  expect([idle.since(queued), idle.since(running)]).toEqual([1_000, 1_000]);
  idle.see(3_000, false, true);
  idle.see(4_000, false, true);
  idle.see(5_000, false, false);
  expect([idle.since(queued), idle.since(running)]).toEqual([4_000, 1_000]);
});

it('no import stands still in a maintenance, and from its end on each of them has its full time', () => {
  const idle = new IdleJobs();
  for (const now of [2_000, 3_000]) idle.see(now, true, false);
  idle.see(4_000, false, false);
  const later = { ...running, changedAt: 3_500 };
  expect([queued, running, later].map((job) => idle.since(job))).toEqual([3_000, 3_000, 3_500]);
});
