import { hash } from 'node:crypto';
import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { Redactor } from '../observability/redactor.ts';
import { classify, type Classified, type WireResponse } from './classify.ts';

type Headers = WireResponse['headers'];

const answer = (status: number, body: string | Buffer, headers: Headers = {}): WireResponse => ({
  status,
  headers,
  body: Buffer.from(body),
});

const kindOf = (status: number, body: string | Buffer, headers?: Headers) =>
  classify(answer(status, body, headers)).kind;

function detailsOf(classified: Classified) {
  if (classified.kind === 'success') throw new Error('was a success');
  return classified.details;
}

describe('success', () => {
  it.each(['0', '"0"'])('is HTTP 200 with code %s', (code) => {
    expect(classify(answer(200, `{"code":${code},"message":"success","data":{"id":"a"}}`))).toEqual({
      kind: 'success',
      data: { id: 'a' },
    });
  });

  it('does not need data or a message', () => {
    expect(classify(answer(200, '{"code":0}'))).toEqual({ kind: 'success', data: undefined });
    expect(classify(answer(200, '{"code":0,"data":null}'))).toEqual({ kind: 'success', data: null });
  });

  it('may begin with one byte order mark', () => {
    expect(kindOf(200, '\ufeff{"code":0}')).toBe('success');
    expect(kindOf(200, '\ufeff\ufeff{"code":0}')).toBe('unreadable');
  });

  // Each of these is 0 for code that converts before it compares, or is no code at all.
  it.each([
    ...[
      '0.0',
      '-0',
      '0e0',
      'null',
      '""',
      '" 0"',
      'true',
      'false',
      '[]',
      '[0]',
      '{}',
      '1.5',
      '"0\\n"',
      '"零"',
    ],
    ...[`"${'0'.repeat(33)}"`, '12345678901234567890'],
  ])('is not code %.40s: that is no code at all', (code) => {
    const classified = classify(answer(200, `{"code":${code},"message":"m","data":[1]}`));
    expect(classified).toEqual({ kind: 'nonconforming', details: { status: 200 } });
  });

  it.each(['"00"', '"-0"', '"success"'])('is not code %s: that is another code', (code) => {
    const classified = classify(answer(200, `{"code":${code}}`));
    expect([classified.kind, detailsOf(classified).code]).toEqual(['refused', JSON.parse(code)]);
  });

  it('is not an envelope without a code', () => {
    expect(kindOf(200, '{}')).toBe('nonconforming');
    expect(kindOf(200, '{"data":{"code":0}}')).toBe('nonconforming');
    expect(kindOf(200, '{"Code":0}')).toBe('nonconforming');
  });

  it('is never found under any other status, code or type', () => {
    const code = fc.oneof(fc.integer(), fc.string(), fc.boolean(), fc.constant(null), fc.jsonValue());
    const status = fc.oneof(fc.constantFrom(200, 299), fc.integer({ min: 100, max: 999 }));
    fc.assert(
      fc.property(status, code, (aStatus, aCode) => {
        const body = JSON.stringify({ code: aCode, data: 1 });
        expect(kindOf(aStatus, body) === 'success').toBe(aStatus === 200 && (aCode === 0 || aCode === '0'));
      }),
      {
        numRuns: 1_000,
        examples: [
          [200, 0],
          [200, '0'],
          [299, 0],
          [200, ''],
        ],
      },
    );
  });
});

describe('a business code', () => {
  it.each([200, 299])('means the same as an integer and as text, with HTTP %i', (status) => {
    for (const code of ['13004', '"13004"']) {
      expect(classify(answer(status, `{"code":${code},"message":"name","cause":"stack"}`))).toEqual({
        kind: 'refused',
        details: { status, code: '13004', message: 'name', reason: 'stack' },
      });
    }
  });

  it('may be negative', () => {
    expect(classify(answer(299, '{"code":-1}'))).toEqual({
      kind: 'refused',
      details: { status: 299, code: '-1' },
    });
  });

  it.each(['0', '"0"', '[13004]', '{"a":1}'])('%s in a business exception breaks the contract', (code) => {
    expect(classify(answer(299, `{"code":${code},"data":{}}`))).toEqual({
      kind: 'nonconforming',
      details: { status: 299 },
    });
  });
});

