import { JsonFault, type JsonFaultKind, parseJson, pointerToken } from '../json/parse-json.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';

const MAX_DEPTH = 32;
/** Fields and items. Checking them takes far longer than reading them, and nobody else is served meanwhile. */
const MAX_VALUES = 50_000;

const TOO_MANY = `must not have more than ${MAX_VALUES} fields and items`;

const MESSAGES: Readonly<Record<JsonFaultKind, string>> = {
  encoding: 'must be UTF-8',
  syntax: 'must be JSON',
  depth: `must not be nested deeper than ${MAX_DEPTH} levels`,
  values: TOO_MANY,
  'duplicate-key': 'must be given once',
};

/**
 * Keys that reach a prototype when somebody merges objects carelessly, or that every object seems to have: what works
 * on objects later on (class-transformer among them) passes over some of these silently. No field has such a name.
 */
export function isPolluting(key: string): boolean {
  return key === 'prototype' || key in Object.prototype;
}

/**
 * Stands in for a body that could not be read. Its problem is thrown where the body is validated, so that a caller
 * without a key or grant is told that first.
 */
export class UnreadableBody {
  readonly problem: ProblemException;

  constructor(slug: ProblemSlug, errors?: readonly RequestFault[]) {
    this.problem = new ProblemException(slug, { errors });
  }
}

/** The JSON of a request body, strictly and without loss; undefined for an empty one. */
export function readRequestBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    const value = parseJson(bytes, { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES });
    const found = findFault(value, '', { left: MAX_VALUES });
    return found ? new UnreadableBody('validation-failed', [found]) : value;
  } catch (error) {
    if (error instanceof JsonFault) return invalid(error.pointer, MESSAGES[error.kind]);
    throw error;
  }
}

function invalid(pointer: string, detail: string): UnreadableBody {
  return new UnreadableBody('validation-failed', [{ pointer, detail }]);
}

/** The first thing that must not be in any body, depth first: a polluting key, or one value too many. */
function findFault(value: unknown, pointer: string, budget: { left: number }): RequestFault | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  // Entries would take many times the memory of the list itself.
  const keys = Array.isArray(value) ? undefined : Object.keys(value);
  const members: readonly unknown[] = keys ? Object.values(value) : (value as unknown[]);
  budget.left -= members.length;
  if (budget.left < 0) return { pointer: '', detail: TOO_MANY };
  for (let place = 0; place < members.length; place++) {
    const key = keys?.[place] ?? place;
    if (typeof key === 'string' && isPolluting(key))
      return { pointer: pointer + pointerToken(key), detail: 'is not a known field' };
    const member = members[place];
    if (typeof member !== 'object' || member === null) continue;
    const found = findFault(member, pointer + pointerToken(key), budget);
    if (found) return found;
  }
  return undefined;
}
