import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { Exclude, Expose, plainToInstance, Transform, Type } from 'class-transformer';
import * as validator from 'class-validator';
import { compile, validated } from './compiled-validation.ts';
import { declaredFields } from './declared-fields.ts';
import { Flag } from './rules.ts';

const { IsOptional, IsString, ValidateNested } = validator;

/** Makes a class whose one field has these decorators. */
function classWith(...decorators: readonly PropertyDecorator[]): new () => object {
  class Probe {
    field?: unknown;
  }
  for (const decorate of decorators) decorate(Probe.prototype, 'field');
  return Probe;
}

class Inner {
  name?: unknown;
}
IsString()(Inner.prototype, 'name');

@validator.ValidatorConstraint()
class IsShouted implements validator.ValidatorConstraintInterface {
  validate(value: unknown): boolean {
    return typeof value === 'string' && value === value.toUpperCase();
  }
  defaultMessage(): string {
    return '$property must be in capital letters';
  }
}

/** The arguments of each decorator of the package that needs some. */
const GIVEN: Readonly<Record<string, readonly unknown[]>> = {
  ...{ ArrayContains: [['a']], ArrayMaxSize: [1], ArrayMinSize: [2], ArrayNotContains: [['a']] },
  ...{
    Contains: ['a'],
    NotContains: ['a'],
    Equals: ['a'],
    NotEquals: ['a'],
    IsIn: [['a', 5]],
    IsNotIn: [['a']],
  },
  ...{
    DivisibleBy: undefined,
    IsDivisibleBy: [5],
    IsEnum: [{ a: 'a' }],
    IsHash: ['md5'],
    IsIdentityCard: ['any'],
  },
  ...{ IsInstance: [Date], IsMobilePhone: ['en-US'], IsPhoneNumber: ['US'], IsPostalCode: ['any'] },
  ...{ IsPassportNumber: ['DE'], IsLicensePlate: ['de-DE'], IsTaxId: ['en-US'], IsUUID: ['4'] },
  ...{ Length: [2, 3], Matches: [/a/], Max: [4], MaxLength: [2], Min: [6], MinLength: [3] },
  ...{ MaxDate: [new Date(0)], MinDate: [new Date()], Validate: [IsShouted] },
  ...{ ValidateIf: [(_: object, value: unknown) => value !== 'a'], IsByteLength: [2, 3] },
} as never;
/** Exports that are no decorators of fields. */
const OTHERS = new Set(['ValidateBy', 'ValidatorConstraint', 'ValidatePromise', 'ValidateNested']);
const isClass = (value: unknown) => /^class\b/.test(String(value));
const decorators = Object.entries(validator).filter(
  ([name, value]) =>
    /^[A-Z][a-z]/.test(name) && typeof value === 'function' && !isClass(value) && !OTHERS.has(name),
) as unknown as readonly (readonly [string, (...given: unknown[]) => PropertyDecorator])[];

const VALUES: readonly unknown[] = [
  ...[
    undefined,
    null,
    true,
    false,
    0,
    5,
    -1.5,
    2 ** 53,
    '',
    ' ',
    'a',
    'A',
    'abcd',
    '5',
    '-5.5',
    '5,5',
    'true',
  ],
  ...['2026-11-27', '2026-11-27T08:00:00Z', 'a@b.example', 'https://b.example/a', '10.0.0.1', '::1', '#fff'],
  ...[
    '{"a":1}',
    'de305d54-75b4-431b-adb2-eb6b9e546014',
    '+12025550123',
    '12345',
    'C01X00T47',
    'ab12cd34',
    'é',
  ],
  ...[[], ['a'], ['a', 'a', 5], [5], {}, { a: 1 }, [{ a: 1 }, { a: 1 }], new Date(1), ['2026-11-27']],
];

/** True if the field has a fault. */
const ours = (type: new () => object, field: unknown) => validated(type, { field }).faults.length > 0;
const theirs = (type: new () => object, field: unknown) =>
  validator.validateSync(plainToInstance(type, { field }), { whitelist: true, forbidNonWhitelisted: true })
    .length > 0;

describe('the decorators of class-validator', () => {
  it('are all tried here', () => {
    expect(decorators.length).toBeGreaterThan(90);
  });

  it.each(decorators)(
    '%s says what class-validator says, alone, for each item, and where it is optional',
    (name, make) => {
      const given = GIVEN[name] ?? [];
      const each = name === 'ValidateIf' || given.length < make.length - 1 ? [] : [{ each: true }];
      for (const type of [
        classWith(make(...given)),
        classWith(make(...given, ...each)),
        classWith(make(...given), IsOptional()),
      ]) {
        const said = VALUES.map((value) => [value, ours(type, value)]);
        expect(said).toEqual(VALUES.map((value) => [value, theirs(type, value)]));
      }
    },
  );

  it('check parts, lists of parts, and what class-transformer has converted', () => {
    const one = classWith(
      Type(() => Inner),
      ValidateNested(),
    );
    const list = classWith(
      Type(() => Inner),
      ValidateNested({ each: true }),
      validator.IsArray(),
    );
    const date = classWith(
      Type(() => Date),
      validator.IsDate(),
    );
    const number = classWith(
      Type(() => Number),
      validator.IsInt(),
    );
    const parts = [{ name: 'a' }, { name: 5 }, [{ name: 'a' }], [{ name: 'a' }, { name: 5 }], {}, 'a', [5]];
    for (const type of [one, list, date, number])
      for (const value of [...parts, ...VALUES])
        expect([value, ours(type, value)]).toEqual([value, theirs(type, value)]);
    expect(validated(list, { field: [{ name: 'a' }, { name: 5 }] }).faults).toEqual([
      { path: ['field', 1, 'name'], allowed: 'must be a string' },
    ]);
  });

  it.each([
    [[validator.MaxLength(5)], 'a long secret', 'must be shorter than or equal to 5 characters'],
    [[validator.IsIn(['a', 'b'])], 'c', 'must be one of the following values: a, b'],
    [[validator.IsInt({ each: true })], ['c'], 'each value in field must be an integer number'],
    [[validator.Min(3, { message: '$property is $value, not $constraint1' })], 2, 'is the value, not 3'],
    [[validator.Validate(IsShouted)], 'quiet', 'must be in capital letters'],
    [[IsString()], undefined, 'is required: must be a string'],
  ])('say what is allowed, and never the value', (rules, value, allowed) => {
    expect(validated(classWith(...rules), { field: value }).faults).toEqual([{ path: ['field'], allowed }]);
  });
});

describe('the fields that a class declares', () => {
  it.each([
    ['a promise', validator.ValidatePromise()],
    ['a conversion one way only', Transform(({ value }) => value as unknown, { toClassOnly: true })],
    [
      'a discriminator of class-transformer',
      Type(() => Object, { discriminator: { property: 'kind', subTypes: [] } }),
    ],
    ['another name outside', Expose({ name: 'other' })],
    ['a hidden field', Exclude()],
  ])('are refused rather than left out where there is %s', (_, decorator) => {
    expect(() => declaredFields(classWith(Flag(), decorator))).toThrow(
      /^Probe has .* that compiled validation does not know$/,
    );
  });

  it('are refused where the class of a part is not named', () => {
    expect(() => compile(classWith(ValidateNested()))).toThrow(
      'Probe: @ValidateNested() of field needs @Type(() => …), the class of its objects',
    );
  });

  it('are refused where nothing is declared', () => {
    class Empty {
      field?: unknown;
    }
    expect(() => declaredFields(Empty)).toThrow('Empty has no rules');
  });
});
