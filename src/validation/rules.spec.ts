import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { secretValues, withoutSecrets } from '../shared/secret-fields.ts';
import { readRequestBody } from './request-body.ts';
import {
  Flag,
  Identifier,
  IdentifierList,
  ListOf,
  Nested,
  OneOf,
  Optional,
  PathId,
  SecretList,
  SecretText,
  Text,
  WholeNumber,
} from './rules.ts';
import { TimeDuration, Timestamp } from './time-rules.ts';
import { RequestValidationPipe } from './validation.pipe.ts';

const pipe = new RequestValidationPipe();

/** What callers are told, for a body as they would send it. */
function faultsOf(metatype: new () => object, json: string): readonly RequestFault[] {
  try {
    pipe.transform(readRequestBody(Buffer.from(json)), { type: 'body', metatype });
    return [];
  } catch (error) {
    if (error instanceof ProblemException) return error.body.errors ?? [];
    throw error;
  }
}

class Inner {
  @Flag()
  on!: boolean;
}

/** One field for each rule. */
class Probe {
  @Optional()
  @Text(5)
  text?: string;

  @Optional()
  @SecretText(5)
  secret?: string;

  @Optional()
  @Identifier()
  identifier?: string;

  @Optional()
  @PathId()
  pathId?: string;

  @Optional()
  @Flag()
  flag?: boolean;

  @Optional()
  @WholeNumber(-1, 10)
  wholeNumber?: number;

  @Optional()
  @WholeNumber(0, Number.MAX_SAFE_INTEGER)
  anyWholeNumber?: number;

  @Optional()
  @OneOf(['sync', 'async'])
  oneOf?: string;

  @Optional()
  @Timestamp()
  timestamp?: string;

  @Optional()
  @TimeDuration()
  timeDuration?: string;

  @Optional()
  @IdentifierList({ min: 1, max: 3 })
  identifiers?: string[];

  @Optional()
  @SecretList({ max: 2 })
  secrets?: string[];

  @Optional()
  @ListOf(() => Inner, { min: 1, max: 2 })
  list?: Inner[];

  @Optional()
  @Nested(() => Inner)
  nested?: Inner;
}

