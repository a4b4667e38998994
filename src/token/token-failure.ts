/**
 * No token to call upstream with. `unavailable`: the endpoint did not answer as one, or not in time;
 * `rejected`: it refused the credentials themselves (RFC 6749 5.2). Nothing was sent to the platform's API.
 */
export class TokenFailure extends Error {
  override readonly name = 'TokenFailure';

  constructor(
    readonly kind: 'unavailable' | 'rejected',
    /** The endpoint's `error` where it gave one, else a word of ours. Never a secret. */
    readonly reason: string,
    /** Seconds, from `Retry-After`. */
    readonly retryAfter?: number,
    cause?: unknown,
  ) {
    super(`token ${kind}: ${reason}`, { cause });
  }
}
