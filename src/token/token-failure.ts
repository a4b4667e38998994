import type { LogFields, LoggedFailure } from '../problem/log-fields.ts';

/**
 * There is no token to call the platform with. `unavailable`: the endpoint did not answer in time, or not as a token endpoint;
 * `rejected`: it refused the credentials (RFC 6749 5.2). Nothing was sent to the platform's API.
 */
export class TokenFailure extends Error implements LoggedFailure {
  override readonly name = 'TokenFailure';
  readonly kind: 'unavailable' | 'rejected';
  /** The endpoint's `error` where it gave one, else a word of the gateway. Never a secret. */
  readonly reason: string;
  /** Seconds: from `Retry-After`, or until the gateway asks again. */
  readonly retryAfter: number | undefined;
  /** No principal can get a token: the endpoint could not be reached, or said so (429, 502 to 504). */
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
