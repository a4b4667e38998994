/** Parses a JSON body field by field. Every error is 13004 with the field's path. */
import { invalid } from '../errors.ts';
import { isObject } from '../json.ts';
import type { Settings } from '../options.ts';
import type { Profile } from '../profile.ts';

export class Fields {
  readonly path: string;
  readonly #values: Record<string, unknown>;
  readonly #settings: Settings;

  /** `known` lists every field of the interface. Other fields are refused unless `strictFields` is off. */
  constructor(value: unknown, path: string, known: ReadonlySet<string>, settings: Settings) {
    this.path = path;
    this.#settings = settings;
    if (!isObject(value)) throw invalid(`${path === '' ? 'the body' : path} must be an object`);
    this.#values = value;
    if (!settings.strictFields) return;
    for (const name of Object.keys(value)) {
      if (!known.has(name)) throw invalid(`${this.at(name)} is not a field`);
    }
  }

  get profile(): Profile {
    return this.#settings.profile;
  }

  at(name: string): string {
    return this.path === '' ? name : `${this.path}.${name}`;
  }

  /** Reads a string. Null if it is absent, null or empty. */
  text(name: string): string | null {
    const value = this.#values[name];
    if (value === undefined || value === null || value === '') return null;
    if (typeof value !== 'string') throw invalid(`${this.at(name)} must be a string`);
    return value;
  }

  requiredText(name: string): string {
    const value = this.text(name);
    if (value === null) throw invalid(`${this.at(name)} must not be empty`);
    return value;
  }

  /** Reads one of a list of words. Null if it is absent. */
  word<Word extends string>(name: string, words: readonly Word[]): Word | null {
    const value = this.text(name);
    if (value === null) return null;
    const word = words.find((known) => known === value);
    if (word === undefined) throw invalid(`${this.at(name)} is not one of ${words.join(', ')}`);
    return word;
  }

  integer(name: string): number | null {
    const value = this.#values[name];
    if (value === undefined || value === null) return null;
    if (!Number.isSafeInteger(value)) throw invalid(`${this.at(name)} must be an integer`);
    return value as number;
  }

  /** Reads a long. Beyond 2^53 it is a `bigint`. */
  long(name: string): number | bigint | null {
    const value = this.#values[name];
    return typeof value === 'bigint' ? value : this.integer(name);
  }

  /** Reads a long timestamp in the wire's unit, and returns milliseconds. */
  time(name: string): number | null {
    const value = this.integer(name);
    return value === null || this.#settings.profile.timestampUnit === 'ms' ? value : value * 1000;
  }

  /** Reads a boolean. False if it is absent. */
  flag(name: string): boolean {
    const value = this.#values[name];
    if (value === undefined || value === null) return false;
    if (typeof value !== 'boolean') throw invalid(`${this.at(name)} must be a boolean`);
    return value;
  }

  raw(name: string): unknown {
    return this.#values[name] ?? null;
  }

  /** Reads an array. Empty if it is absent or null. */
  list(name: string): readonly unknown[] {
    const value = this.#values[name];
    if (value === undefined || value === null) return [];
    if (!Array.isArray(value)) throw invalid(`${this.at(name)} must be an array`);
    return value;
  }

  /** Reads an array of objects, each with `read`. */
  objects<Item>(name: string, known: ReadonlySet<string>, read: (fields: Fields) => Item): Item[] {
    return this.list(name).map((item, place) =>
      read(new Fields(item, `${this.at(name)}[${place}]`, known, this.#settings)),
    );
  }

  /** Reads an array of non-empty strings. */
  texts(name: string): string[] {
    return this.list(name).map((item, place) => {
      if (typeof item !== 'string' || item === '') {
        throw invalid(`${this.at(name)}[${place}] must be a string that is not empty`);
      }
      return item;
    });
  }
}
