import fc from 'fast-check';
import { document } from '../support/contract.ts';
import { mends } from './cross-rules.ts';

/** Generates values from JSON Schema, as far as our OpenAPI document uses it: valid ones, and ones that break one rule at one path. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string;
  readonly oneOf?: readonly Schema[];
  readonly discriminator?: {
    readonly propertyName: string;
    readonly mapping: Readonly<Record<string, string>>;
  };
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
  readonly additionalProperties?: boolean;
  readonly items?: Schema;
  readonly minItems?: number;
  readonly maxItems?: number;
  readonly uniqueItems?: boolean;
  readonly enum?: readonly unknown[];
  readonly pattern?: string;
  readonly format?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

type Members = Record<string, unknown>;

/** A number with a given spelling: the compiler's library does not have this function yet. */
const rawJson = (text: string) => (JSON as unknown as { rawJSON(text: string): unknown }).rawJSON(text);

/** One way to break one rule: its path, and the whole value then. */
export interface Breaking {
  readonly rule: string;
  /** JSON pointer to what was changed. */
  readonly place: string;
  /** Further errors below that path are expected. */
  readonly deep?: boolean;
  /** Made when it is chosen: a value has thousands of ways to be wrong. */
  readonly value: () => unknown;
}

/** Ids of the seeded platform, by the name of the field: with unknown ids only, most calls would be refused. */
export type Known = Readonly<Record<string, readonly string[]>>;

const schemas = document.components.schemas as Record<string, Schema>;

/** The component behind a reference, and its name. */
function resolved(schema: Schema): { schema: Schema; name: string | undefined } {
  const name = schema.$ref?.split('/').at(-1);
  if (name === undefined) return { schema, name };
  const found = schemas[name];
  if (!found) throw new Error(`no schema ${name}`);
  return { schema: found, name };
}

/** Characters for text: of one to four bytes, and those with a meaning in JSON, HTML, SQL, shells, templates and URLs. */
const PALETTE = [...'abcXYZ0189-_.:/@%&=+~\'"`\\<>{}[]()$#!?;,|* éß名称ａ٣😀𝒜'];
/** The largest signed integer of 64 bits, a rule of longs that no pattern expresses. */
const MAX_LONG = 2n ** 63n - 1n;
const isLong = ({ pattern }: Schema) => pattern !== undefined && pattern.includes('\\d{0,18}');

/** Formats that only keep characters out, in the words of the document's description. */
const UNDISGUISED = String.raw`[^\p{Cc}\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]`;
const OF_CHARACTERS: Readonly<Record<string, string>> = {
  id: String.raw`^[^\s\p{C}]*$`,
  text: `^${UNDISGUISED}*$`,
  password: `^${UNDISGUISED}*$`,
};
const isOfCharacters = ({ format = '' }: Schema) => Object.hasOwn(OF_CHARACTERS, format);
const patternOf = ({ pattern, format = '' }: Schema) => pattern ?? OF_CHARACTERS[format];

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** Valid values. `depth` bounds packages in packages. */
export function fitting(given: Schema, known: Known = {}, field = '', depth = 0): fc.Arbitrary<unknown> {
  const { schema, name } = resolved(given);
  if (schema.oneOf) return fc.oneof(...schema.oneOf.map((one) => fitting(one, known, field, depth)));
  if (schema.enum) return pick(...schema.enum);
  switch (schema.type) {
    case 'object':
      return fittingObject(schema, name, known, depth);
    case 'array':
      return fittingList(schema, known, field, depth);
    case 'string':
      return fittingText(schema, known[field] ?? []);
    case 'integer':
      return fittingInteger(schema);
    case 'boolean':
      return fc.boolean();
    default:
      throw new Error(`a schema that is not understood: ${JSON.stringify(schema)}`);
  }
}

function fittingObject(
  schema: Schema,
  name: string | undefined,
  known: Known,
  depth: number,
): fc.Arbitrary<unknown> {
  const required = schema.required ?? [];
  const members = Object.entries(schema.properties ?? {})
    // Packages nest without end: three levels are enough.
    .filter(([field]) => field !== 'children' || depth < 3)
    .map(
      ([field, part]) =>
        [field, fitting(part, known, field, depth + (field === 'children' ? 1 : 0))] as const,
    );
  const whole = fc.record(Object.fromEntries(members), {
    requiredKeys: required as never[],
    noNullPrototype: true,
  }) as fc.Arbitrary<Members>;
  const mend = name === undefined ? undefined : mends[name];
  return mend ? whole.map(mend) : whole;
}

