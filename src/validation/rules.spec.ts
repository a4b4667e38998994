import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { codePoint } from '../../test/support/code-point.ts';
import type { RequestFault } from '../problem/problem.exception.ts';
import { secretValues, withoutSecrets } from '../shared/secret-fields.ts';
import { readRequestBody } from './request-body.ts';
import {
  ExactText,
  Flag,
  Identifier,
  IdentifierList,
  ListOf,
  Nested,
  NewPassword,
  OneOf,
  Optional,
  PathId,
  SecretList,
  SecretText,
  Text,
  WholeNumber,
  Word,
} from './rules.ts';
import { LaterThan, Long, TimeDuration, Timestamp, TimestampParameter } from './scalar-rules.ts';
import { checkedPart } from './validation.guard.ts';

/** Returns the faults that a caller would see for this body. */
function faultsOf(metatype: new () => object, json: string): readonly RequestFault[] {
  const faults: RequestFault[] = [];
  checkedPart('body', readRequestBody(Buffer.from(json)), metatype, faults);
  return faults;
}

class Inner {
  @Flag()
  on!: boolean;
}

/** JSON text of each kind of value. No rule accepts values of another kind, because nothing is converted. */
const kinds = {
  text: '"5"',
  number: '5',
  fraction: '1.5',
  zeroFraction: '5.0',
  exponent: '0.5e1',
  huge: '1e400',
  marked: '12345678901234567',
  negativeZero: '-0',
  yes: 'true',
  no: 'false',
  nothing: 'null',
  object: '{"on":true}',
  list: '["a"]',
  objects: '[{"on":true}]',
  lists: '[[]]',
  nulls: '[null]',
};
type KindName = keyof typeof kinds;

/** Characters that no text may contain, and values that are no characters. */
const unfit = [
  ...'\u0000\u0007\u000b\u001b\u007f\u0085\u009f\u202d\u202e',
  ...['\ud800', '\udfff', '\udfff5'],
];
/** Characters that names in some scripts need, and that addresses and remarks contain. No id may contain them. */
const ofTexts = [
  ...'\n\r\t\u061c\u200b\u200c\u200d\u200e\u200f\u2028\u2029\u202a\u202c\u2060\u2066\u2069\ufeff',
  ...'\u034f\u115f\u17b4\u3164\ufe0f\uffa0',
];
const TEXT_RULE =
  'none of them a control character (tabs and line ends are allowed) or one that turns letters around (U+202D, U+202E)';
const ID_RULE =
  'of at least 1 character, without control or invisible characters, and without blanks around it';

interface Row {
  readonly name: string;
  readonly rule: PropertyDecorator;
  readonly message: string;
  readonly kinds: readonly KindName[];
  readonly accepted: readonly unknown[];
  readonly refused: readonly unknown[];
}

