import { isJsonText } from '../../shared/json.ts';
import type { Enumeration } from '../../shared/enumeration.ts';
import { rfc3339 } from '../../shared/rfc3339.ts';
import { ContractViolation, type ContractNotes, type GapKind, UnreadableTree } from './contract-notes.ts';
import { idText, longText, plain } from './scalars.ts';
import { readTime, type TimestampUnit } from './time.ts';

/** Names of unknown fields come from the platform, so only plain names are shown. */
const PLAIN_NAME = /^[A-Za-z_][A-Za-z0-9_-]{0,63}$/;
/** A time as text with its own time zone. */
const ZONED = /^\d{4}-\d\d-\d\d[T ]\d\d:\d\d.*(Z|[+-]\d\d:?\d\d)$/;

/** The location of a value. It is made a text only for a fault. */
interface Place {
  /** With the numbers of list items: `data.list[3].id`. */
  readonly place: string;
  /** The same for every item: `data.list[].id`. */
  readonly path: string;
}

const DATA: Place = { place: 'data', path: 'data' };
const NONE: ReadonlySet<string> = new Set();

/**
 * Reads one object of an answer, field by field (an allow-list: other fields are dropped). A field that is absent or departs from
 * the interface becomes null, and the departure goes to `notes`. A missing list becomes an empty one. Only indispensable fields are
 * required: {@link requiredId} and {@link requiredInteger} throw {@link ContractViolation}.
 */
export class Reader<Wire> implements Place {
  readonly #fields: Record<string, unknown>;
  /** The number of present fields that were read, each counted once. */
  #asked = 0;

