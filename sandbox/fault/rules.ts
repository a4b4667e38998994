/** Fault rules: the fault, the calls that have it, and how often. */
import { contains } from '../json.ts';
import type { OperationName } from '../operations.ts';
import type { SeededRandom } from '../random.ts';

/** The effects on a response, which can be combined. README.md describes each. */
export interface FaultAction {
  readonly code?: unknown;
  readonly message?: string;
  readonly cause?: string;
  readonly data?: unknown;
  readonly codeAs?: 'string' | 'integer';
  readonly status?: number;
  readonly httpStatus?: number;
  readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  readonly delayMs?: number;
  readonly reset?: 'before-headers' | 'mid-body';
  readonly close?: 'before-headers' | 'mid-body';
  readonly truncate?: number;
  readonly framing?: 'length' | 'chunked' | 'close';
  readonly slow?: { readonly chunkBytes: number; readonly everyMs: number; readonly headers?: boolean };
  readonly html?: boolean;
  readonly raw?: {
    readonly text?: string;
    readonly base64?: string;
    readonly contentType?: string;
    readonly status?: number;
    readonly headers?: Readonly<Record<string, string | readonly string[]>>;
  };
  readonly wire?: { readonly text?: string; readonly base64?: string };
  readonly pad?: number;
  readonly hang?: boolean;
  readonly patch?: unknown;
  readonly numericIds?: boolean;
  readonly odd?: { readonly pointer?: string; readonly value?: unknown; readonly share?: number };
}

/** Narrows a rule to some calls of its operations. */
export interface FaultMatch {
  /** A part of the path. */
  readonly path?: string;
  /** A part that the body must contain (objects by member, arrays from their start). */
  readonly body?: unknown;
  /** The logged-in user of a member call, or of a password grant. */
  readonly username?: string;
}

export interface FaultSpec {
  readonly operation: string | readonly string[];
  readonly match?: FaultMatch;
  readonly times?: number;
  readonly skip?: number;
  readonly probability?: number;
  readonly phase?: 'before' | 'after';
  readonly action: FaultAction;
}

export interface FaultRule {
  readonly id: string;
  readonly spec: FaultSpec;
  readonly action: FaultAction;
  readonly phase: 'before' | 'after';
  /** The number of calls that the rule matched, including skipped ones. */
  matched: number;
  /** The number of calls that the rule spoiled. */
  hits: number;
}

/** A call as rules see it. `token` is the token endpoint. */
export interface FaultTarget {
  readonly operation: OperationName | 'token';
  readonly path: string;
  readonly body: unknown;
  readonly username: string | null;
}

export class FaultRules {
  readonly #random: SeededRandom;
  #rules: FaultRule[] = [];
  #lastId = 0;

  constructor(random: SeededRandom) {
    this.#random = random;
  }

  get random(): SeededRandom {
    return this.#random;
  }

  add(spec: FaultSpec): string {
    const id = `f${++this.#lastId}`;
    this.#rules.push({ id, spec, action: spec.action, phase: spec.phase ?? 'before', matched: 0, hits: 0 });
    return id;
  }

  list(): readonly FaultRule[] {
    return this.#rules;
  }

  remove(id: string): boolean {
    const kept = this.#rules.filter((rule) => rule.id !== id);
    const found = kept.length < this.#rules.length;
    this.#rules = kept;
    return found;
  }

  clear(): void {
    this.#rules = [];
  }

  /** Returns the first rule that applies to this call. If a rule skips the call, is used up or loses its draw, the next rule is tried. */
  pick(target: FaultTarget): FaultRule | null {
    if (this.#rules.length === 0) return null;
    for (const rule of this.#rules) {
      if (!applies(rule.spec, target)) continue;
      const { skip = 0, times = Infinity, probability = 1 } = rule.spec;
      if (rule.hits >= times) continue;
      rule.matched++;
      if (rule.matched <= skip) continue;
      if (probability < 1 && this.#random.next() >= probability) continue;
      rule.hits++;
      return rule;
    }
    return null;
  }
}

function applies({ operation, match }: FaultSpec, target: FaultTarget): boolean {
  const named =
    operation === '*'
      ? target.operation !== 'token'
      : operation === target.operation || (Array.isArray(operation) && operation.includes(target.operation));
  if (!named) return false;
  if (match === undefined) return true;
  return (
    (match.path === undefined || target.path.includes(match.path)) &&
    (match.body === undefined || contains(target.body, match.body)) &&
    (match.username === undefined || match.username === target.username)
  );
}

/**
 * True if the operation is really carried out. An action that replaces or cuts the response obeys `phase`. With one that only changes or
 * delays a true response, the operation is always carried out.
 */
export function carriesOut({ action, phase }: FaultRule): boolean {
  if (phase === 'after') return true;
  return !(
    'code' in action ||
    action.httpStatus !== undefined ||
    action.status !== undefined ||
    action.reset !== undefined ||
    action.close !== undefined ||
    action.truncate !== undefined ||
    action.html === true ||
    action.raw !== undefined ||
    action.wire !== undefined ||
    action.hang === true
  );
}
