import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { enumeration } from '../../shared/enumeration.ts';
import { parseJson } from '../../shared/json.ts';
import { ContractNotes, type GapKind } from '../gaps.ts';
import { ContractViolation } from '../upstream-failure.ts';
import { Reader, readList, readObject } from './reader.ts';
import { responseShape, type FieldOf } from './shape.ts';

const WIRE = responseShape(['field', 'inner']);
const NULLABLE = responseShape([], ['field', 'inner']);
type Wire = FieldOf<typeof WIRE>;

const parse = (json: string) => parseJson(Buffer.from(json), { maxDepth: 64 });
/** A reader over JSON text from the wire, with numbers as the parser returns them. */
const reading = (json: string, notes?: ContractNotes) => new Reader(WIRE, parse(json), undefined, notes);
const field = (json: string, notes?: ContractNotes) => reading(`{"field":${json}}`, notes);

/** Returns the value that a read returns for a field, and its notes. */
function readOf<T>(json: string, read: (wire: Reader<Wire>) => T): { value: T; noted: string[] } {
  const notes = new ContractNotes();
  const value = read(field(json, notes));
  return { value, noted: [...notes].map(({ path, kind }) => `${kind} ${path}`) };
}

function violationOf(action: () => unknown): ContractViolation {
  try {
    action();
  } catch (error) {
    if (error instanceof ContractViolation) return error;
    throw error;
  }
  throw new Error('was accepted');
}

const MAX_INT64 = 2n ** 63n - 1n;
const LIMITS = enumeration('Limit', ['basic'], 'A limit');
const WRONG = ['wrong-type data.field'];
/** Each way to read a field, with valid JSON and the value that results from it. */
const reads: Record<string, [read: (wire: Reader<Wire>) => unknown, json: string, value: unknown]> = {
  id: [(wire) => wire.id('field'), '"a-1"', 'a-1'],
  text: [(wire) => wire.text('field'), '"Zoë"', 'Zoë'],
  word: [(wire) => wire.word('field', LIMITS), '"basic"', 'basic'],
  boolean: [(wire) => wire.boolean('field'), 'false', false],
  integer: [(wire) => wire.integer('field'), '-3', -3],
  code: [(wire) => wire.code('field', new Map([[1, 4]])), '1', 4],
  long: [(wire) => wire.long('field'), '9223372036854775807', '9223372036854775807'],
  time: [(wire) => wire.time('field', 'ms'), '1795161600000', '2026-11-20T08:00:00.000Z'],
  timeText: [(wire) => wire.timeText('field', 'ms'), '"1795161600000"', '2026-11-20T08:00:00.000Z'],
  object: [(wire) => wire.object('field', WIRE, () => 'read'), '{}', 'read'],
};

describe('ids', () => {
  it('are exact strings, however long the number is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), (number) => {
        expect(field(String(number)).id('field')).toBe(String(number));
        expect(field(String(number)).requiredId('field')).toBe(String(number));
      }),
      { examples: [[0n], [2n ** 53n + 1n]] },
    );
  });

  it('stay byte for byte where upstream sends text', () => {
    for (const id of ['a', '007', '1.0', '-1', 'e\u0301', 'é', 'A b', 'x'.repeat(500)]) {
      expect(field(JSON.stringify(id)).id('field')).toBe(id);
    }
  });

  it.each(['-1', '1.0', '1.5', '1e21', '-0', '1e999', 'true', '{}', '[]', '["a"]'])('are not %s', (json) => {
    expect(readOf(json, (wire) => wire.id('field'))).toEqual({ value: null, noted: WRONG });
  });

  it.each(['"a\\nb"', '"\\u0000"'])('are not the text %.20s', (json) => {
    expect(readOf(json, (wire) => wire.id('field'))).toEqual({ value: null, noted: WRONG });
  });

  it('that are an empty text are none', () => {
    expect(readOf('""', (wire) => wire.id('field'))).toEqual({ value: null, noted: ['empty data.field'] });
  });

  it('have to be there where the gateway cannot do without', () => {
    for (const json of ['{}', '{"field":null}', '{"field":""}', '{"field":true}'])
      expect(violationOf(() => reading(json).requiredId('field')).location).toBe('data.field');
  });

  it('in a list are those that are ids', () => {
    const ids = (json: string) => readOf(json, (wire) => wire.ids('field'));
    expect(ids('["a",9007199254740993]')).toEqual({ value: ['a', '9007199254740993'], noted: [] });
    expect(ids('["a",null,true,"",-1]')).toEqual({
      value: ['a'],
      noted: ['null data.field[]', 'wrong-type data.field[]', 'empty data.field[]'],
    });
    expect(ids('"a"')).toEqual({ value: [], noted: WRONG });
    expect(ids('null')).toEqual({ value: [], noted: ['null data.field'] });
  });
});

