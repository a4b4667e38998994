/** Parses a fault rule from the control side's JSON; each error names its field. */
import { type Check, CHECKS, type Checks, checkObject, ControlError } from '../control/checks.ts';
import { isObject } from '../json.ts';
import { nearestWord } from '../nearest.ts';
import { OPERATIONS } from '../operations.ts';
import type { FaultSpec } from './rules.ts';

const NAMES = new Set<string>([...OPERATIONS.map(({ name }) => name), 'token', '*']);

const { text, flag, count, word, anything } = CHECKS;
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
  if (unknown === undefined) return null;
  const known = [...NAMES];
  const nearest = typeof unknown === 'string' ? ` nearest: ${nearestWord(unknown, known)};` : '';
  return `has no operation ${JSON.stringify(unknown)};${nearest} known: ${known.join(', ')}`;
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

/** @throws ControlError with the name of the wrong field */
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
