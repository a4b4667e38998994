import * as z from 'zod';
import type { LogFields, LoggedFailure } from '../problem/problem.exception.ts';

/** The reason of a failure because the endpoint refused the application's secret. */
export const SECRET_REFUSED = 'invalid_client';

/**
 * The failure to get a token for a call to the platform. `unavailable`: the endpoint did not respond in time, or not as a token endpoint.
 * `rejected`: it refused the credentials (RFC 6749 5.2). Nothing was sent to the platform's API.
 */
export class TokenFailure extends Error implements LoggedFailure {
  override readonly name = 'TokenFailure';
  /** The seconds from `Retry-After`, or until the gateway calls the endpoint again. */
  readonly retryAfter: number | undefined;
  /**
   * True if no principal can get a token: the endpoint could not be reached, or its status said so (502 to 504, or 429 to a request of the
   * application).
   */
  readonly ofEndpoint: boolean;
  /** True if the endpoint may have refused a password, in words that the gateway does not know. */
  readonly ofPassword: boolean;
  /** The platform's own code, if the endpoint sent one. */
  readonly code: string | undefined;

  constructor(
    readonly kind: 'unavailable' | 'rejected',
    /** The endpoint's `error` if it sent one, or else a word of the gateway. It is never a secret. */
    readonly reason: string,
    details: {
      retryAfter?: number | undefined;
      ofEndpoint?: boolean;
      ofPassword?: boolean;
      code?: string | undefined;
      cause?: unknown;
    } = {},
  ) {
    super(`token ${kind}: ${reason}`, { cause: details.cause });
    this.retryAfter = details.retryAfter;
    this.ofEndpoint = details.ofEndpoint ?? false;
    this.ofPassword = details.ofPassword ?? false;
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
  /** True if the endpoint failed for every principal, not for one only. */
  ofEndpoint: z.boolean(),
  /** The number of failures of this kind in a row, without those that named a wait. */
  count: z.int().min(0),
  /** The times within the last hour when the endpoint refused the credentials, or may have refused a password. */
  refusedAt: z.array(z.number()).max(3),
});

export type FailureRecord = Readonly<z.output<typeof recordSchema>>;

const HOUR_MS = 3_600_000;
const MAX_TRIES_AN_HOUR = 3;
const MAX_UNAVAILABLE_MS = 60_000;
/** The waits after the refusals within an hour. Each further try waits longer, so that a wrong password does not lock the account on the platform. */
const REJECTED_MS = [60_000, 900_000] as const;

/**
 * Returns the record after one more failure, and the time for which the gateway does not call the endpoint again. After an unusable
 * response it is 1, 2, 4 … 60 s (a `Retry-After` wins). After refused credentials, and after a password that may have been refused, it is
 * 60 s to 15 min, with at most three requests an hour.
 */
export function afterFailure(
  before: FailureRecord | undefined,
  failure: TokenFailure,
  now: number,
  random = Math.random,
): { record: FailureRecord; holdMs: number } {
  const { kind, reason, ofEndpoint } = failure;
  const isRefusal = kind === 'rejected' || failure.ofPassword;
  // A wait that the endpoint names is no step of the backoff.
  const count = (before?.kind === kind ? before.count : 0) + (failure.retryAfter ? 0 : 1);
  const recent = (before?.refusedAt ?? []).filter((at) => at > now - HOUR_MS);
  const refusedAt = isRefusal ? [...recent, now].slice(-MAX_TRIES_AN_HOUR) : recent;
  const record = { kind, reason, ofEndpoint, count, refusedAt };
  const jitter = 1 + random() / 10;
  const namedMs = (failure.retryAfter ?? 0) * 1_000;
  if (!isRefusal) {
    const backoffMs = Math.min(1_000 * 2 ** (count - 1), MAX_UNAVAILABLE_MS);
    return { record, holdMs: Math.round(namedMs || backoffMs * jitter) };
  }
  const backoffMs = (REJECTED_MS[Math.min(refusedAt.length, REJECTED_MS.length) - 1] as number) * jitter;
  const [first = now] = refusedAt;
  const restOfHourMs = refusedAt.length < MAX_TRIES_AN_HOUR ? 0 : first + HOUR_MS - now + 1;
  return { record, holdMs: Math.round(Math.max(namedMs, backoffMs, restOfHourMs)) };
}

/** Returns the time for which the record is kept. After its hold it still has the number of failures, and the refusals of this hour. */
export function keptMs({ kind, refusedAt }: FailureRecord, holdMs: number): number {
  const countedMs = kind === 'rejected' ? holdMs : holdMs + 5 * 60_000;
  return refusedAt.length > 0 ? Math.max(HOUR_MS, countedMs) : countedMs;
}
