import { hash } from 'node:crypto';
import { ProblemException } from '../problem/problem.exception.ts';
import type { Grants } from '../request/call-context.ts';
import type { Caller } from '../request/caller.ts';
import type { Scope } from '../request/scopes.ts';

/** The caller on whose behalf work goes on after its request, and the scope that the work needs for as long as it goes on. */
export interface OnBehalf {
  readonly caller: string;
  readonly scope: Scope;
  /**
   * True if the caller's entry did not have the scope when the work began, and a JWT granted it. The gateway cannot see when that grant
   * ends, so only the existence of the entry counts.
   */
  readonly byToken: boolean;
}

/** The present rights of a caller. */
export interface Standing {
  readonly grants: Grants;
  /**
   * The rights of the caller until a moment (in ms since the epoch) at which the callers file changed them. Without grants the caller had
   * none.
   */
  readonly former?: { readonly until: number; readonly grants: Grants | undefined } | undefined;
}

/**
 * Returns the present rights of a caller with this scope. Undefined if it has none. All work that goes on after its request was authorised
 * calls this before each step: deliveries, imports, streams.
 */
export function grantsWith(scope: Scope, caller: Caller | undefined, byToken = false): Grants | undefined {
  return caller && (byToken || caller.scopes.has(scope)) ? caller.grants : undefined;
}

/**
 * Returns the problem of work that goes on after its request, and lacks a right on this replica. `hasRead`: whether the replica has read the
 * file with the rights since the work was accepted. If it has not, the replica that accepted the work may have read the file earlier, so the
 * right may still arrive, and the work is tried again.
 */
export function missingRight(detail: string, hasRead: boolean): ProblemException {
  if (hasRead) return new ProblemException('forbidden', { detail });
  return new ProblemException('overloaded', {
    detail: `This replica has not read its callers and users files again since the work was accepted. By the files that it has read: ${detail}`,
  });
}

export function hasSameRights(one: Caller | undefined, other: Caller | undefined): boolean {
  return textOf(one) === textOf(other);
}

/** Returns a hash that differs for different rights. */
export function hashOfRights(caller: Caller | undefined): string {
  return hash('sha256', textOf(caller), 'base64url').slice(0, 22);
}

function textOf(caller: Caller | undefined): string {
  if (!caller) return '';
  const { enterprises, channels, users } = caller.grants;
  return JSON.stringify([caller.scopes, enterprises, channels, users].map((set) => [...set].toSorted()));
}
