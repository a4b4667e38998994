import { applyDecorators } from '@nestjs/common';
import { ApiProperty } from '@nestjs/swagger';
import { Transform, Type } from 'class-transformer';
import { ValidateBy, ValidateIf, ValidateNested } from 'class-validator';
import { type Enumeration, enumerationSchema } from '../shared/enumeration.ts';
import { integerText, isJsonText } from '../shared/json.ts';
import { declareSecretField } from '../shared/secret-fields.ts';
import { isPathId, PATH_ID_RULE } from '../upstream/operations.ts';
import { BLANK_AROUND, hasLength, isIdentifier, isSecret, isText, type Length, tidied } from './texts.ts';

/**
 * The rules of request fields. One decorator declares the check, the text of the fault, and the OpenAPI schema. Values of a body are never
 * converted: a number in a string is a wrong type.
 */

export interface FieldDoc {
  /** The field's name on the platform, if it differs. */
  readonly 'x-upstream'?: string;
  readonly description?: string;
  readonly example?: unknown;
}

export type Test = (value: unknown, object: object) => boolean;

/** Declares a rule of a field. The constraints are for compiled validation, which calls the test itself. */
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
 * The property name under which class-validator keeps rules of a whole object, because it supports rules of properties only. No field has
 * this name.
 */
export const OBJECT_RULE = '$object';
const POLLUTING = new Set([OBJECT_RULE, 'prototype', ...Object.getOwnPropertyNames(Object.prototype)]);

/**
 * True for a key that reaches a prototype when code merges objects carelessly, or that every object inherits. Later code (such as
 * class-transformer) ignores some of these silently. No field has such a name, nor {@link OBJECT_RULE}.
 */
export function isPolluting(key: string): boolean {
  return POLLUTING.has(key);
}

/** The number of object rules. A class may have several, and class-validator distinguishes them by name. */
let objectRules = 0;

/** Declares a rule of several fields on the class. Its fault points to the object. */
export function ObjectRule<T extends object>(test: (object: T) => boolean, allowed: string): ClassDecorator {
  const holds: Test = (_, object) => test(object as T);
  return (target) => rule(`object${++objectRules}`, holds, allowed)(target.prototype as object, OBJECT_RULE);
}

const isGiven = (_: unknown, value: unknown): boolean => value !== undefined;

/** Declares that the field may be left out. `null` is a wrong type. */
export function Optional(): PropertyDecorator {
  return applyDecorators(ValidateIf(isGiven), ApiProperty({ required: false }));
}

const isSet = (_: unknown, value: unknown): boolean => value !== undefined && value !== null;

/** Declares the optional fields of an edit that `null` clears (see `PlatformReadings.assertClears`). */
export function Clearable<T extends object>(...fields: readonly (keyof T & string)[]): ClassDecorator {
  return ({ prototype }) => {
    for (const field of fields)
      applyDecorators(ValidateIf(isSet), ApiProperty({ nullable: true }))(prototype as object, field);
  };
}

/**
 * The formats of text and ids in the document. Their descriptions say which characters they refuse. A pattern that every tool reads the
 * same way would need a hundred escaped characters for each field, and with \p{…} a tool without the flag for it would refuse valid ids. So
 * the pattern of an id says only what every tool understands: one line, without blanks around it.
 */
const TEXT = 'text';
const ID = 'id';
const ID_DOC = { minLength: 1, format: ID, pattern: String.raw`^\S(.*\S)?$` };

const TEXT_RULE =
  'none of them a control character (tabs and line ends are allowed) or one that turns letters around (U+202D, U+202E)';
function textRule(length: Length): PropertyDecorator {
  const { min = 1, max } = length;
  const size = max === undefined ? `at least ${min} character` : `${min} to ${max} characters`;
  return rule('text', (value) => isText(value, length), `must be text of ${size}, ${TEXT_RULE}`);
}

const lengthDoc = ({ min = 1, max }: Length) => ({
  minLength: min,
  ...(max !== undefined && { maxLength: max }),
});

/** Declares a text for people. It is converted to Unicode normal form C, without blanks around it. */
export function Text(doc: FieldDoc = {}, length: Length = {}): PropertyDecorator {
  return applyDecorators(
    Transform(({ value }) => tidied(value, length.max)),
    textRule(length),
    ApiProperty({ type: String, ...lengthDoc(length), format: TEXT, ...doc }),
  );
}

/** Declares a text that programs may read, such as the value of a feature. It is passed on unchanged, with its blanks. */
export function ExactText(doc: FieldDoc = {}, length: Length = {}): PropertyDecorator {
  return applyDecorators(
    textRule(length),
    ApiProperty({
      ...{ type: String, ...lengthDoc(length), format: TEXT, description: 'Passed on unchanged' },
      ...doc,
    }),
  );
}

/** Declares that the field holds a secret, under its own name and the platform's. No text and no preview shows it. */
function secretField({ 'x-upstream': wireName }: FieldDoc): PropertyDecorator {
  return (_, field) => {
    declareSecretField(String(field));
    if (wireName !== undefined) declareSecretField(wireName);
  };
}

const SECRET_RULE = 'at least 1 character, none of them a control character';

/** Declares a text that is passed on byte for byte and never shown, such as the password of a login. */
export function SecretText(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    secretField(doc),
    rule('secret', isSecret, `must be text of ${SECRET_RULE}`),
    ApiProperty({ type: String, minLength: 1, format: 'password', ...doc }),
  );
}

/**
 * Declares a password that is to be set. It is never changed, so a blank around it is refused: most such blanks are mistakes, and they lock
 * their user out.
 */