  /**
   * @param nullable fields that may be null or absent by the interface, so this is no departure.
   * @param index its number in the list that is at `at`, where it is an item of one.
   * @param names collects the names of the fields that are read; then no value is read.
   */
  constructor(
    value: unknown,
    private readonly at: Place = DATA,
    private readonly notes?: ContractNotes,
    private readonly nullable: ReadonlySet<string> = NONE,
    private readonly index?: number,
    private readonly names?: Set<string>,
  ) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ContractViolation(this.place, 'an object');
    this.#fields = value as Record<string, unknown>;
  }

  get place(): string {
    return this.index === undefined ? this.at.place : `${this.at.place}[${this.index}]`;
  }

  get path(): string {
    return this.index === undefined ? this.at.path : `${this.at.path}[]`;
  }

  /** An id that must be present, byte for byte. */
  requiredId(name: keyof Wire & string): string {
    const id = this.id(name);
    if (id || this.names) return id ?? '';
    throw this.#violation(name, 'an id');
  }

  requiredInteger(name: keyof Wire & string): number {
    const integer = this.integer(name);
    if (integer !== null || this.names) return integer ?? 0;
    throw this.#violation(name, 'an integer');
  }

  /** Text, or a whole number of any size, digit by digit. An empty text is how some platforms say "none". */
  id(name: keyof Wire & string): string | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (value === '') return this.#not(name, 'empty');
    return idText(value) ?? this.#not(name, 'wrong-type');
  }

  /** Items of the list that are no ids are left out. */
  ids(name: keyof Wire & string): string[] {
    const value = this.#given(name);
    if (value === null) return [];
    if (!Array.isArray(value)) return this.#not(name, 'wrong-type') ?? [];
    return value.flatMap((item: unknown) => {
      const id = item === '' ? undefined : idText(item);
      return id === undefined ? (this.#not(`${name}[]`, kindOf(item)) ?? []) : [id];
    });
  }

  text(name: keyof Wire & string): string | null {
    const value = this.#given(name);
    if (value === null || isJsonText(value)) return value;
    return this.#not(name, 'wrong-type');
  }

  /** A word of an enumeration. A word that the interface does not have is passed on, because the platform may add words. */
  word(name: keyof Wire & string, { words }: Enumeration): string | null {
    const word = this.text(name);
    if (word === '') return this.#not(name, 'empty');
    if (word !== null && !words.includes(word)) this.#not(name, 'unknown-word');
    return word;
  }

  boolean(name: keyof Wire & string): boolean | null {
    const value = this.#given(name);
    if (value === null || typeof value === 'boolean') return value;
    return this.#not(name, 'wrong-type');
  }

  integer(name: keyof Wire & string): number | null {
    const value = this.#given(name);
    if (value === null || (typeof value === 'number' && Number.isInteger(value))) return value;
    return this.#not(name, 'wrong-type');
  }

  /** The meaning of a number; null for a number that the interface does not have. */
  code<T>(name: keyof Wire & string, meanings: ReadonlyMap<number, T>): T | null {
    const value = this.integer(name);
    if (value === null) return null;
    const meaning = meanings.get(value);
    return meaning === undefined ? this.#not(name, 'unknown-word') : meaning;
  }

  /** A count of a page, also where the platform sends it as text. */
  count(name: keyof Wire & string): number | null {
    const value = this.#given(name);
    if (value === null || (typeof value === 'number' && Number.isInteger(value) && value >= 0)) return value;
    this.#not(name, 'wrong-type');
    return isJsonText(value) && /^\d{1,15}$/.test(value) ? Number(value) : null;
  }

  /** A 64-bit integer as its digits. */
  long(name: keyof Wire & string): string | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (value === '') return this.#not(name, 'empty');
    return longText(value) ?? this.#not(name, 'wrong-type');
  }

  /** A timestamp as RFC 3339 in UTC with milliseconds. 0, an empty text and the largest long mean "none". */
  time(name: keyof Wire & string, unit: TimestampUnit): string | null {
    const value = this.#given(name);
    return value === null ? null : this.#rfc3339(name, value, unit);
  }

  /** A time that the interface gives as text: a long in text, or a time with its own time zone. */
  timeText(name: keyof Wire & string, unit: TimestampUnit): string | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (isJsonText(value) && ZONED.test(value)) {
      const ms = Date.parse(value);
      return (Number.isNaN(ms) ? undefined : rfc3339(ms)) ?? this.#not(name, 'wrong-type');
    }
    return this.#rfc3339(name, value, unit);
  }

  object<Inner, T>(
    name: keyof Wire & string,
    read: (inner: Reader<Inner>) => T,
    nullable?: ReadonlySet<string>,
  ): T | null {
    const value = this.#given(name);
    if (value === null) return null;
    if (typeof value !== 'object' || Array.isArray(value)) return this.#not(name, 'wrong-type');
    return readObject(value, read, this.notes, { at: new Field(this, name), nullable });
  }

  /** Leaves out an item that lacks a field of {@link requiredId}. */
  list<Inner, T>(
    name: keyof Wire & string,
    read: (inner: Reader<Inner>) => T,
    nullable?: ReadonlySet<string>,
  ): T[] {
    const value = this.#given(name);
    if (value === null) return [];
    if (!Array.isArray(value)) return this.#not(name, 'wrong-type') ?? [];
    return readList(value, read, this.notes, { at: new Field(this, name), nullable });
  }

  /** A list without which the answer has no meaning. */
  requiredList<Inner, T>(
    name: keyof Wire & string,
    read: (inner: Reader<Inner>) => T,
    nullable?: ReadonlySet<string>,
  ): T[] {
    const value = this.#given(name);
    return readList(value, read, this.names ? undefined : this.notes, {
      at: new Field(this, name),
      nullable,
    });
  }

  /** How many items a list has, also those that {@link list} leaves out. */
  lengthOf(name: keyof Wire & string): number {
    const value = this.#fields[name];
    return Array.isArray(value) ? value.length : 0;
  }

  /** A shape that the interface does not describe (its section 2.14), passed on unchanged. */
  opaque(name: keyof Wire & string): unknown {
    return plain(this.#own(name)) ?? null;
  }

  /** Fields of the interface that the gateway does not need. */
  skip(names: readonly string[]): void {
    for (const name of names) this.#own(name);
  }

  /**
   * Call it once all fields were read: the rest does not belong to the interface. Their names are determined only where there is a
   * rest, and once for all items of a list.
   */
  noteOthers(read: (reader: Reader<Wire>) => unknown): void {
    const { notes } = this;
    if (!notes || Object.keys(this.#fields).length <= this.#asked) return;
    const asked = new Set<string>();
    read(new Reader<Wire>(this.#fields, this.at, undefined, NONE, this.index, asked));
    for (const name of Object.keys(this.#fields)) {
      if (!asked.has(name))
        notes.add(`${this.path}.${PLAIN_NAME.test(name) ? name : '(other)'}`, 'unknown-field');
    }
  }

  #own(name: string): unknown {
    if (this.names) {
      this.names.add(name);
      return undefined;
    }
    if (!Object.hasOwn(this.#fields, name)) return undefined;
    this.#asked++;
    return this.#fields[name];
  }

  /** The field's value, or null where there is none. The absence is noted where the interface does not allow it. */
  #given(name: string): unknown {
    const value = this.#own(name);
    if (value !== null && value !== undefined) return value;
    if (this.notes && !this.nullable.has(name)) this.#not(name, value === null ? 'null' : 'missing');
    return null;
  }

  #not(name: string, kind: GapKind): null {
    this.notes?.add(`${this.path}.${name}`, kind);
    return null;
  }

  /** A time in the unit that is not configured is converted where possible. */
  #rfc3339(name: string, value: unknown, unit: TimestampUnit): string | null {
    if (value === '') return this.#not(name, 'empty');
    const time = readTime(value, unit);
    if (time === undefined) return this.#not(name, 'wrong-type');
    if (time === 'none') return null;
    if (time.isOtherUnit) this.#not(name, 'time-unit');
    return rfc3339(time.ms) ?? this.#not(name, 'wrong-type');
  }

  #violation(name: string, expected: string): ContractViolation {
    return new ContractViolation(`${this.place}.${name}`, expected);
  }
}

/** The kind of departure of an item that has the wrong type. */
function kindOf(item: unknown): GapKind {
  if (item === '') return 'empty';
  return item === null ? 'null' : 'wrong-type';
}

class Field implements Place {
  constructor(
    private readonly of: Place,
    private readonly name: string,
  ) {}

  get place(): string {
    return `${this.of.place}.${this.name}`;
  }

  get path(): string {
    return `${this.of.path}.${this.name}`;
  }
}

interface Whereabouts {
  readonly at?: Place;
  /** Fields that may be null or absent by the interface. */
  readonly nullable?: ReadonlySet<string>;
}

/** Reads one object; `read` reads all of its fields. */
export function readObject<Wire, T>(
  value: unknown,
  read: (wire: Reader<Wire>) => T,
  notes?: ContractNotes,
  { at, nullable }: Whereabouts = {},
  index?: number,
): T {
  const reader = new Reader<Wire>(value, at, notes, nullable, index);
  const result = read(reader);
  reader.noteOthers(read);
  return result;
}

/** A null list counts as empty. An item that is no object, or lacks its id, is left out. */
export function readList<Wire, T>(
  value: unknown,
  read: (item: Reader<Wire>) => T,
  notes?: ContractNotes,
  whereabouts: Whereabouts = {},
): T[] {
  const { at = DATA } = whereabouts;
  if (value === null || value === undefined) {
    if (at === DATA) notes?.add(at.path, value === null ? 'null' : 'missing');
    return [];
  }
  if (!Array.isArray(value)) throw new ContractViolation(at.place, 'a list');
  const items: T[] = [];
  for (const [index, item] of value.entries()) {
    try {
      items.push(readObject(item, read, notes, whereabouts, index));
    } catch (error) {
      if (!(error instanceof ContractViolation) || error instanceof UnreadableTree) throw error;
      // A missing id is noted already; an item that is no object is not.
      if (typeof item !== 'object' || item === null || Array.isArray(item))
        notes?.add(`${at.path}[]`, kindOf(item));
    }
  }
  return items;
}

/** For operations without a payload: only the success counts, and `data` may be anything. */
export function nothing(): void {}
