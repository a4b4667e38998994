import type { LogFields, LoggedFailure } from '../problem/problem.exception.ts';
import type { UpstreamOperation } from './operations.ts';
import { ContractViolation } from './wire/contract-notes.ts';

/**
 * Why a call to the platform did not succeed:
 * - `refused`: an envelope with a business code other than 0
 * - `unauthorized`: HTTP 401 or 403 without an envelope. It does not prove that a write was refused: only a code in an envelope does
 * - `unavailable`: HTTP 429 or 5xx
 * - `unreachable`: no connection, so no byte left; `connect-timeout`: no connection in time
 * - `delayed`: the process was busy for too long between the confirmation and the send, so nothing was sent
 * - `timeout`: the deadline passed
 * - `lost`: the connection ended before the answer was whole
 * - `unreadable`: the answer is not the JSON of an envelope, or larger or deeper than accepted
 * - `circuit-open`: not tried, because calls of its group fail or pile up, or the platform asked for a pause; `retryAfter` says for how long
 * - `abandoned`: the caller of a read hung up, and the attempt was ended
 * - `nonconforming`: the interface does not allow what the envelope says
 * - `incomplete`: the platform carried out the call, but its answer lacks the result of some parts
 */
export type FailureKind =
  | 'refused'
  | 'unauthorized'
  | 'unavailable'
  | 'unreachable'
  | 'connect-timeout'
  | 'delayed'
  | 'timeout'
  | 'lost'
  | 'unreadable'
  | 'circuit-open'
  | 'abandoned'
  | 'nonconforming'
  | 'incomplete';

export interface FailureDetails {
  /** HTTP status, where the platform answered. */
  readonly status?: number;
  /** Business code, for `refused`. */
  readonly code?: string;
  /** The platform's texts, cleaned and masked: `message` for people, `reason` (its `cause`) for the log only. */
  readonly message?: string;
  readonly reason?: string;
  /** Size and hash of a body that could not be read, for the log only. */
  readonly body?: { readonly bytes: number; readonly sha256: string };
  /** The kind of user whose token the call had besides the application's. */
  readonly actingAs?: 'alias' | 'session';
  /** Seconds, from `Retry-After`. */
  readonly retryAfter?: number;
  /** For `incomplete`: the results that match the request, decoded. */
  readonly matched?: readonly unknown[];
  /** The error in the gateway or on the wire that caused this. */
  readonly cause?: unknown;
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
    const { status, code, message, reason, body, cause } = this.details;
    return {
      upstreamOperation: this.operation.name,
      upstreamFailure: this.kind,
      sent: this.sent,
      upstreamStatus: status,
      upstreamCode: code,
      upstreamMessage: message,
      upstreamReason: reason,
      upstreamBytes: body?.bytes,
      upstreamSha256: body?.sha256,
      contractViolation: cause instanceof ContractViolation ? cause.message : undefined,
      error: (cause as { code?: string } | undefined)?.code,
    };
  }
}
