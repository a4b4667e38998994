import { isJsonText, numberText } from '../../shared/json.ts';
import type { Enumeration } from '../../shared/enumeration.ts';
import { rfc3339 } from '../../shared/rfc3339.ts';
import { isNoTime, readTime, type TimestampUnit } from './time.ts';

/** Upstream's data is not of the shape its interface gives. Names the place, never the value. */
export class ContractViolation extends Error {
  override readonly name = 'ContractViolation';

  constructor(
    readonly place: string,
    expected: string,
  ) {
    super(`${place} is not ${expected}`);
  }
}

/** The call was carried out, but its answer does not tell what came of every part; `matched` is what it does tell, decoded. */
export class IncompleteAnswer extends ContractViolation {
  constructor(
    place: string,
    expected: string,
    readonly matched: readonly unknown[],
  ) {
    super(place, expected);
  }
}

/** How a usable answer departs from the interface; each is counted once an answer. */
export type ContractNote = 'unknown_field' | 'unknown_word' | 'timestamp_unit' | 'time_text' | 'shell_number';
export type ContractNotes = Set<ContractNote>;

/** Keys that could reach a prototype in whoever reads our answer carelessly. */
const POLLUTING = new Set(['__proto__', 'constructor', 'prototype']);
const MAX_ID = 128;
const LONG = /^-?\d+$/;
const RFC3339 = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
/** All of Unicode's category Cc. */
// oxlint-disable-next-line no-control-regex
const CONTROL = /[\u0000-\u001f\u007f-\u009f]/;

/** Where a value is, told only when it is a misfit: `data`, its fields and places in lists. */
interface Place {
  readonly place: string;
}

/**
 * Reads one object of an answer, field by field (an allow-list: what is not asked for is dropped). A field that is absent is
 * read as null. Ids and longs are accepted as strings and as numbers; everything else must have
 * the type of the interface. Throws {@link ContractViolation}; departures that do not make the answer unusable go to `notes`.
 */
export class Reader<Wire> implements Place {
  readonly #fields: Record<string, unknown>;
  /** Fields that are there and were asked for, each once. */
  #asked = 0;

