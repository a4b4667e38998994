import { PassThrough } from 'node:stream';
import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { newSecret } from '../../test/support/canary.ts';
import { leakShapes } from '../../test/support/leak-shapes.ts';
import { Redactor } from './redactor.ts';
import { createLog } from './log.ts';

function redactorOf(...secrets: string[]): Redactor {
  const redactor = new Redactor();
  redactor.add(secrets);
  return redactor;
}

describe('a known secret in a text', () => {
  const secret = `${newSecret('s')}:+%/é"\\`;
  const base64 = (text: string) => Buffer.from(text).toString('base64');

  it.each<[string, string]>([
    ['in JSON in JSON', JSON.stringify({ reason: JSON.stringify({ password: secret }) })],
    ['as it is', secret],
    ['in JSON with escaped slashes', JSON.stringify(`${secret}/a`).replaceAll('/', '\\/')],
    ['in a form', new URLSearchParams({ password: secret }).toString()],
    [
      'in a URL with small digits',
      encodeURIComponent(secret).replaceAll(/%../g, (each) => each.toLowerCase()),
    ],
    ['in base64', base64(secret)],
    ['in Basic authentication', base64(`k:${secret}`)],
    ['in base64url', Buffer.from(`kk:${secret}`).toString('base64url')],
  ])('%s is masked', (_, text) => {
    const known = redactorOf('another', secret);
    const passing = redactorOf('another').alsoMasking(() => ['a further one', secret]);
    for (const masked of [known.redact(`before ${text} after`), passing(`before ${text} after`)]) {
      expect(masked).toMatch(/^before .*\[secret\].* after$/);
      // Digits that the secret shares with its neighbours in base64 are not masked.
      expect(masked.length).toBeLessThan(60);
    }
  });

  it('is masked in every form whether it is known or passes through', () => {
    const encodings: ((text: string) => string)[] = [
      (text) => text,
      (text) => JSON.stringify(text),
      (text) => JSON.stringify(JSON.stringify(text)),
      (text) => JSON.stringify(text).replaceAll('/', '\\/'),
      (text) => encodeURIComponent(text),
      (text) => new URLSearchParams({ '': text }).toString().toLowerCase(),
      (text) => Buffer.from(text).toString('hex').toUpperCase(),
      (text) => Buffer.from(text).toString('base64'),
      (text) => Buffer.from(text).toString('base64url'),
    ];
    const word = fc.string({ unit: fc.constantFrom(...'aZ09é密😀\ud800 /+%"\\_-~'), maxLength: 4 });
    const part = fc.string({ unit: fc.constantFrom(...'aZ09é密 /+%"\\_-~'), minLength: 4, maxLength: 12 });
    fc.assert(
      fc.property(part, word, word, fc.constantFrom(...encodings), (given, before, after, encoded) => {
        const text = `${before}${encoded((before + given + after).toWellFormed())}${after}`;
        const known = redactorOf(given).redact(text);
        expect(redactorOf('another').alsoMasking(() => [given])(text)).toBe(known);
      }),
      { numRuns: 2_000 },
    );
  });

  it('is masked whole, where another is its beginning', () => {
    expect(redactorOf('abcdef', 'abcdefghij').redact('x abcdefghij abcdef')).not.toMatch(/ghij|abc/);
  });

  it.each(['ab', `${newSecret('m')} /+é`])(
    'G6 is masked while it passes through, and not kept: %#',
    (passing) => {
      const redactor = redactorOf(secret);
      for (const form of [passing, encodeURIComponent(passing)])
        if (passing.length > 4 || form === passing)
          expect(redactor.alsoMasking(() => [passing])(`x ${form} y`)).toBe('x [secret] y');
      expect(redactor.redact(`x ${passing} y`)).toBe(`x ${passing} y`);
    },
  );

  it('a short one that passes through is masked where it stands alone, and leaves words and numbers whole', () => {
    const redactor = redactorOf(secret);
    const text = 'password 1 must have 10 to 18 characters, not "1": see help.1st.example';
    expect(redactor.alsoMasking(() => ['1'])(text)).toBe(
      'password [secret] must have 10 to 18 characters, not "[secret]": see help.1st.example',
    );
    expect(redactor.alsoMasking(() => ['ab'])('密码ab太短')).toBe('密码[secret]太短');
  });

  it('leaves everything else, and a secret too short to be one masks nothing', () => {
    const text = '{"level":"error","event":"internal-error","stack":"    at place (file:///x.js:1:1)"}';
    expect(redactorOf('e', '', 'abc', secret).redact(text)).toBe(text);
  });
});