/** No rule takes these, since nothing is converted: JSON text of each kind of value. */
const kinds = {
  text: '"5"',
  number: '5',
  fraction: '1.5',
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

/** What disguises or forges, or is no character at all. */
const unprintable = [
  ...'\u0000\u0007\n\r\t\u001b\u007f\u0085\u009f\u061c',
  ...'\u200b\u200e\u200f\u2028\u2029\u202a\u202e\u2060\u2066\u2069\ufeff',
  ...['\ud800', '\udfff', '\udfff5'],
];

interface Row {
  readonly field: keyof Probe;
  readonly message: string;
  readonly kinds: readonly KindName[];
  readonly accepted: readonly unknown[];
  readonly refused: readonly unknown[];
}

const rows: Row[] = [
  {
    field: 'text',
    message: 'must be text of 1 to 5 characters, none of them a control character',
    kinds: ['text'],
    accepted: ['a', '12345', '名称 ö', ' ', '<b>', '$&', '😀😀'],
    refused: ['', '123456', ...unprintable, ...unprintable.map((each) => `a${each}b`)],
  },
  {
    field: 'secret',
    message: 'must be text of 1 to 5 characters, none of them a control character',
    kinds: ['text'],
    accepted: ['a', '12345', 'é', 'e\u0301'],
    refused: ['', '123456', ...unprintable],
  },
  {
    field: 'identifier',
    message: 'must be an id of 1 to 128 characters without white space',
    kinds: ['text'],
    accepted: ['a', 'SO-1001', '..', 'a/b', 'é', 'x'.repeat(128), '%2e'],
    refused: ['', ' ', 'a b', 'a\u00a0b', '\u3000', 'x'.repeat(129), ...unprintable],
  },
  {
    field: 'pathId',
    message: 'must be 1 to 64 of A-Z a-z 0-9 _ -',
    kinds: ['text'],
    accepted: ['a', '-_Z9', 'x'.repeat(64)],
    refused: ['', '.', '..', 'a/b', 'a b', 'é', '%2e%2e', 'a\n', 'x'.repeat(65), ...unprintable],
  },
  {
    field: 'flag',
    message: 'must be true or false',
    kinds: ['yes', 'no'],
    accepted: [],
    refused: ['true', 0, 1, ''],
  },
  {
    field: 'wholeNumber',
    message: 'must be a whole number from -1 to 10',
    kinds: ['number'],
    accepted: [-1, 0, 10],
    refused: [-2, 11, '0', '', '1.0'],
  },
  {
    field: 'anyWholeNumber',
    message: 'must be a whole number from 0 to 9007199254740991',
    kinds: ['number'],
    accepted: [999_999_999_999_999, 1_000_000_000_000_000, Number.MAX_SAFE_INTEGER],
    refused: [-1, '9007199254740991'],
  },
  {
    field: 'oneOf',
    message: 'must be one of sync, async',
    kinds: [],
    accepted: ['sync', 'async'],
    refused: ['', 'Sync', 'sync ', 'sync,async', 'toString'],
  },
  {
    field: 'timestamp',
    message: 'must be an RFC 3339 time such as 2026-11-20T08:00:00.000Z',
    kinds: [],
    accepted: [
      ...['2026-11-20T08:00:00.000Z', '2026-11-20t08:00:00z', '2026-11-20T08:00:00.1+08:00'],
      ...['2024-02-29T00:00:00Z', '2000-02-29T23:59:59.999-23:59', '1970-01-01T00:00:00+00:00'],
    ],
    refused: [
      ...['', '2026-11-20', '2026-11-20 08:00:00Z', '2026-11-20T08:00:00', '2026-11-20T08:00Z'],
      ...['2026-02-30T00:00:00Z', '2025-02-29T00:00:00Z', '2026-13-01T00:00:00Z', '2026-00-01T00:00:00Z'],
      ...['2026-11-31T00:00:00Z', '2026-11-00T00:00:00Z', '2026-11-20T25:00:00Z', '2026-11-20T24:00:00Z'],
      ...['2026-11-20T08:60:00Z', '2026-11-20T08:00:61Z', '2026-11-20T08:00:00+24:00'],
      ...['2026-11-20T08:00:00.0001Z', '2026-11-20T08:00:00.Z', '+002026-11-20T08:00:00Z'],
      ...['2026-11-20T08:00:00Z\n', '1795161600000', '２026-11-20T08:00:00Z'],
    ],
  },
  {
    field: 'timeDuration',
    message: 'must be years-months-days such as 1-0-0',
    kinds: [],
    accepted: ['1-0-0', '0-0-0', '9999-9999-9999'],
    refused: ['', '1-0', '1-0-0-0', '-1-0-0', '1--0', '12345-0-0', 'a-b-c', '1-0-0\n', '１-0-0'],
  },
  {
    field: 'identifiers',
    message: 'must be a list of 1 to 3 different ids, each of 1 to 128 characters without white space',
    kinds: ['list'],
    accepted: [['a'], ['a', 'b', 'c'], ['A', 'a']],
    refused: [[], ['a', 'b', 'c', 'd'], ['a', 'a'], ['a', ''], ['a b'], [5], ['a', null], 'a', {}],
  },
  {
    field: 'secrets',
    message: 'must be a list of at most 2 texts',
    kinds: ['list'],
    accepted: [[], ['a', 'a'], ['x'.repeat(256)]],
    refused: [['a', 'b', 'c'], [''], ['x'.repeat(257)], [5], ['a\nb'], [['a']], {}],
  },
  {
    field: 'list',
    message: 'must be a list of 1 to 2 objects',
    kinds: ['objects'],
    accepted: [[{ on: false }], [{ on: true }, { on: true }]],
    refused: [[], [{ on: true }, { on: true }, { on: true }], ['a'], [null, { on: true }]],
  },
  {
    field: 'nested',
    message: 'must be an object',
    kinds: ['object'],
    accepted: [{ on: false }],
    refused: [],
  },
];

describe.each(rows)('a field of the rule $field', ({ field, message, kinds: own, accepted, refused }) => {
  const bodyWith = (json: string) => `{"${field}":${json}}`;

  it('accepts what it allows, and refuses everything else at its pointer with what is allowed', () => {
    for (const value of accepted) {
      const body = bodyWith(JSON.stringify(value));
      expect({ body, faults: faultsOf(Probe, body) }).toEqual({ body, faults: [] });
    }
    for (const value of refused) {
      const body = bodyWith(JSON.stringify(value));
      const [fault] = faultsOf(Probe, body);
      expect({ body, fault }).toEqual({ body, fault: { pointer: `/${field}`, detail: message } });
    }
  });

  it('converts nothing', () => {
    for (const kind of Object.keys(kinds) as KindName[]) {
      const faults = faultsOf(Probe, bodyWith(kinds[kind]));
      const places = faults.map((fault) => ('pointer' in fault ? fault.pointer.split('/')[1] : undefined));
      expect([kind, [...new Set(places)]]).toEqual([kind, own.includes(kind) ? [] : [field]]);
    }
  });
});

class Required {
  @Text(5)
  text!: string;

  @Nested(() => Inner)
  nested!: Inner;

  @ListOf(() => Inner, { max: 1 })
  list!: Inner[];
}

it('says that a field is required where it is not there, unless it is optional', () => {
  expect(faultsOf(Probe, '{}')).toEqual([]);
  expect(faultsOf(Required, '{}')).toEqual([
    {
      pointer: '/text',
      detail: 'is required: must be text of 1 to 5 characters, none of them a control character',
    },
    { pointer: '/nested', detail: 'is required: must be an object' },
    { pointer: '/list', detail: 'is required: must be a list of 0 to 1 objects' },
  ]);
});

describe('text', () => {
  const through = (value: object): Probe =>
    pipe.transform(readRequestBody(Buffer.from(JSON.stringify(value))), {
      type: 'body',
      metatype: Probe,
    }) as Probe;

  it('of ids and secrets stays byte for byte', () => {
    for (const field of ['identifier', 'secret'] as const) {
      expect(through({ [field]: 'e\u0301' })[field]).toBe('e\u0301');
    }
    expect(through({ identifiers: ['e\u0301', '\u00e9'] }).identifiers).toEqual(['e\u0301', '\u00e9']);
  });

  it('of a secret is declared once: it is masked under the name of the field and under that of the platform', () => {
    class WithSecrets {
      @SecretText(5, { 'x-upstream': 'wirePin' })
      pin!: string;

      @SecretList({ max: 2 })
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
    fc.assert(
      fc.property(fc.string({ unit: 'binary', minLength: 1, maxLength: 5 }), (text) => {
        const passes = faultsOf(Probe, JSON.stringify({ identifier: text })).length === 0;
        if (passes) expect(text).toMatch(/^[^\s\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]+$/u);
      }),
      { numRuns: 500 },
    );
  });
});

describe('long and nasty values', () => {
  const half = 50_000;
  const nasty: [string, string][] = [
    ['one letter', 'a'.repeat(2 * half)],
    ['letters and a control character', `${'a'.repeat(2 * half)}\u0000`],
    ['digits and hyphens', '1-'.repeat(half)],
    ['hyphens', '-'.repeat(2 * half)],
    ['a time with endless fractions', `2026-11-20T08:00:00.${'0'.repeat(2 * half)}Z`],
    ['an e-mail', `${'a@'.repeat(half)}.`],
    ['white space', ' '.repeat(2 * half)],
    ['zero-width characters', '\u200b'.repeat(2 * half)],
    ['emoji', '😀'.repeat(half)],
    ['combining marks out of order', `a${'\u0315\u0300'.repeat(half)}`],
    ['letters that compose', 'e\u0301'.repeat(half)],
  ];
  const fields = ['text', 'secret', 'identifier', 'pathId', 'timestamp', 'timeDuration', 'oneOf'] as const;

  /** In ms of the processor, for this thread alone: others collect garbage and compile. */
  const cost = (body: string): number => {
    const before = process.threadCpuUsage();
    expect(faultsOf(Probe, body)).toHaveLength(1);
    const { user, system } = process.threadCpuUsage(before);
    return (user + system) / 1_000;
  };

  it.each(nasty)('are refused at once: %s', (_, text) => {
    for (const field of fields) {
      const body = JSON.stringify({ [field]: text });
      // The least of some: what is slow is slow each time.
      const least = Math.min(...Array.from({ length: 10 }, () => cost(body)));
      // docs/faults.md K35 asks for 5 ms. The factor is for slow machines and the parsing of 100 kB; processor time, so that
      // a busy one does not count.
      expect({ field, slow: least > 50 }).toEqual({ field, slow: false });
    }
  });
});
