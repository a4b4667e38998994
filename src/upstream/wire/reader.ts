import { isJsonText } from '../../shared/json.ts';
import type { Enumeration } from '../../shared/enumeration.ts';
import type { ContractNotes, GapKind } from '../gaps.ts';
import { ContractViolation, UnreadableTree } from '../upstream-failure.ts';
import { rfc3339 } from '../../shared/rfc3339.ts';
import { DATA, Field, type Location } from './location.ts';
import { FLAG_WORDS, idText, longText, plain, readTime, type TimestampUnit } from './scalars.ts';
import type { Shape } from './shape.ts';

/** The names that are shown. Names of unknown fields come from the platform, so only plain names are safe to show. */
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
const ZONED = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/;

/**
 * Reads one object of a response, field by field (an allow-list: other fields are dropped). A field that is absent or departs from the
 * interface becomes null, and the departure is added to `notes`. A missing list becomes an empty one. Only indispensable fields are
 * required: {@link requiredId} and {@link requiredInteger} throw {@link ContractViolation}.
 */
export class Reader<Name extends string> implements Location {
  readonly #fields: Record<string, unknown>;
  readonly #shape: Shape<string>;
  /** The fields that have a value which could not be read, so that it became null. */
  #unreadable: Set<string> | undefined;

  /** @param index the object's index in the list at `at`, if it is an item of a list */
  constructor(
    shape: Shape<Name>,
    value: unknown,
    private readonly at: Location = DATA,
    private readonly notes?: ContractNotes,
    private readonly index?: number,
  ) {
    this.#shape = shape;
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ContractViolation(this.location, 'an object');
    this.#fields = value as Record<string, unknown>;
  }

  get location(): string {
    return this.index === undefined ? this.at.location : `${this.at.location}[${this.index}]`;
  }

  get path(): string {
    return this.index === undefined ? this.at.path : `${this.at.path}[]`;
  }

  /** Returns an id that must be present, byte for byte. */
  requiredId(name: Name): string {
    return this.id(name) ?? this.#violated(name, 'an id');
  }

  requiredInteger(name: Name): number {
    return this.integer(name) ?? this.#violated(name, 'an integer');
  }

