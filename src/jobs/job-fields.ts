import type { RedisCommander } from 'ioredis';
import type { ProblemBody } from '../problem/problem.exception.ts';
import { countsFrom, type JobDefinition, type JobRecord, type JobState } from './job-record.ts';

/* A job as its hash in Redis has it. */

const FIELDS = [
  ...['definition', 'state', 'total', 'createdAt', 'startedAt', 'finishedAt', 'problem', 'version'],
  ...['prepared', 'chunks', 'cancelled', 'changedAt'],
  ...['added', 'updated', 'unchanged', 'deleted', 'failed', 'unknown'],
] as const;
type Field = (typeof FIELDS)[number];
export type JobFields = Record<Field, string | null>;

export async function fieldsOf(client: RedisCommander, key: string): Promise<JobFields> {
  const values = await client.hmget(key, ...FIELDS);
  return Object.fromEntries(FIELDS.map((field, index) => [field, values[index] ?? null])) as JobFields;
}

/** The definition and the problem are sealed in the hash. */
export function recordOf(
  definition: JobDefinition,
  fields: JobFields,
  problem: string | null | undefined,
): JobRecord {
  const { added, updated, unchanged, deleted, failed, unknown } = fields;
  const time = (value: string | null) => (value === null ? null : Number(value));
  return {
    definition,
    state: fields.state as JobState,
    total: Number(fields.total),
    counts: countsFrom([added, updated, unchanged, deleted, failed, unknown].map(Number)),
    createdAt: Number(fields.createdAt),
    startedAt: time(fields.startedAt),
    finishedAt: time(fields.finishedAt),
    problem: problem ? (JSON.parse(problem) as ProblemBody) : null,
    version: Number(fields.version),
    prepared: fields.prepared !== null,
    chunks: Number(fields.chunks),
    isCancelled: fields.cancelled !== null,
  };
}
