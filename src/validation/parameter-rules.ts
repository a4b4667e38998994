import { applyDecorators } from '@nestjs/common';
import { Transform } from 'class-transformer';
import { isJsonText } from '../shared/json.ts';
import { type FieldDoc, Flag, WholeNumber } from './rules.ts';

/** Rules of query parameters, which all arrive as text. Only the exact spelling becomes a value; anything else is refused. */

/** A flag in a query: exactly `true` or `false`. */
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

/** A whole number in a query: digits only, without a sign, a leading zero or white space. */
export function WholeNumberParameter(min: number, max: number, doc: FieldDoc = {}): PropertyDecorator {
  const fromDigits = (value: unknown) =>
    isJsonText(value) && /^(0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value;
  return applyDecorators(
    Transform(({ value }) => fromDigits(value)),
    WholeNumber(min, max, doc),
  );
}