const rows: Row[] = [
  {
    name: 'text',
    rule: Text({}, { max: 5 }),
    message: `must be text of 1 to 5 characters, ${TEXT_RULE}`,
    kinds: ['text'],
    accepted: [
      'a',
      '12345',
      ' 12345\n',
      '名称 ö',
      '<b>',
      '$&',
      '😀😀😀',
      ...ofTexts.map((each) => `a${each}b`),
    ],
    refused: ['', ' ', '\u3000\n', '123456', ...unfit.filter((each) => each !== '\u000b')],
  },
  {
    name: 'text of any length',
    rule: Text(),
    message: `must be text of at least 1 character, ${TEXT_RULE}`,
    kinds: ['text'],
    accepted: ['علی\u200cرضا', 'क्\u200dष', '\u2067a\u2069', 'x'.repeat(10_000), 'a\u0301'.repeat(5_000)],
    refused: unfit.map((each) => `a${each}b`),
  },
  {
    name: 'text that is passed on unchanged',
    rule: ExactText(),
    message: `must be text of at least 1 character, ${TEXT_RULE}`,
    kinds: ['text'],
    accepted: [' ', ' a\n', ...ofTexts],
    refused: ['', ...unfit],
  },
  {
    name: 'secret',
    rule: SecretText(),
    message: 'must be text of at least 1 character, none of them a control character',
    kinds: ['text'],
    accepted: ['a', ' a ', 'x'.repeat(1_000), 'é', 'e\u0301', '\u200c'],
    refused: ['', 'a\n', 'a\tb', '\ud800'],
  },
  {
    name: 'new password',
    rule: NewPassword(),
    message:
      'must not begin or end with a blank: the gateway does not change a password, and such a blank is mostly a mistake',
    kinds: ['text'],
    accepted: ['a', 'a b'],
    refused: [' a', 'a ', 'a\u00a0', '\u3000a'],
  },
  {
    name: 'identifier',
    rule: Identifier(),
    message: `must be text ${ID_RULE}`,
    kinds: ['text'],
    accepted: ['a', 'SO-1001', '..', 'a/b', 'é', 'x'.repeat(5_000), '%2e', 'SO 2026 1', 'a\u3000b'],
    refused: ['', ' ', ' a', 'a ', '\u00a0a', '\u3000', ...[...unfit, ...ofTexts].map((each) => `a${each}b`)],
  },
  {
    name: 'pathId',
    rule: PathId(),
    message:
      'must be 1 to 128 printable characters, none of them / \\ ? #, and not . or .., also not before a ;',
    kinds: ['text'],
    accepted: ['a', '-_Z9', 'x'.repeat(128), '...', 'a.b@c', 'a b', 'é', '%2e%2e', '𝔸'.repeat(128)],
    refused: [
      '',
      '.',
      '..',
      '..;',
      '.;a',
      'a/b',
      'a\\b',
      'a?b',
      'a#b',
      'a\n',
      'a\u2028',
      'x'.repeat(129),
      ...unfit,
      ...ofTexts,
    ],
  },
  {
    name: 'flag',
    rule: Flag(),
    message: 'must be true or false',
    kinds: ['yes', 'no'],
    accepted: [],
    refused: ['true', 0, 1, ''],
  },
  {
    name: 'wholeNumber',
    rule: WholeNumber(-1, 10),
    message: 'must be a whole number from -1 to 10',
    kinds: ['number', 'zeroFraction', 'exponent', 'negativeZero'],
    accepted: [-1, 0, 10],
    refused: [-2, 11, '0', '', '1.0'],
  },
  {
    name: 'anyWholeNumber',
    rule: WholeNumber(0, Number.MAX_SAFE_INTEGER),
    message: 'must be a whole number from 0 to 9007199254740991',
    kinds: ['number', 'zeroFraction', 'exponent', 'negativeZero'],
    accepted: [999_999_999_999_999, 1_000_000_000_000_000, Number.MAX_SAFE_INTEGER],
    refused: [-1, '9007199254740991'],
  },
  {
    name: 'oneOf',
    rule: OneOf(['sync', 'async']),
    message: 'must be one of sync, async',
    kinds: [],
    accepted: ['sync', 'async'],
    refused: ['', 'Sync', 'sync ', 'sync,async', 'toString'],
  },
  {
    name: 'timestamp',
    rule: Timestamp(),
    message: 'must be an RFC 3339 time such as 2026-11-20T08:00:00.000Z',
    kinds: [],
    accepted: [
      ...['2026-11-20T08:00:00.000Z', '2026-11-20t08:00:00z', '2026-11-20T08:00:00.1+08:00'],
      ...['2024-02-29T00:00:00Z', '2000-02-29T23:59:59.999-23:59', '1971-01-01T00:00:00+00:00'],
      ...['2026-11-20T08:00:00.123456789Z', '2016-12-31T23:59:60Z', '2017-01-01T07:59:60.5+08:00'],
    ],
    refused: [
      ...['', '2026-11-20', '2026-11-20 08:00:00Z', '2026-11-20T08:00:00', '2026-11-20T08:00Z'],
      ...['2026-02-30T00:00:00Z', '2025-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z'],
      ...['2026-11-31T00:00:00Z', '2026-11-00T00:00:00Z', '2026-11-20T25:00:00Z', '2026-11-20T24:00:00Z'],
      ...['2026-11-20T08:60:00Z', '2026-11-20T08:00:61Z', '2026-11-20T08:00:00+24:00'],
      ...['2026-11-20T08:00:00.Z', '2026-11-20T08:00:60Z', '2026-02-30T23:59:60Z', '+002026-11-20T08:00:00Z'],
      ...['2026-11-20T08:00:00Z\n', '1795161600000', '２026-11-20T08:00:00Z'],
    ],
  },
  {
    name: 'timeDuration',
    rule: TimeDuration(),
    message: 'must be years-months-days such as 1-0-0',
    kinds: [],
    accepted: ['1-0-0', '0-0-0', '0-12345-0', ' 1-0-0\n'],
    refused: ['', '1-0', '1-0-0-0', '-1-0-0', '1--0', 'a-b-c', '1 -0-0', '１-0-0'],
  },
  {
    name: 'identifiers',
    rule: IdentifierList({ min: 1, max: 3 }),
    message: `must be a list of 1 to 3 different texts, each ${ID_RULE}`,
    kinds: ['list'],
    accepted: [['a'], ['a', 'b', 'c'], ['A', 'a']],
    refused: [[], ['a', 'b', 'c', 'd'], ['a', 'a'], ['a', ''], ['a '], [5], ['a', null], 'a', {}],
  },
  {
    name: 'secrets',
    rule: SecretList(),
    message: 'must be a list of texts of at least 1 character, none of them a control character',
    kinds: ['list'],
    accepted: [[], ['a', 'a'], ['x'.repeat(1_000)], Array(500).fill('a')],
    refused: [[''], [5], ['a\nb'], [['a']], {}],
  },
  {
    name: 'list',
    rule: ListOf(() => Inner, { min: 1, max: 2 }),
    message: 'must be a list of 1 to 2 objects',
    kinds: ['objects'],
    accepted: [[{ on: false }], [{ on: true }, { on: true }]],
    refused: [[], [{ on: true }, { on: true }, { on: true }], ['a'], [null, { on: true }]],
  },
  {
    name: 'list of any length',
    rule: ListOf(() => Inner),
    message: 'must be a list of objects',
    kinds: ['objects'],
    accepted: [[], Array.from({ length: 2_000 }, () => ({ on: true }))],
    refused: ['a', {}, ['a']],
  },
  {
    name: 'nested',
    rule: Nested(() => Inner),
    message: 'must be an object',
    kinds: ['object'],
    accepted: [{ on: false }],
    refused: [],
  },
];

