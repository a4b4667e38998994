/** Readers of input values. Each returns the value, or names its field and the allowed values. */
import { isObject } from '../json.ts';
import { ControlError, unknownField } from './checks.ts';

/** @throws ControlError with the field and the allowed values */
export type Read<Value> = (value: unknown, field: string) => Value;

function must<Value>(so: (value: unknown) => value is Value, what: string): Read<Value> {
  return (value, field) => {
    if (!so(value)) throw new ControlError(field, `must be ${what}`);
    return value;
  };
}

export const readText = must((value) => typeof value === 'string', 'a string');
export const readId = must(
  (value): value is string => typeof value === 'string' && value !== '',
  'a string that is not empty',
);
export const readDigits = must(
  (value): value is string => typeof value === 'string' && /^\d+$/.test(value),
  'a string of digits',
);
export const readFlag = must((value) => typeof value === 'boolean', 'true or false');
export const readInteger = must((value): value is number => Number.isSafeInteger(value), 'an integer');
export const readLong = must(
  (value): value is number | bigint => typeof value === 'bigint' || Number.isSafeInteger(value),
  'an integer',
);

export const readTime: Read<number> = (value, field) => {
  const isTime = typeof value === 'string' && /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(value);
  const time = isTime ? Date.parse(value) : value;
  if (!Number.isSafeInteger(time)) {
    throw new ControlError(field, 'must be milliseconds since 1970, or an RFC 3339 time');
  }
  return time as number;
};

export function oneOf<Word extends string | number>(words: readonly Word[]): Read<Word> {
  return must((value): value is Word => words.includes(value as Word), `one of ${words.join(', ')}`);
}

export function listOf<Value>(read: Read<Value>): Read<Value[]> {
  return (value, field) => {
    if (!Array.isArray(value)) throw new ControlError(field, 'must be an array');
    return value.map((item, place) => read(item, `${field}[${place}]`));
  };
}

/** Reads an object with exactly these fields. Fields that may be null may be left out. */
export function objectOf<Value>(fields: {
  readonly [Name in keyof Value]-?: Read<Value[Name]>;
}): Read<Value> {
  const reads = Object.entries(fields) as [string, Read<unknown>][];
  return (value, field) => {
    if (!isObject(value)) throw new ControlError(field, 'must be an object');
    const unknown = Object.keys(value).find((name) => !Object.hasOwn(fields, name));
    if (unknown !== undefined) {
      throw unknownField(`${field}.${unknown}`, Object.keys(fields));
    }
    return Object.fromEntries(
      reads.map(([name, read]) => [name, read(value[name] ?? null, `${field}.${name}`)]),
    ) as Value;
  };
}

export function orNull<Value>(read: Read<Value>): Read<Value | null> {
  return (value, field) => {
    if (value === null) return null;
    try {
      return read(value, field);
    } catch (error) {
      if (!(error instanceof ControlError) || error.field !== field) throw error;
      throw new ControlError(field, `${error.message.slice(field.length + 1)}, or null`);
    }
  };
}
