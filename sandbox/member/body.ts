/** Parses the member center's bodies and queries. A wrong value without a code of its own in section 7.2 is refused with 40000. */
import { Refusal } from '../errors.ts';
import { isObject } from '../json.ts';
import type { Settings } from '../options.ts';

export type Values = Readonly<Record<string, unknown>>;

/** Returns 40000: a parameter is missing, empty or of another type than in the interface. */
export function badParameter(detail: string): Refusal {
  return new Refusal('40000', detail);
}

/** Reads an object of known fields. Unknown fields are refused unless `strictFields` is off. */
export function readObject(
  value: unknown,
  path: string,
  known: ReadonlySet<string>,
  { strictFields }: Settings,
): Values {
  if (!isObject(value)) throw badParameter(`${path} must be an object`);
  const unknown = strictFields ? Object.keys(value).find((name) => !known.has(name)) : undefined;
  if (unknown !== undefined) throw badParameter(`${path}: ${unknown} is not a field`);
  return value;
}

/** Reads a string that is not empty. */
export function readText(values: Values, name: string): string {
  const value = values[name];
  if (typeof value !== 'string' || value === '')
    throw badParameter(`${name} must be a string that is not empty`);
  return value;
}

/** Reads an array, possibly empty, of strings that are not empty. */
export function readTexts(values: Values, name: string): readonly string[] {
  const value = values[name];
  if (!Array.isArray(value)) throw badParameter(`${name} must be an array`);
  if (!value.every((item): item is string => typeof item === 'string' && item !== '')) {
    throw badParameter(`${name} must hold strings that are not empty`);
  }
  return value;
}

/** Reads an integer of the query from `least` to `most`. */
export function readCount(query: URLSearchParams, name: string, most: number, least = 1): number {
  const text = query.get(name) ?? '';
  const value = Number(text);
  if (!/^\d{1,15}$/.test(text) || value < least || value > most) {
    throw badParameter(`${name} must be an integer from ${least} to ${most}`);
  }
  return value;
}
