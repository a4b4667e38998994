import { modulePrefix, type Operation } from './operations.ts';

/** What an id must look like before it becomes part of a path upstream: no dot, slash, percent or anything to encode. */
export const PATH_ID = /^[A-Za-z0-9_-]{1,64}$/;

export interface UpstreamRequest {
  readonly ids?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string | undefined>>;
  readonly body?: object;
  /** For orders only: their connections are made for it. */
  readonly once?: SendOnce;
}

/** For a call that must not be sent twice. */
export interface SendOnce {
  /**
   * Asked on a connected socket, right before the first byte, for every attempt. Rejects where it must not be sent: then nothing
   * is, and the call fails with that error. What it allows has to go out within 100 ms, or it is not sent either.
   */
  confirm(): Promise<void>;
  /**
   * What became of the call after its deadline had passed: the decoded data, or what it would have thrown. Called at most once,
   * and only if the call itself ended with a `timeout` after bytes were sent. Must not throw.
   */
  late(outcome: LateOutcome): void;
}

export type LateOutcome = { readonly data: unknown } | { readonly failure: unknown };

/**
 * The path and query of a call, below the base URL. Throws where an id is missing or unfit, or where the built path is
 * not the operation's own: `encodeURIComponent('..')` is `..`, so encoding alone would let an id reach another operation.
 */
export function upstreamPath(operation: Operation, { ids = {}, query = {} }: UpstreamRequest): string {
  const template = modulePrefix[operation.module] + operation.path;
  const path = template.replace(/\{(\w+)\}/g, (_, name: string) => {
    const id = Object.hasOwn(ids, name) ? ids[name] : undefined;
    if (id === undefined || !PATH_ID.test(id))
      throw new Error(`${operation.name}: path id ${name} is not usable`);
    return id;
  });
  if (!matchesTemplate(path, template))
    throw new Error(`${operation.name}: the built path left its template`);
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
  return `${path}?${search}`;
}

function matchesTemplate(path: string, template: string): boolean {
  // Parsed as any client or proxy on the way would parse it: dot segments must have nothing to resolve.
  const parsed = new URL(path, 'http://template.invalid').pathname.split('/');
  const wanted = template.split('/');
  return (
    parsed.length === wanted.length &&
    wanted.every(
      (segment, index) =>
        segment === parsed[index] || (segment.startsWith('{') && PATH_ID.test(parsed[index] ?? '')),
    )
  );
}
