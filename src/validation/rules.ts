import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { type Enumeration, enumerationSchema } from '../shared/enumeration.ts';
import { isJsonText } from '../shared/json.ts';
import { DISGUISING } from '../shared/clean-text.ts';
import { declareSecretField } from '../shared/secret-fields.ts';
import { isPathId, PATH_ID_RULE } from '../upstream/operations.ts';

/**
 * The rules of request fields: one decorator declares the check, the text of the fault, and the OpenAPI schema. Values of a body
 * are never converted: a number in a string is a wrong type.
 */

export interface FieldDoc {
  /** The field's name on the platform, where it differs. */
  readonly 'x-upstream'?: string;
  readonly description?: string;
  readonly example?: unknown;
}

export type Test = (value: unknown, object: object) => boolean;

/** A rule of a field. The constraints are for compiled validation, which calls the test itself. */
export function rule(name: string, test: Test, allowed: string): PropertyDecorator {
  return ValidateBy({
    name,
    constraints: [test, allowed],
    validator: {
      validate: (value, context) => test(value, context?.object ?? {}),
      defaultMessage: () => allowed,
    },
  });
}

/**
 * The property name under which class-validator keeps rules of a whole object, since it supports rules of properties only. No field
 * has this name.
 */
export const OBJECT_RULE = '$object';
const POLLUTING = new Set([OBJECT_RULE, 'prototype', ...Object.getOwnPropertyNames(Object.prototype)]);

/**
 * Keys that reach a prototype when code merges objects carelessly, or that every object inherits. Later code (such as
 * class-transformer) ignores some of these silently. No field has such a name, nor {@link OBJECT_RULE}.
 */
export function isPolluting(key: string): boolean {
  return POLLUTING.has(key);
}

/** A class may have several object rules: class-validator distinguishes them by name. */
let objectRules = 0;

/** A rule of several fields, declared on the class; its fault points to the object. */
export function ObjectRule<T extends object>(test: (object: T) => boolean, allowed: string): ClassDecorator {
  const holds: Test = (_, object) => test(object as T);
  return (target) => rule(`object${++objectRules}`, holds, allowed)(target.prototype as object, OBJECT_RULE);
}

export const isGiven = (_: unknown, value: unknown): boolean => value !== undefined;

/** The field may be left out; `null` is a wrong type. */
export function Optional(): PropertyDecorator {
  return applyDecorators(ValidateIf(isGiven), ApiProperty({ required: false }));
}

export const isSet = (_: unknown, value: unknown): boolean => value !== undefined && value !== null;

/** The optional fields of an edit that `null` clears (see `PlatformReadings.assertClears`). */
export function Clearable<T extends object>(...fields: readonly (keyof T & string)[]): ClassDecorator {
  return ({ prototype }) => {
    for (const field of fields)
      applyDecorators(ValidateIf(isSet), ApiProperty({ nullable: true }))(prototype as object, field);
  };
}

/**
 * The formats of text and ids in the document, whose description says what they refuse. As a pattern that every tool reads the same way they
 * would be a hundred escaped characters beside each field, and with \p{…} a tool without the flag for it would refuse valid ids.
 */
const TEXT = 'text';
const ID = 'id';

/** Counted in characters (code points), as JSON Schema does. */
function hasAtMost(value: string, max: number): boolean {
  return value.length <= max || (value.length <= 2 * max && [...value].length <= max);
}

const PRINTABLE_ASCII = /^[ -~]*$/;

/** Recognises nearly all valid text fast: it needs no further check and is in normal form C. */
function isSimpleText(value: unknown, max: number): value is string {
  return typeof value === 'string' && value.length <= max && PRINTABLE_ASCII.test(value);
}

function isPlainText(value: unknown, max: number, min = 1): value is string {
  if (isSimpleText(value, max)) return value.length >= min;
  return (
    isJsonText(value) &&
    value.length >= min &&
    hasAtMost(value, max) &&
    value.isWellFormed() &&
    !DISGUISING.test(value)
  );
}

/** A character in normal form C has at most four in another form, so a longer text is too long in any form; it would be slow to normalise. */
function normalised(value: unknown, max: number): unknown {
  if (isSimpleText(value, max) || !isJsonText(value) || value.length > 4 * max) return value;
  return value.normalize('NFC');
}

/** Text for people: `min` to `max` characters, converted to Unicode normal form C. */
export function Text(max: number, doc: FieldDoc = {}, min = 1): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => normalised(value, max)),
    rule(
      'text',
      (value) => isPlainText(value, max, min),
      `must be text of ${min} to ${max} characters, none of them a control character`,
    ),
    ApiProperty({ type: String, minLength: min, maxLength: max, format: TEXT, ...doc }),
  );
}

/** The field holds a secret, under its own name and the platform's: no text and no preview shows it. */
function secretField({ 'x-upstream': wireName }: FieldDoc): PropertyDecorator {
  return (_, field) => {
    declareSecretField(String(field));
    if (wireName !== undefined) declareSecretField(wireName);
  };
}