describe('what is not there', () => {
  it.each(Object.keys(reads))('is null in %s, and noted', (kind) => {
    const [read] = reads[kind] ?? [() => undefined];
    const notes = new ContractNotes();
    expect(read(reading('{}', notes))).toBeNull();
    expect([...notes]).toEqual([{ path: 'data.field', kind: 'missing' }]);
    expect(readOf('null', read)).toEqual({ value: null, noted: ['null data.field'] });
  });

  it('is not noted where the interface has it so', () => {
    const notes = new ContractNotes();
    readList(NULLABLE, parse('[{"field":null},{}]'), notes, (wire) => wire.text('field'));
    expect([...notes]).toEqual([]);
  });

  it('is an empty list where a list is due', () => {
    const list = (wire: Reader<Wire>) => wire.list('field', WIRE, () => 'read');
    expect(readOf('null', list)).toEqual({ value: [], noted: ['null data.field'] });
    expect(readOf('"none"', list)).toEqual({ value: [], noted: WRONG });
    const notes = new ContractNotes();
    expect(readList(WIRE, null, notes, () => 'read')).toEqual([]);
    expect([...notes]).toEqual([{ path: 'data', kind: 'null' }]);
  });

  it.each(['toString', 'constructor', '__proto__', 'hasOwnProperty'])(
    'is never read from a prototype: no shape has a field %s',
    (name) => {
      expect(() => responseShape(['field', name])).toThrow(name);
      expect(() => responseShape(['field'], [name])).toThrow(name);
    },
  );
});

