/** Parses a fault rule from the control side's JSON; each error names its field. */
import { isObject } from '../json.ts';
import { OPERATIONS } from '../operations.ts';
import type { FaultSpec } from './rules.ts';

/** A malformed control request; the sandbox responds with HTTP 400. */
export class ControlError extends Error {
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field} ${problem}`);
    this.field = field;
  }
}

/** Describes what is wrong with a value, or returns null. */
type Check = (value: unknown, field: string) => string | null;
type Checks = Readonly<Record<string, Check>>;

const NAMES = new Set<string>([...OPERATIONS.map(({ name }) => name), 'token', '*']);

const anything: Check = () => null;
const text: Check = (value) => (typeof value === 'string' ? null : 'must be a string');
const flag: Check = (value) => (typeof value === 'boolean' ? null : 'must be true or false');
const count: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'must be an integer from 0';
const positive: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) > 0 ? null : 'must be an integer from 1';
const share: Check = (value) =>
  typeof value === 'number' && value >= 0 && value <= 1 ? null : 'must be a number from 0 to 1';
const status: Check = (value) =>
  Number.isInteger(value) && (value as number) >= 200 && (value as number) <= 999
    ? null
    : 'must be an HTTP status from 200 to 999 (use wire for 1xx)';

const pointer: Check = (value) =>
  typeof value === 'string' && /^(\/[^/]*)+$/.test(value) ? null : 'must be a JSON pointer';

function word(...words: readonly string[]): Check {
  return (value) => (words.includes(value as string) ? null : `must be one of ${words.join(', ')}`);
}

function object(checks: Checks): Check {
  return (value, field) => {
    checkObject(value, field, checks);
    return null;
  };
}

const headers: Check = (value) => {
  const valid = (one: unknown): boolean => typeof one === 'string';
  return isObject(value) &&
    Object.values(value).every((one) => (Array.isArray(one) ? one.every(valid) : valid(one)))
    ? null
    : 'must be an object of strings or arrays of strings';
};

const operation: Check = (value) => {
  const names: unknown[] = Array.isArray(value) ? value : [value];
  if (names.length === 0) return 'must not be empty';
  const unknown = names.find((name) => !NAMES.has(name as string));
  return unknown === undefined
    ? null
    : `has no operation ${JSON.stringify(unknown)}; known: ${[...NAMES].join(', ')}`;
};

const BYTES: Checks = { text, base64: text };

const ACTION: Checks = {
  code: anything,
  message: text,
  cause: text,
  data: anything,
  codeAs: word('string', 'integer'),
  status,
  httpStatus: status,
  headers,
  delayMs: count,
  reset: word('before-headers', 'mid-body'),
  close: word('before-headers', 'mid-body'),
  truncate: count,
  framing: word('length', 'chunked', 'close'),
  slow: object({ chunkBytes: positive, everyMs: count, headers: flag }),
  html: flag,
  raw: object({ ...BYTES, contentType: text, status, headers }),
  wire: object(BYTES),
  pad: positive,
  hang: flag,
  patch: anything,
  numericIds: flag,
  odd: object({ pointer, value: anything, share }),
};

const RULE: Checks = {
  operation,
  match: object({ path: text, body: anything, username: text }),
  times: positive,
  skip: count,
  probability: share,
  phase: word('before', 'after'),
  action: object(ACTION),
};

/** @throws ControlError naming the field that is wrong. */
export function parseRule(value: unknown, field: string): FaultSpec {
  checkObject(value, field, RULE);
  const rule = value as Record<string, unknown>;
  if (rule['operation'] === undefined) throw new ControlError(`${field}.operation`, 'is required');
  if (!isObject(rule['action'])) throw new ControlError(`${field}.action`, 'is required');
  const action = rule['action'];
  if (Object.keys(action).length === 0) throw new ControlError(`${field}.action`, 'must not be empty');
  for (const name of ['raw', 'wire']) {
    const part = action[name];
    if (isObject(part) && (part['text'] === undefined) === (part['base64'] === undefined)) {
      throw new ControlError(`${field}.action.${name}`, 'needs either text or base64');
    }
  }
  const slow = action['slow'];
  if (isObject(slow) && (slow['chunkBytes'] === undefined || slow['everyMs'] === undefined)) {
    throw new ControlError(`${field}.action.slow`, 'needs chunkBytes and everyMs');
  }
  return rule as unknown as FaultSpec;
}

/** Refuses a value that is not an object, unknown members, and members that their check refuses. */
export function checkObject(value: unknown, field: string, checks: Checks): void {
  if (!isObject(value)) throw new ControlError(field, 'must be an object');
  for (const [name, member] of Object.entries(value)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const path = `${field}.${name}`;
    if (check === undefined) {
      throw new ControlError(path, `is not a field; known: ${Object.keys(checks).join(', ')}`);
    }
    const problem = check(member, path);
    if (problem !== null) throw new ControlError(path, problem);
  }
}

export const CHECKS = { text, flag, count, word, anything };
