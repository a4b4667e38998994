import { z } from 'zod';
import type { LogFields, LoggedFailure } from '../problem/problem.exception.ts';

/**
 * There is no token to call the platform with. `unavailable`: the endpoint did not respond in time, or not as a token endpoint;
 * `rejected`: it refused the credentials (RFC 6749 5.2). Nothing was sent to the platform's API.
 */
export class TokenFailure extends Error implements LoggedFailure {
  override readonly name = 'TokenFailure';
  /** In seconds: from `Retry-After`, or until the gateway asks again. */
  readonly retryAfter: number | undefined;
  /** No principal can get a token: the endpoint could not be reached, or said so (429, 502 to 504). */
  readonly ofEndpoint: boolean;
  /** The platform's own code, where the endpoint gave one. */
  readonly code: string | undefined;

  constructor(
    readonly kind: 'unavailable' | 'rejected',
    /** The endpoint's `error` where it gave one, else a word of the gateway. Never a secret. */
    readonly reason: string,
    details: {
      retryAfter?: number | undefined;
      ofEndpoint?: boolean;
      code?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(`token ${kind}: ${reason}`, { cause: details.cause });
    this.retryAfter = details.retryAfter;
    this.ofEndpoint = details.ofEndpoint ?? false;
    this.code = details.code;
  }

  get logFields(): LogFields {
    return { tokenFailure: this.kind, tokenReason: this.reason, tokenCode: this.code };
  }
}

/** The record of failed token requests. Times are in ms, by the clock of the store. */
export const recordSchema = z.object({
  kind: z.enum(['unavailable', 'rejected']),
  reason: z.string().regex(/^[a-z_]{1,40}$/),
  /** Whether the endpoint failed for every principal, not for one only. */
  ofEndpoint: z.boolean(),
  /** Failures of this kind in a row, without those that named a wait. */
  count: z.int().min(0),
  /** The times within the last hour when the endpoint refused the credentials. */
  refusedAt: z.array(z.number()).max(3),
});

export type FailureRecord = Readonly<z.output<typeof recordSchema>>;

const HOUR_MS = 3_600_000;
const MAX_TRIES_AN_HOUR = 3;
const MAX_UNAVAILABLE_MS = 60_000;
/** Each further try waits longer, so that a wrong password does not lock the account on the platform. */
const REJECTED_MS = [60_000, 900_000] as const;

/**
 * The record after one more failure, and how long the gateway does not ask again: 1, 2, 4 … 60 s where there was no usable response
 * (a `Retry-After` wins), 60 s to 15 min and at most three times an hour where the credentials were refused.
 */
export function afterFailure(
  before: FailureRecord | undefined,
  failure: TokenFailure,
  now: number,
  random = Math.random,
): { record: FailureRecord; holdMs: number } {
  const { kind, reason, ofEndpoint } = failure;
  // A wait that the endpoint names is no step of the backoff.
  const count = (before?.kind === kind ? before.count : 0) + (failure.retryAfter ? 0 : 1);
  const recent = (before?.refusedAt ?? []).filter((at) => at > now - HOUR_MS);
  const refusedAt = kind === 'rejected' ? [...recent, now].slice(-MAX_TRIES_AN_HOUR) : recent;
  const record = { kind, reason, ofEndpoint, count, refusedAt };
  const jitter = 1 + random() / 10;
  if (kind === 'unavailable') {
    const backoffMs = Math.min(1_000 * 2 ** (count - 1), MAX_UNAVAILABLE_MS);
    const holdMs = failure.retryAfter ? failure.retryAfter * 1_000 : backoffMs * jitter;
    return { record, holdMs: Math.round(holdMs) };
  }
  const backoffMs = (REJECTED_MS[Math.min(count, REJECTED_MS.length) - 1] as number) * jitter;
  const [first = now] = refusedAt;
  const restOfHourMs = refusedAt.length < MAX_TRIES_AN_HOUR ? 0 : first + HOUR_MS - now + 1;
  return { record, holdMs: Math.round(Math.max(backoffMs, restOfHourMs)) };
}

/** How long the record is kept. After its hold it still has the number of failures, and what was refused in this hour. */
export function keptMs({ kind, refusedAt }: FailureRecord, holdMs: number): number {
  const countedMs = kind === 'rejected' ? holdMs : holdMs + 5 * 60_000;
  return refusedAt.length > 0 ? Math.max(HOUR_MS, countedMs) : countedMs;
}
