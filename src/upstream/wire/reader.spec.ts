import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { parseJson } from '../../shared/json.ts';
import { type ContractNotes, Reader, readList, readObject, ContractViolation } from './reader.ts';

interface Wire {
  field: unknown;
  inner: unknown;
}

/** A reader over JSON text as it comes from the wire, so that numbers are what the parser makes of them. */
const reading = (json: string) => new Reader<Wire>(parseJson(Buffer.from(json), { maxDepth: 64 }), 'data');
const field = (json: string) => reading(`{"field":${json}}`);

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

describe('ids', () => {
  it.each([
    '0',
    '7',
    '12345678901234567',
    '9007199254740993',
    '9223372036854775807',
    '123456789012345678901234567890',
  ])('are exact strings where upstream sends the number %s', (digits) => {
    expect(field(digits).id('field')).toBe(digits);
    expect(field(digits).requiredId('field')).toBe(digits);
  });

  it('are exact strings, however long the number is', () => {
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: 10n ** 40n }), (number) => {
        expect(field(String(number)).id('field')).toBe(String(number));
      }),
    );
  });

  it('stay byte for byte where upstream sends text', () => {
    for (const id of ['a', '007', '1.0', '-1', 'e\u0301', 'é', 'A b', 'x'.repeat(128)]) {
      expect(field(JSON.stringify(id)).id('field')).toBe(id);
    }
  });

  it.each(['-1', '1.0', '1.5', '1e21', '-0', '1e999', 'true', '{}', '[]', '["a"]'])('are not %s', (json) => {
    expect(violationOf(() => field(json).id('field')).message).toBe('data.field is not an id');
  });

  it.each(['"a\\nb"', '"\\u0000"', `"${'x'.repeat(129)}"`])('are not the text %.20s', (json) => {
    expect(violationOf(() => field(json).id('field')).place).toBe('data.field');
  });

  it('have to be there where the interface says so', () => {
    expect(violationOf(() => reading('{}').requiredId('field')).place).toBe('data.field');
    expect(violationOf(() => field('null').requiredId('field')).place).toBe('data.field');
  });
});

describe('null and absence', () => {
  const reads: Record<string, (wire: Reader<Wire>) => unknown> = {
    id: (wire) => wire.id('field'),
    text: (wire) => wire.text('field'),
    boolean: (wire) => wire.boolean('field'),
    integer: (wire) => wire.integer('field'),
    time: (wire) => wire.time('field', 'ms'),
    long: (wire) => wire.long('field'),
    timeText: (wire) => wire.timeText('field', 'ms'),
    object: (wire) => wire.object('field', () => 'read'),
    list: (wire) => wire.list('field', () => 'read'),
    opaque: (wire) => wire.opaque('field'),
  };

  it.each(Object.keys(reads))('are both null in %s', (kind) => {
    expect(reads[kind]?.(field('null'))).toBeNull();
    expect(reads[kind]?.(reading('{}'))).toBeNull();
  });

  it('are not filled from a prototype', () => {
    for (const name of ['toString', 'constructor', '__proto__', 'hasOwnProperty']) {
      const wire = reading('{}') as unknown as Reader<Record<string, unknown>>;
      expect(wire.id(name)).toBeNull();
      expect(wire.opaque(name)).toBeNull();
    }
  });
});