/** Makes a class with one optional field, `field`. */
function classWith(rule: PropertyDecorator): new () => { field?: unknown } {
  class Probe {
    field?: unknown;
  }
  for (const decorate of [Optional(), rule]) decorate(Probe.prototype, 'field');
  return Probe;
}

it.each(rows)(
  'a field of the rule $name takes what it allows, and refuses all else with what is allowed',
  ({ rule, message, kinds: own, accepted, refused }) => {
    const probe = classWith(rule);
    const bodyWith = (json: string) => `{"field":${json}}`;
    expect(faultsOf(probe, '{}')).toEqual([]);
    for (const value of accepted) {
      const body = bodyWith(JSON.stringify(value));
      expect({ body, faults: faultsOf(probe, body) }).toEqual({ body, faults: [] });
    }
    for (const value of refused) {
      const body = bodyWith(JSON.stringify(value));
      const [fault] = faultsOf(probe, body);
      expect({ body, fault }).toEqual({ body, fault: { pointer: '/field', detail: message } });
    }
    for (const kind of Object.keys(kinds) as KindName[])
      expect([kind, faultsOf(probe, bodyWith(kinds[kind])).length > 0]).toEqual([kind, !own.includes(kind)]);
  },
);

it('a field that is not there is required, unless it is optional', () => {
  class Required {
    @Nested(() => Inner)
    nested!: Inner;
  }
  expect(faultsOf(Required, '{}')).toEqual([
    { pointer: '/nested', detail: 'is required: must be an object' },
  ]);
});

it('what a field takes is cut, trimmed or spelled anew only as its rule says', () => {
  for (const [rule, sent, read] of [
    [Timestamp(), '"2026-11-20T08:00:00.999999999+08:00"', '2026-11-20T08:00:00.999+08:00'],
    [Timestamp(), '"2016-12-31T23:59:60.7Z"', '2016-12-31T23:59:59.999Z'],
    [TimestampParameter({ description: 'x' }), '"2026-11-20"', '2026-11-20T00:00:00.000Z'],
    [TimestampParameter({ description: 'x' }), '"2026-11-20T08:00:00 08:00"', '2026-11-20T08:00:00+08:00'],
    [WholeNumber(0, 100), '1.00e2', 100],
    [Long(), '" 9223372036854775807 "', '9223372036854775807'],
    [Long(), '9223372036854775807.0', '9223372036854775807'],
    [Word(/^[a-z]+$/, 'must be a word'), '" anna\\t"', 'anna'],
    [Text(), '" \\u00a0e\u0301\\r\\nb\\n"', '\u00e9\r\nb'],
    [ExactText(), '" a\\n"', ' a\n'],
    [SecretText(), '" a "', ' a '],
  ] as const)
    expect(
      checkedPart('body', readRequestBody(Buffer.from(`{"field":${sent}}`)), classWith(rule), []),
    ).toEqual({
      field: read,
    });
});