  constructor(
    value: unknown,
    private readonly at: Place | string,
    private readonly notes?: ContractNotes,
    /** Its number in the list that is there, where it is one. */
    private readonly index?: number,
  ) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ContractViolation(this.place, 'an object');
    this.#fields = value as Record<string, unknown>;
  }

  get place(): string {
    const place = textOf(this.at);
    return this.index === undefined ? place : `${place}[${this.index}]`;
  }

  /** An id that has to be there, byte for byte. */
  requiredId(name: keyof Wire & string): string {
    const id = this.id(name);
    if (!id) throw this.#violation(name, 'an id');
    return id;
  }

  requiredInteger(name: keyof Wire & string): number {
    const integer = this.integer(name);
    if (integer === null) throw this.#violation(name, 'an integer');
    return integer;
  }

  id(name: keyof Wire & string): string | null {
    const value = this.#own(name);
    if (value === null || value === '') return null;
    const id = idText(value);
    if (id === undefined) throw this.#violation(name, 'an id');
    return id;
  }

  ids(name: keyof Wire & string): string[] | null {
    const value = this.#own(name);
    if (value === null) return null;
    const ids = Array.isArray(value) ? value.map(idText) : [undefined];
    if (ids.includes(undefined)) throw this.#violation(name, 'a list of ids');
    return ids as string[];
  }

  text(name: keyof Wire & string): string | null {
    const value = this.#own(name);
    if (value === null || isJsonText(value)) return value;
    throw this.#violation(name, 'text');
  }

  boolean(name: keyof Wire & string): boolean | null {
    const value = this.#own(name);
    if (value === null || typeof value === 'boolean') return value;
    throw this.#violation(name, 'a boolean');
  }

  /** A 64-bit quantity as its digits: a double would change it beyond 2^53. */
  long(name: keyof Wire & string): string | null {
    const value = this.#own(name);
    if (value === null || value === '') return null;
    const digits = isJsonText(value) ? value : (numberText(value) ?? '');
    if (!/^-?\d{1,19}$/.test(digits)) throw this.#violation(name, 'a whole number');
    return digits;
  }

  /** A word of an enumeration that the platform may extend: one that is not in it is handed through, and noted. */
  word(name: keyof Wire & string, { words }: Enumeration): string | null {
    const word = this.text(name);
    if (word !== null && !words.includes(word)) this.notes?.add('unknown_word');
    return word;
  }

  integer(name: keyof Wire & string): number | null {
    const value = this.#own(name);
    if (value === null || typeof value === 'number') return value;
    throw this.#violation(name, 'an integer');
  }

  /** A timestamp as RFC 3339 in UTC with milliseconds. */
  time(name: keyof Wire & string, unit: TimestampUnit): string | null {
    const value = this.#own(name);
    return isNoTime(value) ? null : this.#rfc3339(name, value, unit);
  }

  /**
   * A time that the interface gives as text, without its form: a long in text, or RFC 3339. Any other text names no certain moment,
   * so it is null, and noted.
   */
  timeText(name: keyof Wire & string, unit: TimestampUnit): string | null {
    const value = this.#own(name);
    if (isNoTime(value)) return null;
    if (!isJsonText(value) || LONG.test(value)) return this.#rfc3339(name, value, unit);
    const ms = RFC3339.test(value) ? Date.parse(value) : NaN;
    const text = Number.isNaN(ms) ? undefined : rfc3339(ms);
    if (text === undefined) this.notes?.add('time_text');
    return text ?? null;
  }

  object<Inner, T>(name: keyof Wire & string, read: (inner: Reader<Inner>) => T): T | null {
    const value = this.#own(name);
    if (value === null) return null;
    return readObject(value, new Field(this, name), read, this.notes);
  }

  list<Inner, T>(name: keyof Wire & string, read: (inner: Reader<Inner>) => T): T[] | null {
    const value = this.#own(name);
    if (value === null) return null;
    return readList(value, new Field(this, name), read, this.notes);
  }

  /** A shape that the interface does not show (its section 2.14): handed through as it comes. */
  opaque(name: keyof Wire & string): unknown {
    return plain(this.#own(name));
  }

  /** Fields of the interface that nobody needs. */
  skip(names: readonly string[]): void {
    for (const name of names) this.#own(name);
  }

  /** To be called once all fields were asked for: what is left is none of the interface's. */
  noteOthers(): void {
    if (this.notes && !this.notes.has('unknown_field') && Object.keys(this.#fields).length > this.#asked) {
      this.notes.add('unknown_field');
    }
  }

  #own(name: string): unknown {
    if (!Object.hasOwn(this.#fields, name)) return null;
    this.#asked++;
    return this.#fields[name] ?? null;
  }

  /** A time in the other unit than the configured one is delivered as it converts, where it does. */
  #rfc3339(name: string, value: unknown, unit: TimestampUnit): string {
    const time = readTime(value, unit);
    if (time === undefined) throw this.#violation(name, 'a timestamp');
    if (time.isOtherUnit) this.notes?.add('timestamp_unit');
    const text = rfc3339(time.ms);
    if (text === undefined) throw this.#violation(name, 'a timestamp');
    return text;
  }

  #violation(name: string, expected: string): ContractViolation {
    return new ContractViolation(`${this.place}.${name}`, expected);
  }
}

class Field implements Place {
  constructor(
    private readonly of: Place,
    private readonly name: string,
  ) {}

  get place(): string {
    return `${this.of.place}.${this.name}`;
  }
}

function textOf(at: Place | string): string {
  return typeof at === 'string' ? at : at.place;
}

/** One object, all of whose fields `read` asks for. */
export function readObject<Wire, T>(
  value: unknown,
  at: Place | string,
  read: (wire: Reader<Wire>) => T,
  notes?: ContractNotes,
  index?: number,
): T {
  const reader = new Reader<Wire>(value, at, notes, index);
  const result = read(reader);
  reader.noteOthers();
  return result;
}

export function readList<Wire, T>(
  value: unknown,
  at: Place | string,
  read: (item: Reader<Wire>) => T,
  notes?: ContractNotes,
): T[] {
  if (!Array.isArray(value)) throw new ContractViolation(textOf(at), 'a list');
  return value.map((item, index) => readObject(item, at, read, notes, index));
}

function idText(value: unknown): string | undefined {
  if (isJsonText(value)) return isId(value) ? value : undefined;
  const digits = numberText(value);
  return digits !== undefined && /^\d+$/.test(digits) ? digits : undefined;
}

function isId(text: string): boolean {
  if (CONTROL.test(text)) return false;
  return text.length <= MAX_ID || (text.length <= 2 * MAX_ID && [...text].length <= MAX_ID);
}

/** Undoes the marking of numbers: exact integers beyond 2^53 become strings, other numbers numbers. */
function plain(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(plain);
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).filter(([key]) => !POLLUTING.has(key));
    return Object.fromEntries(members.map(([key, member]) => [key, plain(member)]));
  }
  const digits = typeof value === 'string' ? numberText(value) : undefined;
  if (digits === undefined) return value;
  return /^-?\d+$/.test(digits) ? digits : Number(digits);
}

/** For operations without payload: whatever `data` is, the success is what counts. */
export function nothing(): void {}