/** The shortest time of a few lines, so that other load of the machine does not matter. */
function shortestMs(redact: (text: string) => string, line: string, tries = 20): number {
  const times = Array.from({ length: tries }, (_, index) => {
    const started = performance.now();
    redact(`${line}${index}`);
    return performance.now() - started;
  });
  return Math.min(...times);
}

it('passwords that end as every line begins cost no search for each of them', () => {
  const passwords = Array.from({ length: 2_000 }, () => `${newSecret('t')}2026`);
  const redactor = redactorOf(...passwords);
  const line = `{"time":"2026-11-26T12:00:00.000Z","msg":"the year 2026"}`;
  expect(redactor.redact(`${line}${passwords[7]}`)).toBe(`${line}[secret]`);
  expect(shortestMs((text) => redactor.redact(text), line)).toBeLessThan(2);
});

describe('the passwords of a request', () => {
  const passwords = Array.from({ length: 49_000 }, (_, index) => `${newSecret('m')}${index}/é`);
  const refusal =
    'The password of item 17 is not strong enough: see https://help.platform.example/authentication';

  it('are searched in a text that has none of them in a moment', () => {
    const redactor = redactorOf('another');
    const redact = (text: string) => redactor.alsoMasking(() => passwords)(text);
    // Making all forms of each text would take a second.
    expect(shortestMs(redact, refusal, 5)).toBeLessThan(250);
  });

  it('take their forms once for all rows of a response', () => {
    const redact = redactorOf('another').alsoMasking(() => passwords.slice(0, 100));
    const text = `${refusal}/${'r'.repeat(60)} 100%`;
    expect(redact(`${text} ${passwords[7]}`)).toBe(`${text} [secret]`);
    // Making the forms for each row would take 2 ms and more.
    expect(shortestMs(redact, text)).toBeLessThan(1);
  });
});

describe('the tokens of 2,000 users', () => {
  // Tokens often begin in the same way.
  const newToken = () => `eyJhbGciOiJSUzI1NiJ9.${newSecret('t')}${newSecret('t').repeat(8)}`;
  const tokens = Array.from({ length: 2_000 }, newToken);
  const text = 'The platform sent something that nobody knows. '.repeat(8);

  it('are all masked, and a line is searched for them in a moment', () => {
    const redactor = redactorOf(...tokens);
    for (const token of tokens) expect(redactor.redact(`${text}${token}.`)).toBe(`${text}[secret].`);
    // One search for each token takes 100 ms.
    expect(shortestMs((each) => redactor.redact(each), text)).toBeLessThan(10);
  });

  it('are forgotten some time after they have ended, and present ones stay masked', () => {
    const redactor = new Redactor();
    const current = [newToken(), newToken()];
    redactor.add(current);
    const [kept, first] = current as [string, string];
    for (const token of tokens) {
      current[1] = token;
      expect(redactor.redact(`${kept} ${token}`)).toBe('[secret] [secret]');
    }
    expect(redactor.redact(`${kept} ${first}`)).toBe(`[secret] ${first}`);
  });
});

describe('the log', () => {
  /** Returns the texts that a careless log call may put into a field. The log accepts texts only. */
  const textsOf = (thing: unknown) => [
    String(thing),
    inspect(thing, { depth: 9 }),
    JSON.stringify(thing) ?? '',
    ...(thing instanceof Error ? [thing.message, String(thing.stack)] : []),
  ];
  const secret = newSecret('t');

  it.each(Object.entries(leakShapes(secret)))('S3 shows no known secret, leaked by %s', (_, thing) => {
    const stream = new PassThrough();
    const log = createLog('debug', stream);
    const current: string[] = [];
    log.addSecrets(current);
    // The secret becomes known a moment later, as a token does.
    current.push(secret);
    for (const text of textsOf(thing)) {
      log.debug({ event: 'framework', reason: text }, text);
      log.info({ event: 'request', problem: 'upstream-rejected', detail: text }, 'x');
      log.warn({ event: 'x', stack: text }, 'x');
      log.error({ event: 'x', cause: text }, text);
    }
    const written = String(stream.read());
    expect(written.split('\n').length).toBe(textsOf(thing).length * 4 + 1);
    expect(written).not.toContain(secret);
    for (const line of written.trim().split('\n')) expect(() => JSON.parse(line) as unknown).not.toThrow();
  });
});