/** Text that is passed on byte for byte and never shown, such as a licence password. */
export function SecretText(max: number, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    secretField(doc),
    rule(
      'secret',
      (value) => isPlainText(value, max),
      `must be text of 1 to ${max} characters, none of them a control character`,
    ),
    ApiProperty({
      type: String,
      minLength: 1,
      maxLength: max,
      format: 'password',
      ...doc,
    }),
  );
}

const MAX_IDENTIFIER = 128;
const UNFIT = /[\s\p{C}]/u;
const isIdentifier = (value: unknown) => isPlainText(value, MAX_IDENTIFIER) && !UNFIT.test(value);

/** An id or number of another system in a body or query, compared byte by byte. */
export function Identifier(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule(
      'identifier',
      isIdentifier,
      `must be an id of 1 to ${MAX_IDENTIFIER} characters without white space`,
    ),
    ApiProperty({
      type: String,
      minLength: 1,
      maxLength: MAX_IDENTIFIER,
      format: ID,
      ...doc,
    }),
  );
}

/** An id by which a thing is named in a path of the gateway: clients take `.` and `..` out of a URL (RFC 3986, 5.2.4), encoded or not. */
export function NotDots(): PropertyDecorator {
  return rule(
    'notDots',
    (value) => value !== '.' && value !== '..',
    'must not be . or ..: no URL can name it',
  );
}

/** A word of a fixed form. No form allows the character that marks a number, so no number is taken for a word. */
export function Word(form: RegExp, allowed: string, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule('word', (value) => typeof value === 'string' && form.test(value), allowed),
    ApiProperty({ type: String, pattern: form.source, ...doc }),
  );
}

/** An id that becomes part of a path of the platform. */
export function PathId(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule('pathId', (value) => typeof value === 'string' && isPathId(value), PATH_ID_RULE),
    // The rest of the rule is in the description of the format.
    ApiProperty({
      type: String,
      minLength: 1,
      maxLength: 128,
      pattern: String.raw`^[^/\\?#]+$`,
      format: TEXT,
      ...doc,
    }),
  );
}

export function Flag(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule('flag', (value) => typeof value === 'boolean', 'must be true or false'),
    ApiProperty({ type: Boolean, ...doc }),
  );
}

export function WholeNumber(min: number, max: number, doc: FieldDoc = {}): PropertyDecorator {
  const test: Test = (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
  return applyDecorators(
    rule('wholeNumber', test, `must be a whole number from ${min} to ${max}`),
    ApiProperty({ type: 'integer', minimum: min, maximum: max, ...doc }),
  );
}

/** One word of an enumeration that the document names once, or of a list of words. */
export function OneOf(choice: Enumeration | readonly string[], doc: FieldDoc = {}): PropertyDecorator {
  const { words } = 'words' in choice ? choice : { words: choice };
  return applyDecorators(
    rule('oneOf', (value) => words.includes(value as string), `must be one of ${words.join(', ')}`),
    ApiProperty({
      type: String,
      ...('words' in choice ? enumerationSchema(choice) : { enum: [...choice] }),
      ...doc,
    }),
  );
}

export interface Size {
  readonly min?: number;
  readonly max: number;
}

function isListOf(value: unknown, { min = 0, max }: Size, isItem: (item: unknown) => boolean): boolean {
  return Array.isArray(value) && value.length >= min && value.length <= max && value.every(isItem);
}

export function IdentifierList(size: Size, doc: FieldDoc = {}): PropertyDecorator {
  const { min = 0, max } = size;
  const test: Test = (value) =>
    isListOf(value, size, isIdentifier) && new Set(value as string[]).size === (value as string[]).length;
  return applyDecorators(
    rule(
      'identifierList',
      test,
      `must be a list of ${min} to ${max} different ids, each of 1 to ${MAX_IDENTIFIER} characters without white space`,
    ),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength: MAX_IDENTIFIER, format: ID },
      minItems: min,
      maxItems: max,
      uniqueItems: true,
      ...doc,
    }),
  );
}

export function SecretList(size: Size, doc: FieldDoc = {}): PropertyDecorator {
  const maxLength = 256;
  return applyDecorators(
    secretField(doc),
    rule(
      'secretList',
      (value) => isListOf(value, size, (item) => isPlainText(item, maxLength)),
      `must be a list of at most ${size.max} texts`,
    ),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: 1, maxLength, format: 'password' },
      maxItems: size.max,
      ...doc,
    }),
  );
}

export type ClassOf<T> = new () => T;
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

export function ListOf(item: () => ClassOf<object>, size: Size, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Type(item),
    ValidateNested(),
    ListRule(size),
    ApiProperty({ type: () => item(), isArray: true, minItems: size.min ?? 0, maxItems: size.max, ...doc }),
  );
}

/** The bounds of a list of objects, where {@link ListOf} is not enough because the items are of several classes. */
export function ListRule(size: Size): PropertyDecorator {
  const { min = 0, max } = size;
  return rule(
    'list',
    (value) => isListOf(value, size, isObject),
    `must be a list of ${min} to ${max} objects`,
  );
}

export function Nested(type: () => ClassOf<object>, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Type(type),
    ValidateNested(),
    rule('object', isObject, 'must be an object'),
    ApiProperty({ type: () => type(), ...doc }),
  );
}
