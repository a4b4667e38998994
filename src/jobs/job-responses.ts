import type { FastifyReply } from 'fastify';

/** The URL of the job of a response; undefined for a plan. */
export function jobLocation(result: unknown): string | undefined {
  const { jobId } = result as { jobId?: string };
  return jobId === undefined ? undefined : `/v1/jobs/${jobId}`;
}

/** Aborted when the client hangs up before the end of its stream. */
export function abandoned({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  raw.once('close', () => {
    if (!raw.writableFinished) controller.abort();
  });
  return controller.signal;
}