describe('a body that is no envelope', () => {
  const deep = (depth: number) => `{"code":0,"data":${'['.repeat(depth)}${']'.repeat(depth)}}`;
  const cases: [string, string | Buffer][] = [
    ['malformed JSON', '{"code":0,'],
    ['nothing', ''],
    ['null', 'null'],
    ['a list', '[]'],
    ['text', '"ok"'],
    ['a number', '0'],
    ['two documents', '{"code":0}{"code":0}'],
    [
      'bytes in GBK',
      Buffer.concat([Buffer.from('{"code":0,"message":"'), Buffer.from([0xc9, 0xfa]), Buffer.from('"}')]),
    ],
    ['a repeated key deep inside', '{"code":0,"data":{"a":[{"b":1,"b":2}]}}'],
    ['10,000 levels', deep(10_000)],
    ['one level too many', deep(64)],
  ];

  it.each(cases)('is unreadable: %s', (_, body) => {
    for (const status of [200, 299]) {
      const bytes = answer(status, body).body;
      expect(classify(answer(status, body))).toEqual({
        kind: 'unreadable',
        details: { status, body: { bytes: bytes.length, sha256: hash('sha256', bytes) } },
      });
    }
  });

  it('is not one that is just not too deep', () => {
    expect(kindOf(200, deep(63))).toBe('success');
  });

  it.each(['gzip', 'x'])('is not even opened when it is coded (%s)', (coding) => {
    expect(kindOf(200, '{"code":0}', { 'content-encoding': coding })).toBe('unreadable');
  });

  it('is opened when it is coded as itself', () => {
    expect(kindOf(200, '{"code":0}', { 'content-encoding': 'identity' })).toBe('success');
    expect(kindOf(200, '{"code":0}', { 'content-encoding': ['identity', 'gzip'] })).toBe('unreadable');
  });
});

describe('HTTP statuses that the interface does not have', () => {
  it.each([401, 403])('%i without an envelope refuses our credentials', (status) => {
    for (const body of ['', '<html>', '{"error":"denied"}', '{"code":0}', '{"code":null}']) {
      expect(classify(answer(status, body))).toEqual({ kind: 'unauthorized', details: { status } });
    }
  });

  it.each([401, 403])('%i with a code that refuses credentials is that refusal', (status) => {
    expect(classify(answer(status, '{"code":"60005","message":"user"}'))).toEqual({
      kind: 'refused',
      details: { status, code: '60005', message: 'user' },
    });
    const taught = () => 'credentials' as const;
    expect(classify(answer(status, '{"code":41000}'), { redact: String, taught })).toEqual({
      kind: 'refused',
      details: { status, code: '41000', taught: 'credentials' },
    });
  });

  it.each([401, 403])('%i with any other code refuses nothing: a firewall may have sent it', (status) => {
    for (const [code, word] of [
      ['40000', undefined],
      ['401', undefined],
      ['41000', 'refused'],
    ] as const) {
      const reading = { redact: String, taught: () => word };
      expect(classify(answer(status, `{"code":${code},"message":"blocked"}`), reading)).toEqual({
        kind: 'unauthorized',
        details: { status, code, message: 'blocked', ...(word && { taught: word }) },
      });
    }
  });

  it.each([100, 201, 298, 300, 302, 400, 404, 499, 600, 999])('%i is unreadable with any body', (status) => {
    for (const body of ['', '{"code":0}', '{"code":"13004"}']) {
      expect(classify(answer(status, body, { location: 'http://elsewhere.invalid/' }))).toEqual({
        kind: 'unreadable',
        details: { status, body: { bytes: body.length, sha256: hash('sha256', body) } },
      });
    }
  });

  it.each([429, 500, 503, 599])('%i is unavailable with any body', (status) => {
    for (const body of ['', '<html>', '{"code":0,"data":{}}']) {
      expect(classify(answer(status, body, { 'retry-after': '3' }))).toEqual({
        kind: 'unavailable',
        details: { status, retryAfter: 3 },
      });
    }
    expect(detailsOf(classify(answer(status, ''))).retryAfter).toBeUndefined();
  });
});

