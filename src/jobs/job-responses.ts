/** The URL of the job of a response; undefined for a plan. */
export function jobLocation(result: unknown): string | undefined {
  const { jobId } = result as { jobId?: string };
  return jobId === undefined ? undefined : `/v1/jobs/${jobId}`;
}
