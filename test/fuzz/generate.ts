import fc from 'fast-check';
import { document } from '../support/contract.ts';
import { mends } from './cross-rules.ts';

/** Generates valid values from JSON Schema, as far as our OpenAPI document uses it. */

export interface Schema {
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly oneOf?: readonly Schema[];
  readonly anyOf?: readonly Schema[];
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly required?: readonly string[];
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
const PALETTE = [...'abcXYZ0189-_.:/@%&=+~\'"`\\<>{}[]()$#!?;,|* éß名称ａ٣😀𝒜\t\r\n\u200c\u200f\u2067'];
/** The largest signed integer of 64 bits, a rule of longs that no pattern expresses. */
const MAX_LONG = 2n ** 63n - 1n;
const isLong = ({ pattern }: Schema) => pattern !== undefined && pattern.includes('\\d{0,18}');

/** Formats that only keep characters out, in the words of the document's description. */
const OF_CHARACTERS: Readonly<Record<string, string>> = {
  id: String.raw`^(?!\s)[^\p{C}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]*(?<!\s)$`,
  text: String.raw`^(?!\s+$)(?:[\t\n\r]|[^\p{Cc}\u202d\u202e\ud800-\udfff])*$`,
  password: String.raw`^(?!\s)[^\p{Cc}\ud800-\udfff]*(?<!\s)$`,
};
const isOfCharacters = ({ format = '' }: Schema) => Object.hasOwn(OF_CHARACTERS, format);
/** Whether a text has the pattern of the schema, and that of its format. */
const hasForm = ({ pattern, format = '' }: Schema, text: string) =>
  [pattern, OF_CHARACTERS[format]].every((each) => each === undefined || matches(each, text));

const pick = <T>(...values: readonly T[]): fc.Arbitrary<T> => fc.constantFrom(...values);

/** Valid values. `depth` bounds packages in packages. */
export function fitting(given: Schema, known: Known = {}, field = '', depth = 0): fc.Arbitrary<unknown> {
  const { schema, name } = resolved(given);
  const choices = schema.oneOf ?? schema.anyOf?.filter(({ type }) => type !== 'null');
  if (choices) return fc.oneof(...choices.map((one) => fitting(one, known, field, depth)));
  if (schema.enum) return pick(...schema.enum);
  // Null is refused while the platform is not known to clear a field.
  switch ([schema.type].flat().find((type) => type !== 'null')) {
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
  // Some texts are trimmed before they are measured.
  const fits = (text: string) =>
    [...text.trim()].length >= minLength && [...text].length <= maxLength && hasForm(schema, text);
  const some = known.filter(fits);
  const made = format?.startsWith('date')
    ? timestamps(format)
    : spelled(schema, minLength, maxLength).filter(fits);
  return some.length > 0 ? fc.oneof(made, pick(...some)) : made;
}

function spelled(schema: Schema, minLength: number, maxLength: number): fc.Arbitrary<string> {
  const { pattern } = schema;
  if (isLong(schema))
    return fc.oneof(fc.bigInt(0n, MAX_LONG), pick(0n, MAX_LONG, 2n ** 53n + 1n)).map(String);
  if (pattern !== undefined && !isOfCharacters(schema)) return fc.stringMatching(new RegExp(pattern));
  // Some formats refuse a blank only at the ends.
  const units = PALETTE.filter((unit) => hasForm(schema, `a${unit}a`));
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

const TIMES = { min: new Date('1971-01-02T00:00:00Z'), max: new Date('2199-12-31T00:00:00Z') };
const ZONES = pick('.000Z', 'Z', '.5Z', '+08:00', '.123-11:30', 'z', '.123456789Z');
const timestamps = (format: string) =>
  fc.tuple(fc.date({ ...TIMES, noInvalidDate: true }), ZONES).map(([date, zone]) => {
    const text = date.toISOString();
    return format === 'date' ? text.slice(0, 10) : text.replace(/\.\d{3}Z$/, zone);
  });

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
  return fc.oneof(
    numbers,
    fc.bigInt(2n ** 53n, MAX_LONG).map((digits) => rawJson(String(digits))),
  );
}