  /** Reads an id: text, or a whole number of any size, digit by digit. Some platforms send an empty text for "none". */
  id(name: Name): string | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (value === '') return this.#noted(name, 'empty');
    return idText(value) ?? this.#not(name, 'wrong-type');
  }

  /** Reads a list of ids and leaves out items that are no ids. */
  ids(name: Name): string[] {
    const value = this.#given(name);
    if (value === null) return [];
    if (!Array.isArray(value)) return this.#not(name, 'wrong-type') ?? [];
    return value.flatMap((item: unknown) => {
      const id = item === '' ? undefined : idText(item);
      return id === undefined ? (this.#noted(`${name}[]`, kindOf(item)) ?? []) : [id];
    });
  }

  text(name: Name): string | null {
    const value = this.#given(name);
    if (value === null || isJsonText(value)) return value;
    return this.#not(name, 'wrong-type');
  }

  /** Reads a word of an enumeration. A word that the interface does not have is returned too, because the platform may add words. */
  word(name: Name, { words }: Enumeration): string | null {
    const word = this.text(name);
    if (word === '') return this.#noted(name, 'empty');
    if (word !== null && !words.includes(word)) this.#noted(name, 'unknown-word');
    return word;
  }

  /** Reads a flag. If the platform sends 0 or 1, that is noted. */
  boolean(name: Name): boolean | null {
    const value = this.#given(name);
    if (value === null || typeof value === 'boolean') return value;
    const flag = typeof value === 'number' ? FLAG_WORDS.get(value) : undefined;
    return this.#tolerated(name, flag);
  }

  /** Reads a boolean on which a decision depends. The platform may also send it as 0 or 1, or as text. */
  flag(name: Name): boolean | null {
    const value = this.#given(name);
    if (value === null || typeof value === 'boolean') return value;
    return this.#tolerated(name, FLAG_WORDS.get(value));
  }

  integer(name: Name): number | null {
    const value = this.#given(name);
    if (value === null || (typeof value === 'number' && Number.isInteger(value))) return value;
    return this.#not(name, 'wrong-type');
  }

  /** Reads an integer of 32 bits, which is what the interface means by `integer`: it has `long` too. */
  int32(name: Name): number | null {
    const value = this.integer(name);
    return value === null || value === (value | 0) ? value : this.#not(name, 'wrong-type');
  }

  /** Returns the meaning of a number. Null for a number that the interface does not have. */
  code<T>(name: Name, meanings: ReadonlyMap<number, T>): T | null {
    const value = this.integer(name);
    if (value === null) return null;
    const meaning = meanings.get(value);
    return meaning === undefined ? this.#not(name, 'unknown-word') : meaning;
  }

  /** Reads a count of a page, which the platform may also send as text. */
  count(name: Name): number | null {
    const value = this.#given(name);
    if (value === null || (typeof value === 'number' && Number.isInteger(value) && value >= 0)) return value;
    const isDigits = isJsonText(value) && /^\d{1,15}$/.test(value);
    return this.#tolerated(name, isDigits ? Number(value) : undefined);
  }

  /** Reads a 64-bit integer as its digits. */
  long(name: Name): string | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (value === '') return this.#noted(name, 'empty');
    return longText(value) ?? this.#not(name, 'wrong-type');
  }

  /** Reads a timestamp as RFC 3339 in UTC with milliseconds. 0, an empty text and the largest long mean "none". */
  time(name: Name, unit: TimestampUnit): string | null {
    const value = this.#given(name);
    return value === null ? null : this.#rfc3339(name, value, unit);
  }

  /** Reads a time that the interface defines as text: a long in text, or a time with its own time zone. */
  timeText(name: Name, unit: TimestampUnit): string | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (isJsonText(value) && ZONED.test(value)) {
      const ms = Date.parse(value);
      return (Number.isNaN(ms) ? undefined : rfc3339(ms)) ?? this.#not(name, 'wrong-type');
    }
    return this.#rfc3339(name, value, unit);
  }

  object<Inner extends string, T>(
    name: Name,
    shape: Shape<Inner>,
    read: (inner: Reader<Inner>) => T,
  ): T | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (typeof value !== 'object' || Array.isArray(value)) return this.#not(name, 'wrong-type');
    return readObject(shape, value, this.notes, read, new Field(this, name));
  }

  /** Reads a list. An item that lacks a field of {@link requiredId} is left out. */
  list<Inner extends string, T>(name: Name, shape: Shape<Inner>, read: (inner: Reader<Inner>) => T): T[] {
    const value = this.#given(name);
    if (value === null) return [];
    if (!Array.isArray(value)) return this.#not(name, 'wrong-type') ?? [];
    return readList(shape, value, this.notes, read, new Field(this, name));
  }

  /** Reads a list without which the response has no meaning. An item that cannot be read is null, so that the others keep their places. */
  requiredList<Inner extends string, T>(
    name: Name,
    shape: Shape<Inner>,
    read: (inner: Reader<Inner>) => T,
  ): (T | null)[] {
    return readList<Inner, T | null>(shape, this.#given(name), this.notes, read, new Field(this, name), [
      null,
    ]);
  }

  /** True if the object has the field, even if it is null. */
  isGiven(name: Name): boolean {
    return this.#fields[name] !== undefined;
  }

  /** True if the object has the field, and it is not null. */
  has(name: Name): boolean {
    return (this.#fields[name] ?? null) !== null;
  }

  /** True if the platform sent this field with a value that was readable, or with an explicit null. Call it after the field was read. */
  came(name: Name): boolean {
    return this.isGiven(name) && !this.isUnreadable(name);
  }

  /** True if the field has a value that was read as null because it could not be read. Call it after the field was read. */
  isUnreadable(name: Name): boolean {
    return this.#unreadable?.has(name) === true;
  }

  /** Says that the field came in a form that cannot decide, because a part of it is missing. */
  lacksPartOf(name: Name): void {
    (this.#unreadable ??= new Set()).add(name);
  }

  /** True if a list arrived, and the `read` items that could be read are all of them. `nullable` means that null is an empty list. */
  isWhole(name: Name, read: number, nullable: boolean): boolean {
    const value = this.#fields[name];
    return Array.isArray(value) ? value.length === read : nullable && value === null;
  }

  /** Returns the number of items of a list, including those that {@link list} leaves out. */
  lengthOf(name: Name): number {
    const value = this.#fields[name];
    return Array.isArray(value) ? value.length : 0;
  }

  /** Returns a value unchanged whose shape the interface does not describe (its section 2.14). */
  opaque(name: Name): unknown {
    return plain(this.#fields[name]) ?? null;
  }

  /** Notes the names of fields that the interface does not have. */
  noteOthers(): void {
    if (!this.notes) return;
    // `JSON.parse` has made the object, so it has no inherited keys for this loop to find.
    for (const name in this.#fields)
      if (!this.#shape.fields.has(name))
        this.notes.add(`${this.path}.${PLAIN_NAME.test(name) ? name : '(other)'}`, 'unknown-field');
  }

  /** Returns the field's value, or null if there is none. The absence is noted if the interface does not allow it. */
  #given(name: string): unknown {
    const value = this.#fields[name];
    if (value !== null && value !== undefined) return value;
    if (this.notes && !this.#shape.nullable.has(name)) this.#noted(name, value === null ? 'null' : 'missing');
    return null;
  }

  /** Returns null for a value that means "none". */
  #noted(name: string, kind: GapKind): null {
    this.notes?.add(`${this.path}.${name}`, kind);
    return null;
  }

  /** Returns null for a value that cannot be read. */
  #not(name: string, kind: GapKind): null {
    (this.#unreadable ??= new Set()).add(name);
    return this.#noted(name, kind);
  }

  /** Returns a value that came in another type than that of the interface. Undefined means that it cannot be read. */
  #tolerated<T>(name: string, value: T | undefined): T | null {
    if (value === undefined) return this.#not(name, 'wrong-type');
    this.#noted(name, 'wrong-type');
    return value;
  }

  /** Converts a time. If it is in the unit that is not configured, it is converted where possible. */
  #rfc3339(name: string, value: unknown, unit: TimestampUnit): string | null {
    if (value === '') return this.#noted(name, 'empty');
    const time = readTime(value, unit);
    if (time === undefined) return this.#not(name, 'wrong-type');
    if (time === 'none') return null;
    if (time.isOtherUnit) this.#noted(name, 'time-unit');
    return rfc3339(time.ms) ?? this.#not(name, 'wrong-type');
  }

  #violated(name: string, expected: string): never {
    throw new ContractViolation(`${this.location}.${name}`, expected);
  }
}