function fittingList(schema: Schema, known: Known, field: string, depth: number): fc.Arbitrary<unknown> {
  const { items = {}, minItems = 0, maxItems = 3, uniqueItems = false } = schema;
  const item = fitting(items, known, field, depth);
  const size = { minLength: minItems, maxLength: Math.min(maxItems, minItems + 2) };
  return uniqueItems ? fc.uniqueArray(item, size) : fc.array(item, size);
}

function fittingText(schema: Schema, known: readonly string[]): fc.Arbitrary<string> {
  const { minLength = 0, maxLength = 40, format } = schema;
  const pattern = patternOf(schema);
  const fits = (text: string) =>
    [...text].length <= maxLength && (pattern === undefined || matches(pattern, text));
  const some = known.filter(fits);
  const made = format === 'date-time' ? timestamp : spelled(schema, minLength, maxLength).filter(fits);
  return some.length > 0 ? fc.oneof(made, pick(...some)) : made;
}

function spelled(schema: Schema, minLength: number, maxLength: number): fc.Arbitrary<string> {
  const pattern = patternOf(schema);
  if (isLong(schema))
    return fc.oneof(fc.bigInt(0n, MAX_LONG), pick(0n, MAX_LONG, 2n ** 53n + 1n)).map(String);
  if (pattern !== undefined && !isOfCharacters(schema)) return fc.stringMatching(new RegExp(pattern));
  const units = PALETTE.filter((unit) => pattern === undefined || matches(pattern, unit));
  const unit = pick(...units);
  const short = fc.string({ unit, minLength, maxLength: Math.min(maxLength, 24) });
  const longest = unit.map((each) => each.repeat(maxLength));
  // A composed character (é) has a normal form of the same length, so the bound is the same before and after.
  return fc
    .oneof({ weight: 12, arbitrary: short }, { weight: 1, arbitrary: longest })
    .map((text) => text.normalize('NFC'));
}

function matches(pattern: string, text: string): boolean {
  return new RegExp(pattern, 'u').test(text);
}

const TIMES = { min: new Date('1970-01-02T00:00:00Z'), max: new Date('2199-12-31T00:00:00Z') };
const timestamp = fc
  .tuple(fc.date({ ...TIMES, noInvalidDate: true }), pick('.000Z', 'Z', '.5Z', '+08:00', '.123-11:30', 'z'))
  .map(([date, zone]) => date.toISOString().replace(/\.\d{3}Z$/, zone));

function fittingInteger({
  minimum = 0,
  maximum = Number.MAX_SAFE_INTEGER,
  format,
}: Schema): fc.Arbitrary<unknown> {
  const numbers = fc.oneof(
    fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31 - 1) }),
    pick(minimum, maximum),
  );
  // Beyond a double only where the document allows it.
  if (format !== 'int64') return numbers;
  return fc.oneof(numbers, fc.bigInt(2n ** 53n, MAX_LONG).map(exact));
}

/** A number with exactly these digits. */
function exact(digits: bigint | string): unknown {
  return rawJson(String(digits));
}

/** Every way to break one rule of the value in one place. */
export function breakings(given: Schema, value: unknown): Breaking[] {
  return [...breakingsAt(given, value, '')];
}

type Found = Generator<Breaking>;

function* breakingsAt(given: Schema, value: unknown, place: string): Found {
  const { schema } = resolved(choice(given, value));
  for (const wrong of wrongTypes(schema)) yield { rule: 'type', place, value: () => wrong };
  if (schema.oneOf) {
    // Values that none of them allows: a long as text or as a number.
    for (const one of schema.oneOf)
      yield* one.type === 'string' ? brokenText(one, place) : brokenInteger(one, place);
    return;
  }
  if (typeof value === 'string') yield* brokenText(schema, place);
  else if (Array.isArray(value)) yield* brokenList(schema, value, place);
  else if (schema.type === 'object') yield* brokenObject(schema, value as Members, place);
  else if (schema.type === 'integer') yield* brokenInteger(schema, place);
}

/** The schema of a value, out of several: by its discriminator, or by its type. */
function choice(given: Schema, value: unknown): Schema {
  const { schema } = resolved(given);
  if (!schema.oneOf) return given;
  if (!schema.discriminator) return schema;
  const { propertyName, mapping } = schema.discriminator;
  const $ref = mapping[String((value as Members)[propertyName])];
  if ($ref === undefined) throw new Error('a value of no schema');
  return { $ref };
}

const SAMPLES: readonly (readonly [type: string, value: unknown])[] = [
  ['null', null],
  ['boolean', true],
  ['integer', 5],
  ['number', 1.5],
  ['number', rawJson('1e400')],
  ['number', rawJson('-0')],
  ['string', '5'],
  ['array', []],
  ['array', [[]]],
  ['object', {}],
];

