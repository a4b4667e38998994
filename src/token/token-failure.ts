import type { LogFields, LoggedFailure } from '../problem/log-fields.ts';

/**
 * No token to call upstream with. `unavailable`: the endpoint did not answer as one, or not in time;
 * `rejected`: it refused the credentials themselves (RFC 6749 5.2). Nothing was sent to the platform's API.
 */
export class TokenFailure extends Error implements LoggedFailure {
  override readonly name = 'TokenFailure';
  readonly kind: 'unavailable' | 'rejected';
  /** The endpoint's `error` where it gave one, else a word of ours. Never a secret. */
  readonly reason: string;
  /** Seconds: from `Retry-After`, or until somebody asks again. */
  readonly retryAfter: number | undefined;
  /** Nobody can get a token: it could not be reached, or said so (429, 502 to 504). */
  readonly ofEndpoint: boolean;

  constructor(
    kind: TokenFailure['kind'],
    reason: string,
    details: { retryAfter?: number | undefined; ofEndpoint?: boolean; cause?: unknown } = {},
  ) {
    super(`token ${kind}: ${reason}`, { cause: details.cause });
    this.kind = kind;
    this.reason = reason;
    this.retryAfter = details.retryAfter;
    this.ofEndpoint = details.ofEndpoint ?? false;
  }

  get logFields(): LogFields {
    return { tokenFailure: this.kind, tokenReason: this.reason };
  }
}