describe('types', () => {
  it.each(Object.keys(reads))('that are right are read in %s, without a note', (kind) => {
    const [read, json, value] = reads[kind] ?? [() => undefined, '', undefined];
    expect(readOf(json, read)).toEqual({ value, noted: [] });
  });

  it('of another kind are null and noted', () => {
    fc.assert(
      fc.property(fc.constantFrom(...Object.keys(reads)), fc.jsonValue({ maxDepth: 3 }), (kind, other) => {
        const [read] = reads[kind] ?? [() => undefined];
        const { value, noted } = readOf(JSON.stringify(other), read);
        // A time that is 0, or the largest long or more, means "no time", also as text.
        const isNumber = typeof other === 'number' || (typeof other === 'string' && /^-?\d+$/.test(other));
        const isNone = isNumber && (Number(other) === 0 || Number(other) >= 2 ** 63);
        if (value === null && !isNone) expect(noted).toHaveLength(1);
      }),
      { numRuns: 2_000 },
    );
    for (const json of ['"false"', '2', '{}', '[]'])
      expect(readOf(json, (wire) => wire.boolean('field'))).toEqual({ value: null, noted: WRONG });
    for (const json of ['"3"', '1.5', '12345678901234567', 'true'])
      expect(readOf(json, (wire) => wire.integer('field'))).toEqual({ value: null, noted: WRONG });
    for (const json of ['5', 'true', '{}', '[]'])
      expect(readOf(json, (wire) => wire.text('field'))).toEqual({ value: null, noted: WRONG });
  });

  it('that are words are handed through where the interface does not have them', () => {
    const word = (wire: Reader<Wire>) => wire.word('field', LIMITS);
    expect(readOf('"deluxe"', word)).toEqual({ value: 'deluxe', noted: ['unknown-word data.field'] });
    const code = (wire: Reader<Wire>) => wire.code('field', new Map([[1, 4]]));
    expect(readOf('3', code)).toEqual({ value: null, noted: ['unknown-word data.field'] });
  });

  it('that are longs are digits, and nothing beyond 64 bits', () => {
    const long = (json: string) => readOf(json, (wire) => wire.long('field')).value;
    for (const digits of ['0', '-1', '7', '9007199254740993', '-9223372036854775808']) {
      expect(long(digits)).toBe(digits);
      expect(long(`"${digits}"`)).toBe(digits);
    }
    for (const json of ['9223372036854775808', '1.5', '1e3', '"07"', '"x"', '""', 'true', '[1]'])
      expect(long(json)).toBeNull();
  });

  it('that are integers are those of 32 bits where callers get them as such', () => {
    const int32 = (wire: Reader<Wire>) => wire.int32('field');
    for (const value of [0, -1, 2_147_483_647, -2_147_483_648])
      expect(readOf(String(value), int32)).toEqual({ value, noted: [] });
    for (const json of ['2147483648', '-2147483649', '"3"', '1.5', '12345678901234567'])
      expect(readOf(json, int32)).toEqual({ value: null, noted: WRONG });
  });

  it('that are counts may come as text', () => {
    const count = (wire: Reader<Wire>) => wire.count('field');
    expect(readOf('7', count)).toEqual({ value: 7, noted: [] });
    expect(readOf('"7"', count)).toEqual({ value: 7, noted: WRONG });
    for (const json of ['-1', '1.5', '"seven"', 'true', '"-7"'])
      expect(readOf(json, count)).toEqual({ value: null, noted: WRONG });
  });

  it.each<[string, string, boolean]>([
    ['id', 'null', true],
    ['id', '""', true],
    ['id', '5', true],
    ['id', '-5', false],
    ['id', 'true', false],
    ['id', '"a\\u0000"', false],
    ['boolean', '1', true],
    ['boolean', '"true"', false],
    ['flag', '"true"', true],
    ['flag', '"yes"', false],
    ['count', '"7"', true],
    ['count', '"seven"', false],
    ['text', '5', false],
    ['word', '"deluxe"', true],
    ['code', '3', false],
    ['long', '-1', true],
    ['long', '"x"', false],
    ['time', '0', true],
    ['time', '"tomorrow"', false],
    ['object', '[]', false],
  ])('that came tell whether they can decide: %s %s: %s', (kind, json, came) => {
    const tolerant: Record<string, (wire: Reader<Wire>) => unknown> = {
      flag: (wire) => wire.flag('field'),
      count: (wire) => wire.count('field'),
    };
    const read = reads[kind]?.[0] ?? tolerant[kind];
    const wire = field(json);
    read?.(wire);
    expect([wire.came('field'), wire.isUnreadable('field')]).toEqual([came, !came]);
    const none = reading('{}');
    none.id('field');
    expect([none.came('field'), none.isUnreadable('field')]).toEqual([false, false]);
  });

  it('that are wrong are told by their place and never by their value', () => {
    const secret = 'do not tell';
    const notes = new ContractNotes();
    const wire = reading(`{"inner":{"field":[{"a":1},{"field":${JSON.stringify(secret)}}]}}`, notes);
    wire.object('inner', WIRE, (inner) => inner.list('field', WIRE, (item) => item.boolean('field')));
    const told = JSON.stringify([...notes]);
    expect(told).toContain('"data.inner.field[].field"');
    expect(told).not.toContain(secret);
    const thrown = violationOf(() => wire.object('inner', WIRE, (inner) => inner.requiredId('inner')));
    expect(thrown.message).toBe('data.inner.inner is not an id');
  });

  it.each(['null', '5', '"text"', '[]', 'true'])('%s is no object to read from', (json) => {
    expect(violationOf(() => reading(json)).message).toBe('data is not an object');
  });

  it.each(['{}', '"[]"', '0', '{"length":1}', 'true'])('%s is no list', (json) => {
    expect(violationOf(() => readList(WIRE, parse(json), undefined, () => 1)).message).toBe(
      'data is not a list',
    );
  });

  it('of list items are checked one by one: what is no item, or lacks its id, is left out', () => {
    const notes = new ContractNotes();
    const list = parse('[{"field":"a"},null,5,[],{"field":null},{},{"field":"b"}]');
    expect(readList(WIRE, list, notes, (item) => item.requiredId('field'))).toEqual(['a', 'b']);
    expect([...notes].map(({ path, kind }) => `${kind} ${path}`)).toEqual([
      'null data[]',
      'wrong-type data[]',
      'null data[].field',
      'missing data[].field',
    ]);
  });
});

