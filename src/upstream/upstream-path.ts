import { ProblemException } from '../problem/problem.exception.ts';
import type { LastAnswer } from './classify.ts';
import { modulePrefix, type UpstreamOperation } from './operations.ts';

/** The form of an id in a path of the platform: no dot, slash, percent or other character that needs encoding. */
export const PATH_ID = /^[A-Za-z0-9_-]{1,64}$/;

export interface UpstreamRequest {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  /** The body as JSON, where the calling code has made it already. */
  readonly bodyText?: string;
  /** For orders only: only their connections support it. */
  readonly once?: SendOnce;
  /** For reads with the same path, query and user, and the same way to read the answer. */
  readonly last?: LastAnswer;
}

/** For a call that must not be sent twice. */
export interface SendOnce {
  /**
   * Called on a connected socket, right before the first byte, for every attempt. Where it rejects, nothing is sent, and the call
   * fails with that error. Resolves with the `performance.now()` at which sending was allowed at the latest: the request is sent within
   * 100 ms of it, or not at all.
   */
  confirm(): Promise<number>;
  /**
   * Receives the outcome of the call after its deadline: the decoded data, or the error. Called at most once, and only if the call
   * itself ended with a `timeout` after bytes were sent. Must not throw.
   */
  late(outcome: LateOutcome): void;
}

export type LateOutcome = { readonly data: unknown } | { readonly failure: unknown };

/** An operation's path: fixed `parts` around the `names` of its ids. */
interface Template {
  readonly parts: readonly string[];
  readonly names: readonly string[];
  /** The pattern that every path built from it matches. */
  readonly shape: RegExp;
}

const templates = new WeakMap<UpstreamOperation, Template>();

/**
 * The path and query of a call, below the base URL. Throws where an id is missing, or where the built path is not the operation's
 * own: `encodeURIComponent('..')` is `..`, so encoding alone would let an id reach another operation. An id with another form is from
 * the platform or from a body (the gateway validates the ids in its own paths), so it is a problem of the data, not of the gateway.
 */
export function upstreamPath(
  operation: UpstreamOperation,
  { ids = {}, query = {} }: UpstreamRequest,
): string {
  const { parts, names, shape } = templateOf(operation);
  let path = parts[0] ?? '';
  for (const [index, name] of names.entries()) {
    const id = Object.hasOwn(ids, name) ? ids[name] : undefined;
    if (id === undefined) throw new Error(`${operation.name}: path id ${name} is missing`);
    if (!PATH_ID.test(id))
      throw new ProblemException('upstream-contract-violation', {
        outcome: 'not_processed',
        detail: `The platform cannot be asked about this ${name}: it must be 1 to 64 of A-Z a-z 0-9 _ -`,
      });
    path += id + (parts[index + 1] ?? '');
  }
  if (!shape.test(path)) throw new Error(`${operation.name}: the built path left its template`);
  path += '?';
  let separator = '';
  for (const name of Object.keys(query)) {
    const value = query[name];
    if (value === undefined) continue;
    path += `${separator}${encoded(name)}=${encoded(value)}`;
    separator = '&';
  }
  return path;
}

function templateOf(operation: UpstreamOperation): Template {
  const known = templates.get(operation);
  if (known) return known;
  const parts = (modulePrefix[operation.module] + operation.path).split(/\{(\w+)\}/);
  const fixed = parts.filter((_, index) => index % 2 === 0);
  const made = {
    parts: fixed,
    names: parts.filter((_, index) => index % 2 === 1),
    // No dot, slash or percent between them, so no server on the way can resolve the path to another one.
    shape: new RegExp(`^${fixed.map((part) => RegExp.escape(part)).join('[A-Za-z0-9_-]{1,64}')}$`),
  };
  templates.set(operation, made);
  return made;
}

function encoded(text: string): string {
  return /^[\w.-]*$/.test(text) ? text : new URLSearchParams([['', text]]).toString().slice(1);
}
