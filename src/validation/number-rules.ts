import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform } from 'class-transformer';
import { isJsonText, numberText } from '../shared/json.ts';
import { type FieldDoc, rule } from './rules.ts';

const MAX_LONG = 2n ** 63n - 1n;
const LONG = /^(0|[1-9]\d{0,18})$/;
const isLong = (value: unknown) => isJsonText(value) && LONG.test(value) && BigInt(value) <= MAX_LONG;
const LONG_RULE = 'must be a whole number of 64 bits, not negative';

/** A long of the platform as digits; in a body it may be a JSON integer too, which becomes its digits. */
export function Long(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => numberText(value) ?? (value as unknown)),
    rule('long', isLong, LONG_RULE),
    ApiProperty({
      oneOf: [
        { type: 'string', pattern: LONG.source },
        { type: 'integer', format: 'int64', minimum: 0 },
      ],
      ...doc,
    }),
  );
}

/** A long as digits in a string: for queries, and where clients would read a number as a double. */
export function Digits(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule('long', isLong, LONG_RULE),
    ApiProperty({ type: String, format: 'int64', pattern: LONG.source, ...doc }),
  );
}