describe('times', () => {
  it('are RFC 3339 in UTC with milliseconds', () => {
    expect(field('1795161600000').time('field', 'ms')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('1795161600').time('field', 's')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('1795161600123').time('field', 'ms')).toBe('2026-11-20T08:00:00.123Z');
    expect(field('-1').time('field', 'ms')).toBe('1969-12-31T23:59:59.999Z');
  });

  it('are exact to the unit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.parse('0001-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
        fc.constantFrom('ms' as const, 's' as const),
        fc.boolean(),
        (ms, unit, asText) => {
          const long = unit === 's' ? Math.floor(ms / 1000) : ms;
          fc.pre(long !== 0);
          const time = field(asText ? `"${long}"` : String(long)).time('field', unit) ?? '';
          expect(Date.parse(time)).toBe(unit === 's' ? long * 1000 : long);
        },
      ),
    );
  });

  it('are RFC 3339 or none at all, for every long', () => {
    const long = fc.oneof(
      fc.bigInt({ min: -(2n ** 63n), max: MAX_INT64 }),
      fc.bigInt({ min: -(10n ** 16n), max: 10n ** 16n }),
      fc.bigInt({ min: -(10n ** 13n), max: 10n ** 15n }),
    );
    fc.assert(
      fc.property(long, fc.constantFrom('ms' as const, 's' as const), (value, unit) => {
        const { value: time, noted } = readOf(String(value), (wire) => wire.time('field', unit));
        if (time !== null) expect(time).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
        else if (value !== 0n && value < MAX_INT64 - 1_024n) expect(noted).toContain('wrong-type data.field');
      }),
      { numRuns: 1_000 },
    );
  });

  it.each(['0', '"0"', String(MAX_INT64), `"${MAX_INT64}"`])('that are %s stand for none', (json) => {
    for (const unit of ['ms', 's'] as const)
      expect(readOf(json, (wire) => wire.time('field', unit))).toEqual({ value: null, noted: [] });
  });

  it('that are an empty text are none', () => {
    const noted = ['empty data.field'];
    expect(readOf('""', (wire) => wire.time('field', 'ms'))).toEqual({ value: null, noted });
  });

  it.each([
    ...[String(-(2n ** 63n) - 1n), '9'.repeat(30), '1e12', '1.5', '1e999', 'true', '{}'],
    ...['"2026-11-20"', '"0x10"', '" 5"', '"1795161600000.0"'],
  ])('are not %s', (json) => {
    for (const unit of ['ms', 's'] as const) {
      const { value, noted } = readOf(json, (wire) => wire.time('field', unit));
      expect(value).toBeNull();
      expect(noted).toContain('wrong-type data.field');
    }
  });

  it('that the interface gives as text are converted: longs, and what says by itself which time it is', () => {
    const text = (json: string, unit: 'ms' | 's' = 'ms') =>
      readOf(json, (wire) => wire.timeText('field', unit));
    for (const json of [
      '"1795161600000"',
      '1795161600000',
      '"2026-11-20T09:00:00+01:00"',
      '"2026-11-20 08:00:00Z"',
    ])
      expect(text(json)).toEqual({ value: '2026-11-20T08:00:00.000Z', noted: [] });
    expect(text('1795161600', 's').value).toBe('2026-11-20T08:00:00.000Z');
    for (const json of ['"2026-11-20 08:00:00"', '"yesterday"', '{}', '[]', '"2026-99-20T08:00:00Z"'])
      expect(text(json)).toEqual({ value: null, noted: WRONG });
  });
});