describe('types', () => {
  const right: Record<string, [read: (wire: Reader<Wire>) => unknown, json: string, value: unknown]> = {
    text: [(wire) => wire.text('field'), '"Zoë"', 'Zoë'],
    boolean: [(wire) => wire.boolean('field'), 'false', false],
    integer: [(wire) => wire.integer('field'), '-3', -3],
    object: [(wire) => wire.object('field', () => 'read'), '{}', 'read'],
    list: [(wire) => wire.list('field', () => 'read'), '[{},{}]', ['read', 'read']],
  };
  const samples = [
    '"Zoë"',
    'false',
    '-3',
    '{}',
    '[{},{}]',
    '1.5',
    '12345678901234567',
    '"false"',
    '"3"',
    '""',
  ];
  const alsoText = new Set(['"Zoë"', '"false"', '"3"', '""']);

  it.each(Object.keys(right))('of another kind are not taken for %s', (kind) => {
    const [read, good, value] = right[kind] ?? [() => undefined, '', undefined];
    expect(read(field(good))).toEqual(value);
    const others = samples.filter((json) => json !== good && !(kind === 'text' && alsoText.has(json)));
    for (const json of others) expect(violationOf(() => read(field(json))).place).toBe('data.field');
  });

  it('name the place of a misfit and never the value', () => {
    const secret = 'do not tell';
    const wire = reading(`{"inner":{"field":[{"a":1},{"field":${JSON.stringify(secret)}}]}}`);
    const misfit = violationOf(() =>
      wire.object<Wire, unknown>('inner', (inner) =>
        inner.list<Wire, unknown>('field', (item) => item.boolean('field')),
      ),
    );
    expect(misfit.message).toBe('data.inner.field[1].field is not a boolean');
  });

  it.each(['null', '5', '"text"', '[]', 'true'])('%s is no object to read from', (json) => {
    expect(violationOf(() => reading(json)).message).toBe('data is not an object');
  });

  it.each(['null', '{}', '"[]"', '0', '{"length":1}'])('%s is no list', (json) => {
    const value = parseJson(Buffer.from(json), { maxDepth: 4 });
    expect(violationOf(() => readList(value, 'data', () => 1)).message).toBe('data is not a list');
  });

  it('of list items are checked one by one', () => {
    const value = parseJson(Buffer.from('[{},null]'), { maxDepth: 4 });
    expect(violationOf(() => readList(value, 'data', () => 1)).message).toBe('data[1] is not an object');
  });
});

describe('times', () => {
  it('are RFC 3339 in UTC with milliseconds', () => {
    expect(field('1795161600000').time('field', 'ms')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('1795161600').time('field', 's')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('1795161600123').time('field', 'ms')).toBe('2026-11-20T08:00:00.123Z');
    expect(field('1').time('field', 'ms')).toBe('1970-01-01T00:00:00.001Z');
    expect(field('-1').time('field', 'ms')).toBe('1969-12-31T23:59:59.999Z');
  });

  it('may come as text', () => {
    expect(field('"1795161600000"').time('field', 'ms')).toBe('2026-11-20T08:00:00.000Z');
  });

  it('are exact to the unit', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: Date.parse('0001-01-01T00:00:00Z'), max: Date.parse('9999-12-31T23:59:59.999Z') }),
        fc.constantFrom('ms' as const, 's' as const),
        fc.boolean(),
        (ms, unit, asText) => {
          const long = unit === 's' ? Math.floor(ms / 1000) : ms;
          const time = field(asText ? `"${long}"` : String(long)).time('field', unit);
          if (long === 0) expect(time).toBeNull();
          else expect(Date.parse(time ?? '')).toBe(unit === 's' ? long * 1000 : long);
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
        let time: string | null | undefined;
        try {
          time = field(String(value)).time('field', unit);
        } catch (error) {
          expect(error).toBeInstanceOf(ContractViolation);
          return;
        }
        if (value === 0n || value === MAX_INT64) expect(time).toBeNull();
        else expect(time).toMatch(/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}\.\d{3}Z$/);
      }),
      { numRuns: 1_000 },
    );
  });

  it.each([
    String(MAX_INT64 + 1n),
    String(-(2n ** 63n) - 1n),
    '9'.repeat(30),
    '1e12',
    '1.5',
    '1e999',
    'true',
    '{}',
    '"2026-11-20"',
    '"0x10"',
    '" 5"',
    '"1795161600000.0"',
  ])('are not %s', (json) => {
    for (const unit of ['ms', 's'] as const) {
      expect(violationOf(() => field(json).time('field', unit)).message).toBe(
        'data.field is not a timestamp',
      );
    }
  });

  it.each(['0', '"0"', '""', 'null', String(MAX_INT64), `"${MAX_INT64}"`])('are null for %s', (none) => {
    for (const unit of ['ms', 's'] as const) {
      expect(field(none).time('field', unit)).toBeNull();
      expect(field(none).timeText('field', unit)).toBeNull();
    }
  });

  it('that the interface gives as text are converted where they are longs or RFC 3339, else null', () => {
    expect(field('"1795161600000"').timeText('field', 'ms')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('1795161600').timeText('field', 's')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('"2026-11-20T16:00:00+08:00"').timeText('field', 'ms')).toBe('2026-11-20T08:00:00.000Z');
    expect(field('"2026-11-20 08:00:00"').timeText('field', 'ms')).toBeNull();
    expect(field('"2026-13-40T08:00:00Z"').timeText('field', 'ms')).toBeNull();
    expect(violationOf(() => field('{}').timeText('field', 'ms')).place).toBe('data.field');
    expect(violationOf(() => field('[]').timeText('field', 'ms')).place).toBe('data.field');
  });
});

