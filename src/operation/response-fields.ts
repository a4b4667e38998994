import { ApiProperty } from '@nestjs/swagger';
import { type Enumeration, enumerationSchema } from '../shared/enumeration.ts';

/** The documentation of a field of a response besides its type, which the build reads from the class. */

type FieldDoc = Parameters<typeof ApiProperty>[0] & Record<`x-${string}`, string>;

/** The field's name on the platform, if it differs. */
export function UpstreamName(name: string): PropertyDecorator {
  const doc: FieldDoc = { 'x-upstream': name };
  return ApiProperty(doc);
}

/** Declares a time of RFC 3339 in UTC with milliseconds. `upstream` is the field's name on the platform. */
export function Time(upstream?: string, description?: string): PropertyDecorator {
  return ApiProperty({
    format: 'date-time',
    ...(description !== undefined && { description }),
    ...(upstream !== undefined && { 'x-upstream': upstream }),
  });
}

/** Declares a 64-bit quantity: digits in a string, because many JSON readers have doubles only. */
export function Int64(upstream?: string): PropertyDecorator {
  return ApiProperty({ format: 'int64', ...(upstream !== undefined && { 'x-upstream': upstream }) });
}

/** Declares a word of an enumeration that may grow. */
export function OpenWord(words: Enumeration, description?: string): PropertyDecorator {
  return ApiProperty({ ...enumerationSchema(words), ...(description !== undefined && { description }) });
}

export function Count(description?: string): PropertyDecorator {
  return ApiProperty({ type: 'integer', minimum: 0, ...(description !== undefined && { description }) });
}

/** Declares a value whose shape the platform does not document. It is passed on as `plain` returns it, and null if it is absent. */
export function Opaque(): PropertyDecorator {
  return ApiProperty({
    oneOf: [
      { type: 'object', additionalProperties: true },
      { type: 'array', items: {} },
      ...['string', 'number', 'boolean', 'null'].map((type) => ({ type })),
    ],
    required: true,
    description:
      'Passed on as it comes, because the platform does not document its shape, but for two things: an integer beyond 2^53 is a string of its ' +
      'digits (another number that no double holds is the nearest one), and members named `__proto__`, `constructor` or `prototype` are left out',
  });
}