describe('shapes that the interface does not show', () => {
  it('keep integers beyond 2^53 exact, as strings', () => {
    expect(field('{"id":9007199254740993,"list":[12345678901234567]}').opaque('field')).toEqual({
      id: '9007199254740993',
      list: ['12345678901234567'],
    });
  });

  it('survive being written as JSON again', () => {
    const json = fc
      .jsonValue({ maxDepth: 6 })
      .map((value) => JSON.stringify(value))
      .filter((text) => !/\d{16}|__proto__|constructor|prototype|-0/.test(text));
    fc.assert(
      fc.property(json, (text) => {
        expect(JSON.parse(JSON.stringify(field(text).opaque('field')))).toEqual(JSON.parse(text));
      }),
    );
  });

  it('come without keys that reach a prototype', () => {
    const json =
      '{"__proto__":{"polluted":1},"a":[{"constructor":{"prototype":{"polluted":1}},"b":1}],"prototype":2}';
    const value = field(json).opaque('field') as object;
    expect(value).toEqual({ a: [{ b: 1 }] });
    expect(Object.getPrototypeOf(value)).toBe(Object.prototype);
    expect(JSON.stringify(value)).toBe('{"a":[{"b":1}]}');
    expect(Object.hasOwn(Object.prototype, 'polluted')).toBe(false);
  });
});

describe('notes of what departs from the interface', () => {
  const notesOf = (json: string, read: (wire: Reader<Wire>) => unknown): string[] => {
    const notes = new ContractNotes();
    readObject(NULLABLE, parse(json), notes, read);
    return [...notes].filter(({ kind }) => kind !== 'missing').map(({ path, kind }) => `${kind} ${path}`);
  };

  it('name fields that the interface does not have, at every level', () => {
    const read = (wire: Reader<Wire>) => [
      wire.id('field'),
      wire.list('inner', NULLABLE, (item) =>
        item.object('inner', NULLABLE, (one) => one.requiredId('field')),
      ),
    ];
    expect(notesOf('{}', read)).toEqual([]);
    expect(notesOf('{"field":1,"inner":[{"inner":{"field":1}}]}', read)).toEqual([]);
    expect(notesOf('{"field":1,"more":1,"most":2}', read)).toEqual([
      'unknown-field data.more',
      'unknown-field data.most',
    ]);
    expect(notesOf('{"inner":[{"inner":{"field":1},"more":1}]}', read)).toEqual([
      'unknown-field data.inner[].more',
    ]);
    expect(notesOf('{"inner":[{"inner":{"field":1,"more":1}}]}', read)).toEqual([
      'unknown-field data.inner[].inner.more',
    ]);
    expect(notesOf('{"a\\u0000 b":{}}', read)).toEqual(['unknown-field data.(other)']);
  });

  it('do not name fields that are known and not needed, nor what is inside an opaque one', () => {
    const read = (wire: Reader<Wire>) => wire.opaque('inner');
    expect(notesOf('{"field":1,"inner":{"more":1}}', read)).toEqual([]);
  });

  it.each<[string, 'ms' | 's', GapKind[]]>([
    ['1795161600000', 'ms', []],
    ['1795161600', 's', []],
    ['-1', 'ms', []],
    ['86400000', 'ms', []],
    ['1795161600', 'ms', ['time-unit']],
    ['"1795161600"', 'ms', ['time-unit']],
    ['100000000', 'ms', ['time-unit']],
    ['99999999999', 'ms', ['time-unit']],
    ['100000000000', 'ms', []],
    ['99999999999', 's', []],
    ['100000000000', 's', ['time-unit']],
  ])('tell of the time %s where the unit is %s: %j', (time, unit, expected) => {
    const kinds = expected.map((kind) => `${kind} data.field`);
    expect(notesOf(`{"field":${time}}`, (wire) => wire.time('field', unit))).toEqual(kinds);
    expect(notesOf(`{"field":${time}}`, (wire) => wire.timeText('field', unit))).toEqual(kinds);
  });

  it('are one for each path and kind, however many items have it', () => {
    const list = JSON.stringify(Array.from({ length: 100 }, () => ({ field: 5 })));
    const notes = new ContractNotes();
    readList(WIRE, parse(list), notes, (item) => item.text('field'));
    expect([...notes]).toEqual([{ path: 'data[].field', kind: 'wrong-type' }]);
  });
});