function wrongTypes(schema: Schema): unknown[] {
  const right = new Set((schema.oneOf ?? [schema]).map(({ type }) => type));
  return SAMPLES.filter(([type]) => !right.has(type)).map(([, value]) => value);
}

/** Characters that no text may have: controls, invisible ones, changes of direction, half a surrogate pair. */
const UNTEXTUAL = ['\u0000', '\n', '\u001b', '\u0085', '\u200b', '\u202e', '\u2066', '\ufeff', '\ud800'];

function* brokenText(schema: Schema, place: string): Found {
  const { minLength = 0, maxLength, format } = schema;
  const pattern = patternOf(schema);
  const wrong = (rule: string, value: string): Breaking => ({ rule, place, value: () => value });
  if (schema.enum) {
    const [first] = schema.enum as readonly string[];
    for (const other of ['', `${first} `, String(first).toUpperCase(), 'toString'])
      yield wrong('enum', other);
    return;
  }
  if (minLength > 0) yield wrong('minLength', '');
  if (maxLength !== undefined) {
    yield wrong('maxLength', 'x'.repeat(maxLength + 1));
    yield wrong('maxLength', '😀'.repeat(maxLength + 1));
  }
  if (format === 'date-time')
    for (const text of ['2026-02-30T00:00:00Z', '2026-11-20', '2026-11-20T08:00:00', '1795161600000', ''])
      yield wrong('format', text);
  if (isLong(schema))
    for (const text of ['-1', '01', '9223372036854775808', '1.0', '0x10', ' 1', ''])
      yield wrong('long', text);
  if (pattern === undefined) return;
  const around = isOfCharacters(schema) ? UNTEXTUAL : [...UNTEXTUAL, ' ', '/', '..', '%2e', 'é', '٣'];
  for (const odd of around) yield wrong('pattern', `a${odd}b`);
  if (!matches(pattern, ' ')) yield wrong('pattern', 'a b');
  // A pattern bounds the length, and would be slow to reject.
  if (maxLength === undefined) yield wrong('pattern', 'a'.repeat(50_000));
}

function* brokenInteger({ minimum, maximum, format }: Schema, place: string): Found {
  const wrong = (rule: string, value: unknown): Breaking => ({ rule, place, value: () => value });
  if (minimum !== undefined) yield wrong('minimum', minimum - 1);
  if (maximum !== undefined) yield wrong('maximum', exact(BigInt(maximum) + 1n));
  if (format === 'int64') yield wrong('long', exact(MAX_LONG + 1n));
  yield wrong('type', 0.5);
}

function* brokenList(schema: Schema, list: readonly unknown[], place: string): Found {
  const { items = {}, minItems = 0, maxItems, uniqueItems = false } = schema;
  if (minItems > 0) yield { rule: 'minItems', place, value: () => list.slice(0, minItems - 1) };
  // Beyond that the whole body is too large.
  const isSmall = () => maxItems !== undefined && JSON.stringify(list[0]).length * maxItems < 900_000;
  if (maxItems !== undefined && list.length > 0 && isSmall()) {
    const item = (index: number) => (typeof list[0] === 'string' ? `n${index}` : list[0]);
    const value = () => Array.from({ length: maxItems + 1 }, (_, index) => item(index));
    yield { rule: 'maxItems', place, value, deep: true };
  }
  if (uniqueItems && list.length > 0) yield { rule: 'uniqueItems', place, value: () => [...list, list[0]] };
  // One item of a list represents all.
  const index = list.length - 1;
  if (index < 0) return;
  for (const broken of breakingsAt(items, list[index], `${place}/${index}`))
    yield { ...broken, value: () => list.with(index, broken.value()) };
}

function* brokenObject(schema: Schema, value: Members, place: string): Found {
  const properties = schema.properties ?? {};
  for (const field of schema.required ?? []) {
    const { [field]: _, ...rest } = value;
    yield { rule: 'required', place: `${place}/${field}`, value: () => rest };
  }
  const [first = 'x'] = Object.keys(properties);
  for (const field of [first.toUpperCase(), `${first} `, '', 'a/b~c', '__proto__', 'toString']) {
    const pointer = `${place}/${field.replaceAll('~', '~0').replaceAll('/', '~1')}`;
    yield { rule: 'additionalProperties', place: pointer, value: () => withMember(value, field, {}) };
  }
  for (const [field, part] of Object.entries(properties)) {
    if (!Object.hasOwn(value, field)) continue;
    for (const broken of breakingsAt(part, value[field], `${place}/${field}`))
      yield { ...broken, value: () => ({ ...value, [field]: broken.value() }) };
  }
}

/** With `__proto__` as a member of its own. */
function withMember(value: Members, field: string, member: unknown): Members {
  return Object.fromEntries([...Object.entries(value), [field, member]]) as Members;
}