it('a time of a body is not before 1971, which other languages write for no time', () => {
  const detail = expect.stringContaining('1971') as unknown;
  for (const time of ['1970-01-01T00:00:00Z', '1970-12-31T23:59:59.999Z', '0001-01-01T00:00:00Z'])
    expect(faultsOf(classWith(Timestamp()), JSON.stringify({ field: time }))).toEqual([
      { pointer: '/field', detail },
    ]);
});

it('a time of a body is not after the year 9999 in UTC, since a response could not show it', () => {
  const probe = classWith(Timestamp());
  const faults = (time: string) => faultsOf(probe, JSON.stringify({ field: time }));
  expect(faults('9999-12-31T23:59:59.999Z')).toEqual([]);
  expect(faults('9999-12-31T22:59:59.999-01:00')).toEqual([]);
  for (const time of ['9999-12-31T23:00:00-01:00', '9999-12-31T23:59:59.9999999-05:00'])
    expect(faults(time)).toEqual([
      { pointer: '/field', detail: expect.stringContaining('9999-12-31T23:59:59.999Z') },
    ]);
});

it('a time is later than the one that it follows', () => {
  class Span {
    @Optional()
    @Timestamp()
    from?: string;

    @Optional()
    @Timestamp()
    to?: string;
  }
  LaterThan('from')(Span.prototype, 'to');
  const told = (from: unknown, to: unknown) => faultsOf(Span, JSON.stringify({ from, to }));
  const fault = [{ pointer: '/to', detail: 'must be later than from' }];
  expect(told('2026-11-20T08:00:00Z', '2026-11-20T08:00:00.000Z')).toEqual(fault);
  expect(told('2026-11-20T08:00:00Z', '2026-11-20T08:00:00+08:00')).toEqual(fault);
  expect(told('2026-11-20T08:00:00Z', '2026-11-20T08:00:00.001Z')).toEqual([]);
  expect(told(undefined, '2026-11-20T08:00:00Z')).toEqual([]);
  expect(told('2026', '2025-11-20T08:00:00Z')).toMatchObject([{ pointer: '/from' }]);
});

describe('text', () => {
  it('for people is in normal form C; that of ids and secrets stays byte for byte', () => {
    for (const [rule, kept] of [
      [Text(), '\u00e9'],
      [ExactText(), 'e\u0301'],
      [Identifier(), 'e\u0301'],
      [SecretText(), 'e\u0301'],
    ] as const) {
      const value = readRequestBody(Buffer.from('{"field":"e\u0301"}'));
      const read = checkedPart('body', value, classWith(rule), []);
      expect(read).toEqual({ field: kept });
    }
  });

  it('of a secret is declared once: it is masked under the name of the field and under that of the platform', () => {
    class WithSecrets {
      @SecretText({ 'x-upstream': 'wirePin' })
      pin!: string;

      @SecretList()
      codeWords!: string[];
    }
    expect(WithSecrets.name).not.toBe('');
    const sent = { id: 'a', list: [{ wirePin: 'b', pin: 'c' }], codeWords: ['d', { deep: 'e' }] };
    expect(secretValues(sent)).toEqual(['b', 'c', 'd', 'e']);
    const mask = '[secret]';
    expect(withoutSecrets(sent)).toEqual({
      id: 'a',
      list: [{ wirePin: mask, pin: mask }],
      codeWords: [mask, { deep: mask }],
    });
  });

  it('that passes has nothing that forges a log line or disguises an id', () => {
    const identifier = classWith(Identifier());
    fc.assert(
      fc.property(fc.string({ unit: codePoint, minLength: 1, maxLength: 5 }), (text) => {
        const passes = faultsOf(identifier, JSON.stringify({ field: text })).length === 0;
        if (passes)
          expect(text).toMatch(
            /^(?!\s)[^\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]+(?<!\s)$/u,
          );
      }),
      { numRuns: 500 },
    );
  });
});
