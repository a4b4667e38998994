/** Checks of the input of the control side. Each error names its field and the allowed values. */
import { isObject } from '../json.ts';

/** A malformed control request; the sandbox responds with HTTP 400. */
export class ControlError extends Error {
  readonly field: string;

  constructor(field: string, problem: string) {
    super(`${field} ${problem}`);
    this.field = field;
  }
}

/** An object that a control request names does not exist. The sandbox responds with HTTP 404. */
export class Unknown extends Error {}

/** Describes the fault of a value, or returns null. */
export type Check = (value: unknown, field: string) => string | null;
export type Checks = Readonly<Record<string, Check>>;

const anything: Check = () => null;
const text: Check = (value) => (typeof value === 'string' ? null : 'must be a string');
const flag: Check = (value) => (typeof value === 'boolean' ? null : 'must be true or false');
const count: Check = (value) =>
  Number.isSafeInteger(value) && (value as number) >= 0 ? null : 'must be an integer from 0';

function word(...words: readonly string[]): Check {
  return (value) => (words.includes(value as string) ? null : `must be one of ${words.join(', ')}`);
}

/** Refuses a value that is not an object, unknown members, and members that their check refuses. */
export function checkObject(value: unknown, field: string, checks: Checks): void {
  if (!isObject(value)) throw new ControlError(field, 'must be an object');
  for (const [name, member] of Object.entries(value)) {
    const check = Object.hasOwn(checks, name) ? checks[name] : undefined;
    const path = `${field}.${name}`;
    if (check === undefined) throw unknownField(path, Object.keys(checks));
    const problem = check(member, path);
    if (problem !== null) throw new ControlError(path, problem);
  }
}

export function unknownField(path: string, known: readonly string[]): ControlError {
  return new ControlError(path, `is not a field; known: ${known.join(', ')}`);
}

export const CHECKS = { text, flag, count, word, anything };
