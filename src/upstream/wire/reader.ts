import { isJsonText, numberText } from '../../json/parse-json.ts';

/** Upstream's data is not of the shape its interface gives. Names the place, never the value. */
export class WireMisfit extends Error {
  override readonly name = 'WireMisfit';

  constructor(
    readonly place: string,
    expected: string,
  ) {
    super(`${place} is not ${expected}`);
  }
}

/** The call was carried out, but its answer does not tell what came of every part; `matched` is what it does tell, decoded. */
export class IncompleteAnswer extends WireMisfit {
  constructor(
    place: string,
    expected: string,
    readonly matched: readonly unknown[],
  ) {
    super(place, expected);
  }
}

export type TimestampUnit = 'ms' | 's';

/** How a usable answer departs from the interface; each is counted once an answer. */
export type ContractNote = 'unknown_field' | 'timestamp_unit' | 'shell_number';
export type ContractNotes = Set<ContractNote>;

/** Keys that could reach a prototype in whoever reads our answer carelessly. */
const POLLUTING = new Set(['__proto__', 'constructor', 'prototype']);
const ID_TEXT = /^[^\p{Cc}]{1,128}$/u;
/** RFC 3339 has years of four digits: 0000 to 9999. */
const FIRST_MS = BigInt(Date.UTC(-1, 12));
const LAST_MS = BigInt(Date.UTC(10_000, 0)) - 1n;

/** A long from the first to before the second is a time from 1973 to 5138 in seconds, and up to March 1973 in milliseconds. */
const SECONDS_FROM = 10n ** 8n;
const SECONDS_TO = 10n ** 11n;

/**
 * Reads one object of an answer, field by field (an allow-list: what is not asked for is dropped). `null` and absence are
 * kept apart, since callers see them so. Ids and longs are accepted as strings and as numbers; everything else must have
 * the type of the interface. Throws {@link WireMisfit}; departures that do not make the answer unusable go to `notes`.
 */
export class Reader<Wire> {
  readonly #fields: Record<string, unknown>;
  /** Fields that are there and were asked for, each once. */
  #asked = 0;

  constructor(
    value: unknown,
    readonly place: string,
    private readonly notes?: ContractNotes,
  ) {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new WireMisfit(place, 'an object');
    this.#fields = value as Record<string, unknown>;
  }

  /** An id that has to be there, byte for byte. */
  requiredId(name: keyof Wire & string): string {
    const id = this.id(name);
    if (!id) throw this.#misfit(name, 'an id');
    return id;
  }

  requiredInteger(name: keyof Wire & string): number {
    const integer = this.integer(name);
    if (integer === null || integer === undefined) throw this.#misfit(name, 'an integer');
    return integer;
  }

  id(name: keyof Wire & string): string | null | undefined {
    return this.#optional(name, (value) => {
      const id = idText(value);
      if (id === undefined) throw this.#misfit(name, 'an id');
      return id;
    });
  }

  ids(name: keyof Wire & string): string[] | null | undefined {
    return this.#optional(name, (value) => {
      const ids = Array.isArray(value) ? value.map(idText) : [undefined];
      if (ids.includes(undefined)) throw this.#misfit(name, 'a list of ids');
      return ids as string[];
    });
  }

  text(name: keyof Wire & string): string | null | undefined {
    return this.#optional(name, (value) => {
      if (isJsonText(value)) return value;
      throw this.#misfit(name, 'text');
    });
  }

  boolean(name: keyof Wire & string): boolean | null | undefined {
    return this.#optional(name, (value) => {
      if (typeof value === 'boolean') return value;
      throw this.#misfit(name, 'a boolean');
    });
  }

  integer(name: keyof Wire & string): number | null | undefined {
    return this.#optional(name, (value) => {
      if (typeof value === 'number') return value;
      throw this.#misfit(name, 'an integer');
    });
  }

  /** A timestamp as RFC 3339 in UTC with milliseconds. */
  time(name: keyof Wire & string, unit: TimestampUnit): string | null | undefined {
    return this.#optional(name, (value) => {
      const digits = numberText(value) ?? (isJsonText(value) ? value : '');
      return this.#rfc3339(name, digits, unit);
    });
  }

  /** A time that the interface gives as text: a long in text is converted, other text is handed through. */
  timeText(name: keyof Wire & string, unit: TimestampUnit): string | null | undefined {
    return this.#optional(name, (value) => {
      const digits = numberText(value) ?? (isJsonText(value) ? value : '');
      return isJsonText(value) && !/^-?\d+$/.test(value) ? value : this.#rfc3339(name, digits, unit);
    });
  }

  object<Inner, T>(name: keyof Wire & string, read: (inner: Reader<Inner>) => T): T | null | undefined {
    return this.#optional(name, (value) => readObject(value, `${this.place}.${name}`, read, this.notes));
  }

  list<Inner, T>(name: keyof Wire & string, read: (inner: Reader<Inner>) => T): T[] | null | undefined {
    return this.#optional(name, (value) => readList(value, `${this.place}.${name}`, read, this.notes));
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
    if (!Object.hasOwn(this.#fields, name)) return undefined;
    this.#asked++;
    return this.#fields[name];
  }

  /** A time in the other unit than the configured one is delivered as it converts, where it does. */
  #rfc3339(name: string, digits: string, unit: TimestampUnit): string {
    if (!/^-?\d{1,19}$/.test(digits)) throw this.#misfit(name, 'a timestamp');
    const long = BigInt(digits);
    const isOther = unit === 'ms' ? long >= SECONDS_FROM && long < SECONDS_TO : long >= SECONDS_TO;
    if (isOther) this.notes?.add('timestamp_unit');
    const time = rfc3339(long, unit);
    if (time === undefined) throw this.#misfit(name, 'a timestamp');
    return time;
  }

  #optional<T>(name: string, read: (value: unknown) => T): T | null | undefined {
    const value = this.#own(name);
    return value === null || value === undefined ? value : read(value);
  }

  #misfit(name: string, expected: string): WireMisfit {
    return new WireMisfit(`${this.place}.${name}`, expected);
  }
}

/** One object, all of whose fields `read` asks for. */
export function readObject<Wire, T>(
  value: unknown,
  place: string,
  read: (wire: Reader<Wire>) => T,
  notes?: ContractNotes,
): T {
  const reader = new Reader<Wire>(value, place, notes);
  const result = read(reader);
  reader.noteOthers();
  return result;
}

export function readList<Wire, T>(
  value: unknown,
  place: string,
  read: (item: Reader<Wire>) => T,
  notes?: ContractNotes,
): T[] {
  if (!Array.isArray(value)) throw new WireMisfit(place, 'a list');
  return value.map((item, index) => readObject(item, `${place}[${index}]`, read, notes));
}

function idText(value: unknown): string | undefined {
  // Empty is how some say "none"; where an id has to be there, requiredId refuses it.
  if (isJsonText(value)) return value === '' || ID_TEXT.test(value) ? value : undefined;
  const digits = numberText(value);
  return digits !== undefined && /^\d+$/.test(digits) ? digits : undefined;
}

function rfc3339(value: bigint, unit: TimestampUnit): string | undefined {
  const ms = unit === 's' ? value * 1000n : value;
  return ms < FIRST_MS || ms > LAST_MS ? undefined : new Date(Number(ms)).toISOString();
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
