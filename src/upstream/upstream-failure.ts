import type { CodeWord } from '../config/taught-codes.ts';
import type { LogFields, LoggedFailure } from '../problem/problem.exception.ts';
import type { UpstreamOperation } from './operations.ts';

export type FailureKind =
  /** The platform answered with an envelope and a business code other than 0. */
  | 'refused'
  /**
   * The response is HTTP 401 or 403 without a code that refuses credentials. It does not prove that a write was refused, because it may come
   * from a firewall or a portal in between.
   */
  | 'unauthorized'
  /** The platform answered HTTP 429 or 5xx. */
  | 'unavailable'
  /** No connection was made, so no byte left. */
  | 'unreachable'
  | 'connect-timeout'
  /** The process was busy for too long between the confirmation and the send, so nothing was sent. */
  | 'delayed'
  | 'timeout'
  /** The connection ended before the response was whole. */
  | 'lost'
  /** The response is not the JSON of an envelope, or larger or deeper than accepted. */
  | 'unreadable'
  /** The call was not tried: calls of its group fail or pile up, or the platform asked for a pause of `retryAfter`. */
  | 'circuit-open'
  /** The caller of a read hung up, and the attempt was ended. */
  | 'abandoned'
  /** The envelope says something that the interface does not allow. */
  | 'nonconforming'
  /** The platform carried out the call, but its response lacks the result of some parts. */
  | 'incomplete';

export interface FailureDetails {
  /** HTTP status, if there is a response. */
  readonly status?: number;
  /** The business code of `refused`, or the code of an `unauthorized` envelope. */
  readonly code?: string;
  /** The meaning of the code that the platform's profile teaches. */
  readonly taught?: CodeWord | undefined;
  /** The platform's texts, cleaned and masked: `message` for people, `reason` (its `cause`) for the log only. */
  readonly message?: string;
  readonly reason?: string;
  /** Size and hash of a body that could not be read, for the log only. */
  readonly body?: { readonly bytes: number; readonly sha256: string };
  /** The kind of user whose token the call had in addition to the application's. */
  readonly actingAs?: 'alias' | 'session';
  /** The seconds of `Retry-After`. */
  readonly retryAfter?: number;
  /** True if the call was not tried, because the platform wants no calls of this operation for `retryAfter`. */
  readonly isPaused?: boolean;
  /** The decoded results of `incomplete` that match the request. */
  readonly matched?: readonly unknown[];
  readonly cause?: unknown;
}

/** The platform's data does not have the shape of its interface. The error names the location, never the value. */
export class ContractViolation extends Error {
  override readonly name = 'ContractViolation';

  constructor(
    readonly location: string,
    expected: string,
  ) {
    super(`${location} is not ${expected}`);
  }
}

/** The tree is too large, so the gateway reads nothing of the response. */
export class UnreadableTree extends ContractViolation {}

/** The platform carried out the call, but its response lacks the result of some parts. `matched` has the other results, decoded. */
export class IncompleteResponse extends ContractViolation {
  constructor(
    location: string,
    expected: string,
    readonly matched: readonly unknown[],
  ) {
    super(location, expected);
  }
}

/** A call that did not succeed. `sent` is false only when provably no byte of it left the process. */
export class UpstreamFailure extends Error implements LoggedFailure {
  override readonly name = 'UpstreamFailure';

  constructor(
    readonly operation: UpstreamOperation,
    readonly kind: FailureKind,
    readonly sent: boolean,
    readonly details: FailureDetails = {},
  ) {
    super(`${operation.name}: ${kind}${details.code === undefined ? '' : ` ${details.code}`}`, {
      cause: details.cause,
    });
  }

  get logFields(): LogFields {
    const { status, code, taught, message, reason, body, cause } = this.details;
    return {
      upstreamOperation: this.operation.name,
      upstreamFailure: this.kind,
      sent: this.sent,
      upstreamStatus: status,
      upstreamCode: code,
      upstreamCodeMeans: taught,
      upstreamMessage: message,
      upstreamReason: reason,
      upstreamBytes: body?.bytes,
      upstreamSha256: body?.sha256,
      contractViolation: cause instanceof ContractViolation ? cause.message : undefined,
      error: (cause as { code?: string } | undefined)?.code,
    };
  }
}
