import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { integerText, isJsonText } from '../shared/json.ts';
import { LONG_DIGITS, longText } from '../upstream/wire/scalars.ts';
import { type Enumeration, enumerationSchema } from '../shared/enumeration.ts';
import { type FieldDoc, Flag, rule, type Test, Trimmed, WholeNumber, Word } from './rules.ts';

const isLong = (value: unknown) => isJsonText(value) && longText(value) !== undefined;
const LONG_RULE = 'must be a whole number of 64 bits';

/** Declares a long of the platform as digits. In a body it may also be a JSON integer, which is converted to its digits. */
export function Long(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Trimmed(),
    Transform(({ value }) => integerText(value) ?? (value as unknown)),
    rule('long', isLong, LONG_RULE),
    ApiProperty({
      oneOf: [
        { type: 'string', pattern: LONG_DIGITS.source },
        { type: 'integer', format: 'int64' },
      ],
      ...doc,
    }),
  );
}

/** Declares a long as digits in a string: for queries, and for fields that clients would read as a double if they were numbers. */
export function Digits(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Trimmed(),
    rule('long', isLong, LONG_RULE),
    ApiProperty({ type: String, format: 'int64', pattern: LONG_DIGITS.source, ...doc }),
  );
}

/**
 * Declares an integer of 32 bits. The interface sets no other bounds for quantities, and some platforms use values such as -1 for "no
 * limit".
 */
export function Int32(doc: FieldDoc = {}): PropertyDecorator {
  return WholeNumber(-(2 ** 31), 2 ** 31 - 1, doc);
}

const RFC3339 =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12]\d|3[01])T(?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d{1,3})?(?:Z|[+-](?:[01]\d|2[0-3]):[0-5]\d)$/i;

/** True for a timestamp with up to milliseconds. A day that does not exist (30 February) is refused. */
function isTimestamp(value: unknown): value is string {
  if (!isJsonText(value) || !RFC3339.test(value)) return false;
  // Every month has 28 days. After its last day a `Date` continues in the next month.
  const day = Number(value.slice(8, 10));
  return day <= 28 || new Date(`${value.slice(0, 10)}T00:00:00Z`).getUTCDate() === day;
}

const FINER_THAN_MS = /(\.\d{3})\d+(?=(?:Z|[+-]\d\d:\d\d)$)/i;
const LEAP_SECOND = /:60(?:\.\d+)?(?=(?:Z|[+-]\d\d:\d\d)$)/i;

/**
 * Converts a time of RFC 3339, which has fractions of any length, and leap seconds. The fraction is cut to milliseconds. A leap second
 * becomes the end of the second before it.
 */
function inMilliseconds(value: unknown): unknown {
  if (!isJsonText(value)) return value;
  if (!LEAP_SECOND.test(value)) return value.replace(FINER_THAN_MS, '$1');
  const before = value.replace(LEAP_SECOND, ':59.999');
  const isLeapSecond = isTimestamp(before) && new Date(before).toISOString().slice(11, 16) === '23:59';
  return isLeapSecond ? before : value;
}

const TIME_RULE = 'must be an RFC 3339 time such as 2026-11-20T08:00:00.000Z';

/** Times before 1971 are refused: some languages write "no time" as such a time, and the platform takes the first of 1970 for "none". */
const FIRST = Date.UTC(1971, 0);
const isFrom1971 = (value: unknown) => !isTimestamp(value) || Date.parse(value) >= FIRST;

/** A response cannot show a later time. The time of the request may be in another zone. */
const LAST = '9999-12-31T23:59:59.999Z';
const isUntil9999 = (value: unknown) => !isTimestamp(value) || Date.parse(value) <= Date.parse(LAST);

/** Declares a time of a body, from 1971 to 9999. */
export function Timestamp(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => inMilliseconds(value)),
    rule('timestamp', isTimestamp, TIME_RULE),
    rule('from1971', isFrom1971, 'must not be before 1971: leave the field out where there is no time'),
    rule('until9999', isUntil9999, `must not be after ${LAST}: leave the field out where there is no end`),
    ApiProperty({ type: String, format: 'date-time', ...doc }),
  );
}

/** Declares a time that is later than the one in the field `start`, if both are present. */
export function LaterThan(start: string): PropertyDecorator {
  const test: Test = (value, object) => {
    const from = (object as Readonly<Record<string, unknown>>)[start];
    return !isTimestamp(from) || !isTimestamp(value) || Date.parse(value) > Date.parse(from);
  };
  return rule('laterThan', test, `must be later than ${start}`);
}

/** Declares `y-m-d`, the platform's time expression (interface section 2.4). */
export function TimeDuration(doc: FieldDoc = {}): PropertyDecorator {
  return Word(/^\d+-\d+-\d+$/, 'must be years-months-days such as 1-0-0', {
    example: '1-0-0',
    ...doc,
  });
}

// All parameters of a query arrive as text. Only the exact spelling becomes a value, and any other text is refused.

const DATE = /^\d{4}-\d\d-\d\d$/;
/** A blank that was a `+` without percent-encoding. */
const BARE_PLUS = / (?=\d\d:\d\d$)/;

/** Declares a time in a query, or a date, which means the beginning of that day in UTC. */
export function TimestampParameter(doc: FieldDoc & { readonly description: string }): PropertyDecorator {
  const asTime = (value: unknown) => {
    if (!isJsonText(value)) return value;
    return DATE.test(value) ? `${value}T00:00:00.000Z` : inMilliseconds(value.replace(BARE_PLUS, '+'));
  };
  return applyDecorators(
    Transform(({ value }) => asTime(value)),
    rule('timestamp', isTimestamp, `${TIME_RULE}, or a date such as 2026-11-20`),
    ApiProperty({
      anyOf: [
        { type: 'string', format: 'date-time' },
        { type: 'string', format: 'date' },
      ],
      ...doc,
      description: `${doc.description}. A date stands for the beginning of that day in UTC`,
    }),
  );
}

/** Declares a flag in a query: exactly `true` or `false`. */
export function FlagParameter(doc: FieldDoc = {}): PropertyDecorator {
  const words = new Map<unknown, boolean>([
    ['true', true],
    ['false', false],
  ]);
  return applyDecorators(
    Transform(({ value }) => words.get(value) ?? (value as unknown)),
    Flag(doc),
  );
}

/** Declares a whole number in a query: digits only, without a sign, a leading zero or white space. */
export function WholeNumberParameter(min: number, max: number, doc: FieldDoc = {}): PropertyDecorator {
  const fromDigits = (value: unknown) =>
    isJsonText(value) && /^(0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value;
  return applyDecorators(
    Transform(({ value }) => fromDigits(value)),
    WholeNumber(min, max, doc),
  );
}

/** Declares one or more words of an enumeration in a query, separated by commas. */
export function ListParameter(of: Enumeration, doc: FieldDoc = {}): PropertyDecorator {
  const isList = (value: unknown) => Array.isArray(value) && value.every((word) => of.words.includes(word));
  return applyDecorators(
    Transform(({ value }) => (isJsonText(value) ? value.split(',') : (value as unknown))),
    rule('list', isList, `must be one or more of ${of.words.join(', ')}, separated by commas`),
    ApiProperty({
      type: 'array',
      items: enumerationSchema(of),
      minItems: 1,
      // These are parts of the parameter, next to its schema.
      ...{ style: 'form', explode: false },
      ...doc,
    }),
  );
}