export function NewPassword(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    SecretText({ description: 'Passed on unchanged. It must not begin or end with a blank', ...doc }),
    rule(
      'blanks',
      (value) => typeof value !== 'string' || !BLANK_AROUND.test(value),
      'must not begin or end with a blank: the gateway does not change a password, and such a blank is mostly a mistake',
    ),
  );
}

const ID_RULE = 'without control or invisible characters, and without blanks around it';
/**
 * Declares an id, number, code or login name of another system in a body or query, compared byte by byte. Its fault says which text it may
 * be, because callers do not think of many of these fields as ids.
 */
export function Identifier(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule('identifier', isIdentifier, `must be text of at least 1 character, ${ID_RULE}`),
    ApiProperty({ type: String, ...ID_DOC, ...doc }),
  );
}

/** The most characters of an id in a URL of the gateway. Two such ids fit into a URL, also percent-encoded. */
const MAX_IN_URL = 255;

/**
 * Declares an id that names an object in a URL of the gateway. Clients remove `.` and `..` from a URL (RFC 3986, 5.2.4), encoded or not.
 */
export function InUrl(): PropertyDecorator {
  return applyDecorators(
    rule('notDots', (value) => value !== '.' && value !== '..', 'must not be . or ..: no URL can name it'),
    rule(
      'inUrl',
      (value) => typeof value !== 'string' || hasLength(value, { max: MAX_IN_URL }),
      `must have at most ${MAX_IN_URL} characters, because a URL names it`,
    ),
    ApiProperty({ maxLength: MAX_IN_URL }),
  );
}

/** Removes blanks around a value. They cannot be meant, because its form has none. */
export function Trimmed(): PropertyDecorator {
  return Transform(({ value }) => (isJsonText(value) ? value.trim() : (value as unknown)));
}

/** Declares a word of a fixed form. No form allows the character that marks a number, so no number is accepted as a word. */
export function Word(form: RegExp, allowed: string, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Trimmed(),
    rule('word', (value) => typeof value === 'string' && form.test(value), allowed),
    ApiProperty({ type: String, pattern: form.source, ...doc }),
  );
}

/** Declares an id that becomes part of a path of the platform. */
export function PathId(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    rule('pathId', (value) => typeof value === 'string' && isPathId(value), PATH_ID_RULE),
    // The rest of the rule is in the description of the format.
    ApiProperty({
      type: String,
      minLength: 1,
      maxLength: 128,
      pattern: String.raw`^[^/\\?#]+$`,
      format: ID,
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

/** Converts `5.0` and `5e0` to the integer 5 (JSON Schema 2020-12, validation 6.1.1). */
function asInteger(value: unknown): unknown {
  const digits = typeof value === 'string' ? integerText(value) : undefined;
  return digits !== undefined && Number.isSafeInteger(Number(digits)) ? Number(digits) : value;
}

export function WholeNumber(min: number, max: number, doc: FieldDoc = {}): PropertyDecorator {
  const test: Test = (value) =>
    Number.isSafeInteger(value) && (value as number) >= min && (value as number) <= max;
  return applyDecorators(
    Transform(({ value }) => asInteger(value)),
    rule('wholeNumber', test, `must be a whole number from ${min} to ${max}`),
    ApiProperty({ type: 'integer', minimum: min, maximum: max, ...doc }),
  );
}

/** Declares one word of an enumeration that the document names once, or of a list of words. */
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

/** The bounds of a list. Without `max`, only the number of all values of a body is limited. */
export interface Size {
  readonly min?: number;
  readonly max?: number;
}

function isListOf(
  value: unknown,
  { min = 0, max = Infinity }: Size,
  isItem: (item: unknown) => boolean,
): boolean {
  return Array.isArray(value) && value.length >= min && value.length <= max && value.every(isItem);
}

export function IdentifierList(size: Size & { readonly max: number }, doc: FieldDoc = {}): PropertyDecorator {
  const { min = 0, max } = size;
  const test: Test = (value) =>
    isListOf(value, size, isIdentifier) && new Set(value as string[]).size === (value as string[]).length;
  return applyDecorators(
    rule(
      'identifierList',
      test,
      `must be a list of ${min} to ${max} different texts, each of at least 1 character, ${ID_RULE}`,
    ),
    ApiProperty({
      type: 'array',
      items: { type: 'string', ...ID_DOC },
      minItems: min,
      maxItems: max,
      uniqueItems: true,
      ...doc,
    }),
  );
}

export function SecretList(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    secretField(doc),
    rule('secretList', (value) => isListOf(value, {}, isSecret), `must be a list of texts of ${SECRET_RULE}`),
    ApiProperty({
      type: 'array',
      items: { type: 'string', minLength: 1, format: 'password' },
      ...doc,
    }),
  );
}

export type ClassOf<T> = new () => T;
const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);

export function ListOf(item: () => ClassOf<object>, size: Size = {}, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Type(item),
    ValidateNested(),
    ListRule(size),
    ApiProperty({ type: () => item(), isArray: true, ...sizeDoc(size), ...doc }),
  );
}

export function sizeDoc({ min = 0, max }: Size) {
  return { minItems: min, ...(max !== undefined && { maxItems: max }) };
}

/** Declares the bounds of a list of objects, if {@link ListOf} is not enough because the items are of several classes. */
export function ListRule(size: Size): PropertyDecorator {
  const { min = 0, max } = size;
  const count = max === undefined ? '' : `${min} to ${max} `;
  return rule('list', (value) => isListOf(value, size, isObject), `must be a list of ${count}objects`);
}

export function Nested(type: () => ClassOf<object>, doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(
    Type(type),
    ValidateNested(),
    rule('object', isObject, 'must be an object'),
    ApiProperty({ type: () => type(), ...doc }),
  );
}
