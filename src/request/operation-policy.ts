import type { Stops } from '../maintenance/state/maintenance.ts';
import type { Scope } from './scopes.ts';

/** A field with an id, or with a list of ids or of objects. */
export interface ObjectField {
  readonly name: string;
  /** The field of each item that identifies it. Undefined if the items are ids. */
  readonly of: string | undefined;
  /** True if the field may be left out. It is then an empty list that changes nothing. */
  readonly isOptional: boolean;
}

/**
 * The callers that may use an operation. `none` allows any caller. `public` needs no caller. A route without a policy is refused to every
 * caller.
 */
export interface OperationPolicy {
  readonly operationId: string;
  /** The fields of the request that identify its object, for the audit: from `@Names` of its classes, the outermost first. */
  readonly objects: readonly ObjectField[];
  readonly scope: Scope | 'none' | 'public';
  /**
   * The work of the interceptor around the handler. `read`: cache and `ETag`. `write`: idempotency and invalidation. `stream`: neither, and
   * no problem after the first byte. `plain`: nothing.
   */
  readonly handling: 'read' | 'write' | 'stream' | 'plain';
  /** Returns the further scopes that a request with this body needs. */
  readonly alsoScopes?: ((body: unknown) => readonly Scope[]) | undefined;
  /** True if the platform is called on behalf of one of its users. */
  readonly actsAsUser?: boolean | undefined;
  /**
   * The kind of maintenance that stops this write before its handler. If absent, the write goes on, or checks the maintenance itself
   * (orders).
   */
  readonly stoppedBy?: Stops | undefined;
  /** True for a write that has a dry run on a path of its own. */
  readonly hasDryRun?: boolean | undefined;
  /** True for the dry run of a write. The interceptor ends it where the write would send something, and answers with that. */
  readonly isDryRun?: boolean | undefined;
  /** True if the response of a read may be cached for requests with the same rights and the same user. */
  readonly isCached?: boolean | undefined;
  /**
   * The protection against running a write twice: the caller's `Idempotency-Key` if it sends one (every POST), or always the number of the
   * order.
   */
  readonly idempotency?: 'key' | 'order' | undefined;
  /**
   * True if a repeated request gets the result of the first one, even if its object is gone by now or cannot be looked up. The service has
   * to look for that result.
   */
  readonly answersRepeats?: boolean | undefined;
  /**
   * True if lookups of its ids need a user of the platform, although the operation itself does not act as one. A request may name the user.
   */
  readonly looksUpAsUser?: boolean | undefined;
  /** A field of the response that is null in the response to a repeated request. It is a secret, and is recorded nowhere else. */
  readonly shownOnce?: string | undefined;
  /** True if a response names enterprises that the path does not name. A repeat gets it only while all of them are granted. */
  readonly showsEnterprises?: boolean | undefined;
  /** The media types of a response that is a stream. Absent if the response is JSON. */
  readonly streams?: readonly string[] | undefined;
  /** The media types of a stream that a read gives in place of JSON where `Accept` asks for one. */
  readonly alsoStreams?: readonly string[] | undefined;
  /** The body is a file that the handler reads as it arrives. */
  readonly takesFile?: boolean | undefined;
  /** Returns true if the response says that no part of the write was or may have been carried out. Absent: a response means that one was. */
  readonly changedNothing?: ((result: unknown) => boolean) | undefined;
  /** Returns the URL of the object that the write made, for `Location`. Undefined if it made none. */
  readonly locationOf?: ((result: unknown) => string | undefined) | undefined;
}

export const OPERATION_POLICY = 'operation-policy';