/** Returns the kind of gap of an item of a list that cannot be read. */
export function kindOf(item: unknown): GapKind {
  if (item === '') return 'empty';
  return item === null ? 'null' : 'wrong-type';
}

export function readObject<Name extends string, T>(
  shape: Shape<Name>,
  value: unknown,
  notes: ContractNotes | undefined,
  read: (wire: Reader<Name>) => T,
  at: Location = DATA,
  index?: number,
): T {
  const reader = new Reader(shape, value, at, notes, index);
  const result = read(reader);
  reader.noteOthers();
  return result;
}

/**
 * Reads a list. A null list counts as empty, and an absent one violates the interface. An item that is no object, or lacks its id, is left
 * out, or replaced by `unread`.
 */
export function readList<Name extends string, T>(
  shape: Shape<Name>,
  value: unknown,
  notes: ContractNotes | undefined,
  read: (item: Reader<Name>) => T,
  at: Location = DATA,
  unread: readonly T[] = [],
): T[] {
  if (value === null) {
    if (at === DATA) notes?.add(at.path, 'null');
    return [];
  }
  if (!Array.isArray(value)) throw new ContractViolation(at.location, 'a list');
  const items: T[] = [];
  for (const [index, item] of value.entries()) {
    try {
      items.push(readObject(shape, item, notes, read, at, index));
    } catch (error) {
      if (!(error instanceof ContractViolation) || error instanceof UnreadableTree) throw error;
      // A missing id was noted already. An item that is no object was not.
      if (typeof item !== 'object' || item === null || Array.isArray(item))
        notes?.add(`${at.path}[]`, kindOf(item));
      items.push(...unread);
    }
  }
  return items;
}

/** Decodes operations without a payload. Only the success counts, and `data` may be anything. */
export function nothing(): void {}