describe("upstream's words", () => {
  const redactor = new Redactor();
  const wordsOf = (message: unknown, secrets: string[] = []) =>
    detailsOf(
      classify(answer(299, JSON.stringify({ code: '13004', message, cause: message })), {
        redact: redactor.alsoMasking(() => secrets),
        taught: () => undefined,
      }),
    );

  it.each([null, 5, true, {}, ['text'], 1.5])('are only text: %j is none', (message) => {
    expect(wordsOf(message)).toEqual({ status: 299, code: '13004' });
  });

  it('come without what forges log lines or disguises text', () => {
    const dangerous = [
      ...['\r\n', '\n', '\u0000', '\u001b', '\u0085', '\u009b'],
      ...['\u200b', '\u200e', '\u2028', '\u202e', '\u2066', '\ufeff', '\u061c'],
    ];
    for (const character of dangerous) {
      expect(wordsOf(`name${character}is wrong`)).toMatchObject({
        message: 'name is wrong',
        reason: 'name is wrong',
      });
    }
    expect(wordsOf('\u001b[31mred\u001b[0m').message).toBe('[31mred [0m');
    expect(wordsOf('名称 Zoë 😀 <b>').message).toBe('名称 Zoë 😀 <b>');
  });

  it('are cut at 500 characters, and never inside one', () => {
    expect(wordsOf('x'.repeat(1024 * 1024)).message).toBe('x'.repeat(500));
    expect(wordsOf('😀'.repeat(600)).message).toBe('😀'.repeat(500));
    expect(wordsOf(`${'x'.repeat(499)}\ud83d`).message?.isWellFormed()).toBe(true);
  });

  it('mask a secret of ours wherever it stands', () => {
    const secret = randomBytes(24).toString('base64url');
    expect(wordsOf(`Bearer ${secret}, again ${secret}.`, ['', secret])).toMatchObject({
      message: 'Bearer [secret], again [secret].',
      reason: 'Bearer [secret], again [secret].',
    });
    expect(wordsOf('x'.repeat(495) + secret, [secret]).message).toBe(`${'x'.repeat(495)}[secr`);
  });

  it('mask the longer one of two secrets that begin alike', () => {
    const password = randomBytes(8).toString('hex');
    const longer = password + randomBytes(8).toString('hex');
    expect(wordsOf(`refused: ${longer}`, [password, longer]).message).toBe('refused: [secret]');
  });

  it('show no piece of a secret, however long it is and however often it is echoed', () => {
    const pieceLength = 12;
    const scene = fc.record({
      length: fc.integer({ min: 16, max: 8_192 }),
      before: fc.integer({ min: 0, max: 12_000 }),
      echoes: fc.integer({ min: 1, max: 12 }),
      gap: fc.integer({ min: 0, max: 40 }),
    });
    fc.assert(
      fc.property(scene, ({ length, before, echoes, gap }) => {
        const secret = randomBytes(length).toString('hex').slice(0, length);
        const text = '.'.repeat(before) + (secret + '.'.repeat(gap)).repeat(echoes);
        const { message = '' } = wordsOf(text, [secret]);
        const pieces = message.match(new RegExp(`[0-9a-f]{${pieceLength},}`, 'g')) ?? [];
        expect(pieces).toEqual([]);
      }),
      { numRuns: 300, examples: [[{ length: 8_192, before: 1, echoes: 2, gap: 1 }]] },
    );
  });

  it('G6 are searched for secrets only when there are words', () => {
    let asked = 0;
    const redact = (text: string) => {
      asked++;
      return text;
    };
    const reading = { redact, taught: () => undefined };
    classify(answer(200, '{"code":0,"message":"success"}'), reading);
    classify(answer(503, '{"code":1,"message":"m"}'), reading);
    expect(asked).toBe(0);
    classify(answer(299, '{"code":1,"message":"m"}'), reading);
    expect(asked).toBeGreaterThan(0);
  });
});
