import type { Stops } from '../maintenance/state/maintenance.ts';
import type { Scope } from './scopes.ts';

/** An id, or a list of ids or of things. */
export interface ObjectField {
  readonly name: string;
  /** The field of each item that identifies it; undefined where the items are ids. */
  readonly of: string | undefined;
  /** Whether the field may be left out. It is then an empty list that changes nothing. */
  readonly isOptional: boolean;
}

/** Which callers may use an operation. `none`: any caller. `public` needs no caller; a route without a policy is refused to every caller. */
export interface OperationPolicy {
  readonly operationId: string;
  /** The fields of the request that tell which thing it is about, for the audit: from `@Names` of its classes, the outermost first. */
  readonly objects: readonly ObjectField[];
  readonly scope: Scope | 'none' | 'public';
  /**
   * What the interceptor does around the handler. `read`: cache and `ETag`; `write`: idempotency and invalidation; `stream`: neither, and no
   * problem after the first byte; `plain`: nothing.
   */
  readonly handling: 'read' | 'write' | 'stream' | 'plain';
  /** The further scopes that a request with this body needs. */
  readonly alsoScopes?: ((body: unknown) => readonly Scope[]) | undefined;
  /** Whether the platform is called on behalf of one of its users. */
  readonly actsAsUser?: boolean | undefined;
  /** What a maintenance has to stop so that this write is stopped before its handler; absent: it goes on, or looks by itself (orders). */
  readonly stoppedBy?: Stops | undefined;
  /** A write that has a dry run on a path of its own. */
  readonly hasDryRun?: boolean | undefined;
  /** The dry run of a write: the interceptor ends it where something would be sent, and answers what. */
  readonly isDryRun?: boolean | undefined;
  /** The response of a read may be cached for requests with the same rights and the same user. */
  readonly isCached?: boolean | undefined;
  /**
   * What prevents that a write runs twice: the caller's `Idempotency-Key` where it sends one (every POST), or always the number of the order.
   */
  readonly idempotency?: 'key' | 'order' | undefined;
  /**
   * A repeated request gets the result of the first one, also where the thing that it names is gone by now. The service has to look
   * for that result.
   */
  readonly answersRepeats?: boolean | undefined;
  /** Lookups of the ids that it names need a user of the platform, although the operation itself does not act as one. A request may name the user. */
  readonly looksUpAsUser?: boolean | undefined;
  /** A field of the response that a repeated request has as null: it is a secret, and is recorded nowhere else. */
  readonly shownOnce?: string | undefined;
  /** The media types of a response that is a stream; absent: the response is JSON. */
  readonly streams?: readonly string[] | undefined;
  /** The media types of a stream that a read gives in place of JSON where `Accept` asks for one. */
  readonly alsoStreams?: readonly string[] | undefined;
  /** The body is a file that the handler reads as it arrives. */
  readonly takesFile?: boolean | undefined;
  /** The URL of what the write made, for `Location`; undefined where it made nothing. */
  readonly locationOf?: ((result: unknown) => string | undefined) | undefined;
}

export const OPERATION_POLICY = 'operation-policy';
