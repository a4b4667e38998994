import { JsonFault, type JsonFaultKind, parseJson } from '../shared/json.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { syntaxFault } from '../shared/json-syntax.ts';
import { isPolluting } from './rules.ts';

const MAX_DEPTH = 32;
/** The limit of fields and items. Checking them takes far longer than reading them, and blocks all other requests during that time. */
const MAX_VALUES = 50_000;

/** The limit of fields of one object, which is far more than any documented object has. */
const MAX_KEYS = 1_000;

const LIMITS = { maxDepth: MAX_DEPTH, maxValues: MAX_VALUES, maxKeys: MAX_KEYS, refuses: isPolluting };

const MESSAGES: Readonly<Record<JsonFaultKind, string>> = {
  encoding: 'must be UTF-8, and is not (it may be Latin-1 or Windows-1252)',
  syntax: 'must be JSON',
  depth: `must not be nested deeper than ${MAX_DEPTH} levels`,
  values: `must not have more than ${MAX_VALUES} fields and items`,
  keys: `must not have more than ${MAX_KEYS} fields in one object`,
  'duplicate-key': 'must be given once',
  'refused-key': 'is not a known field',
};

/**
 * Replaces a body that could not be read. Its problem is thrown when the body is validated, so that a caller without a key or grant gets
 * 401 or 403 first.
 */
export class UnreadableBody {
  readonly problem: ProblemException;

  constructor(slug: ProblemSlug, errors?: readonly RequestFault[]) {
    this.problem = new ProblemException(slug, { errors });
  }
}

/** Reads the JSON of a request body, strictly and without loss. Returns undefined for an empty body. */
export function readRequestBody(bytes: Buffer): unknown {
  if (bytes.length === 0) return undefined;
  try {
    return parseJson(bytes, LIMITS);
  } catch (error) {
    if (error instanceof JsonFault) return invalid(error.pointer, messageOf(error, bytes));
    throw error;
  }
}

function messageOf({ kind }: JsonFault, bytes: Buffer): string {
  const place = kind === 'syntax' ? syntaxFault(bytes.toString().replace(/^\ufeff/, '')) : undefined;
  return place === undefined ? MESSAGES[kind] : `${MESSAGES[kind]}: ${place}`;
}

function invalid(pointer: string, detail: string): UnreadableBody {
  return new UnreadableBody('validation-failed', [{ pointer, detail }]);
}
