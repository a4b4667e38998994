import type { Grants } from '../request/call-context.ts';
import type { Caller } from '../request/caller.ts';
import type { Scope } from '../request/scopes.ts';

/** On whose behalf work goes on after its request, and the scope that it needs for as long as it goes on. */
export interface OnBehalf {
  readonly caller: string;
  readonly scope: Scope;
  /** The entry of the caller did not have the scope when the work began: a JWT gave it. Its end cannot be seen, so only the entry counts. */
  readonly byToken: boolean;
}

/** What a caller may do now. */
export interface Standing {
  readonly grants: Grants;
  /** What it could do until a moment (in ms since the epoch), where the callers file changed its rights then; without grants: nothing. */
  readonly former?: { readonly until: number; readonly grants: Grants | undefined } | undefined;
}

/**
 * What a caller may do with this scope at this moment; undefined: nothing. All that goes on after a request was authorised asks here, before each
 * step: deliveries, imports, streams.
 */
export function grantsWith(scope: Scope, caller: Caller | undefined, byToken = false): Grants | undefined {
  return caller && (byToken || caller.scopes.has(scope)) ? caller.grants : undefined;
}

export function hasSameRights(one: Caller | undefined, other: Caller | undefined): boolean {
  return textOf(one) === textOf(other);
}

function textOf(caller: Caller | undefined): string {
  if (!caller) return '';
  const { enterprises, channels, users } = caller.grants;
  return JSON.stringify([caller.scopes, enterprises, channels, users].map((set) => [...set].toSorted()));
}