describe('shapes that the interface does not show', () => {
  it('are handed through as they come', () => {
    const json = '{"a":[1,"x",null,true,{"b":{}}],"half":0.5,"big":"7"}';
    expect(field(json).opaque('field')).toEqual(JSON.parse(json));
  });

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
  const parse = (json: string) => parseJson(Buffer.from(json), { maxDepth: 64 });
  const notesOf = (json: string, read: (wire: Reader<Wire>) => unknown): string[] => {
    const notes: ContractNotes = new Set();
    readObject(parse(json), 'data', read, notes);
    return [...notes];
  };

  it('tell of fields that nobody asked for, at every level', () => {
    const read = (wire: Reader<Wire>) => [
      wire.id('field'),
      wire.list<Wire, unknown>('inner', (item) =>
        item.object<Wire, unknown>('inner', (one) => one.id('field')),
      ),
    ];
    expect(notesOf('{}', read)).toEqual([]);
    expect(notesOf('{"field":1,"inner":[{"inner":{"field":1}}]}', read)).toEqual([]);
    expect(notesOf('{"field":1,"more":1}', read)).toEqual(['unknown_field']);
    expect(notesOf('{"inner":[{"inner":null},{"more":1}]}', read)).toEqual(['unknown_field']);
    expect(notesOf('{"inner":[{"inner":{"more":1}}]}', read)).toEqual(['unknown_field']);
    expect(notesOf('{"__proto__":{}}', read)).toEqual(['unknown_field']);
  });

  it('do not tell of fields that are known and not needed, nor of what is inside an opaque one', () => {
    const read = (wire: Reader<Wire>) => {
      wire.skip(['field', 'absent']);
      wire.opaque('inner');
    };
    expect(notesOf('{"field":1,"inner":{"whatever":1}}', read)).toEqual([]);
  });

  it('tell of a text that names no certain time', () => {
    expect(notesOf('{"field":"2026-11-20 08:00"}', (wire) => wire.timeText('field', 'ms'))).toEqual([
      'time_text',
    ]);
  });

  it('tell of a field once that is asked for as a time in text', () => {
    const read = (wire: Reader<Wire>) => wire.timeText('field', 'ms');
    for (const time of ['"2026-11-20T08:00:00Z"', '"1795161600000"', '1795161600000', 'null']) {
      expect(notesOf(`{"field":${time}}`, read)).toEqual([]);
      expect(notesOf(`{"field":${time},"more":1}`, read)).toEqual(['unknown_field']);
    }
  });

  it.each<[string, 'ms' | 's', string[]]>([
    ['1795161600000', 'ms', []],
    ['1795161600', 's', []],
    ['0', 'ms', []],
    ['0', 's', []],
    ['-1', 'ms', []],
    ['86400000', 'ms', []],
    ['1795161600', 'ms', ['timestamp_unit']],
    ['"1795161600"', 'ms', ['timestamp_unit']],
    ['100000000', 'ms', ['timestamp_unit']],
    ['99999999999', 'ms', ['timestamp_unit']],
    ['100000000000', 'ms', []],
    ['99999999999', 's', []],
    ['100000000000', 's', ['timestamp_unit']],
  ])('tell of the time %s where the unit is %s: %j', (time, unit, expected) => {
    expect(notesOf(`{"field":${time}}`, (wire) => wire.time('field', unit))).toEqual(expected);
    expect(notesOf(`{"field":${time}}`, (wire) => wire.timeText('field', unit))).toEqual(expected);
  });

  it('are kept where a time cannot be converted', () => {
    const notes: ContractNotes = new Set();
    const read = (wire: Reader<Wire>) => wire.time('field', 's');
    expect(() => readObject(parse('{"field":1795161600000}'), 'data', read, notes)).toThrow(
      ContractViolation,
    );
    expect([...notes]).toEqual(['timestamp_unit']);
  });
});
