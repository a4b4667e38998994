import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { likelySuffix, suffixFor, suffixOfList } from './account-suffix.ts';

const list = (suffix: string, ...accounts: string[]) => accounts.map((account) => account + suffix);
const file = (...accounts: string[]) => new Set(accounts);
const MANY = ['anna', 'bo', 'chen', 'dora', 'emil', 'fay', 'gus', 'hanna', 'ivo', 'june'];

describe('the suffix in a list', () => {
  it.each<[string, string[], ReadonlySet<string>, string | undefined]>([
    ['behind an @, of one member', list('@acme', 'anna'), file(), '@acme'],
    [
      'behind an @, where one account is odd',
      [...list('@acme', 'anna', 'bo'), 'boss'],
      file('boss'),
      '@acme',
    ],
    ['behind two kinds of @', ['anna@acme', 'bo@pier'], file('anna'), undefined],
    ['behind a dot', list('.acme', 'anna', 'bo'), file(), '.acme'],
    ['behind a dot, where all end in the same letter', list('.acme', 'anna', 'dora'), file(), undefined],
    ['behind a dot, where the file names one', list('.acme', 'anna', 'dora'), file('anna'), '.acme'],
    ['with a dot in the code', list('acme.eu', 'anna', 'bo'), file('anna', 'bo'), 'acme.eu'],
    ['without a separator', list('acme', ...MANY), file('anna'), 'acme'],
    ['without a separator, of few members', list('acme', 'anna', 'bo'), file('anna', 'bo'), 'acme'],
    ['without a separator, of few members, one of them', list('acme', 'anna', 'bo'), file('bo'), undefined],
    ['two who end in the same letters', list('acme', 'anna', 'hanna'), file('anna', 'hanna'), 'acme'],
    [
      'two who end in the same letters, and the rest of one',
      list('acme', 'anna', 'hanna'),
      file('h'),
      undefined,
    ],
    ['no code at all', ['anna', 'hanna', 'johanna'], file('anna', 'hanna'), ''],
    ['all end in the same letters', list('hracme', ...MANY), file('annahr', 'bohr'), 'acme'],
    [
      'all end in the same letters, and the file has both',
      list('hracme', ...MANY),
      file('annahr', 'anna'),
      undefined,
    ],
    ['nobody of the file is there', list('acme', ...MANY), file('zoe', 'yara'), undefined],
    [
      'one has no code, and the file names it',
      ['admin', ...list('acme', ...MANY)],
      file('admin', 'anna'),
      undefined,
    ],
    ['one has no code', ['admin', ...list('acme', ...MANY)], file('anna', 'bo'), undefined],
    ['nobody', [], file('anna'), undefined],
  ])('is certain or not known: %s', (_, names, accounts, suffix) => {
    expect(suffixOfList(names, accounts)).toBe(suffix);
  });

  it('is the one that an answer has shown, as long as most members have it', () => {
    expect(suffixFor(list('acme', 'anna', 'hanna'), file('h'), 'acme')).toBe('acme');
    expect(suffixFor(['anna', 'bo', 'roacme'], file('anna', 'bo'), 'acme')).toBe('');
    expect(suffixFor(list('@pier', 'anna'), file(), 'acme')).toBe('@pier');
  });

  it('is likely where ten members have it, and fewer may share an ending by chance', () => {
    expect(likelySuffix(list('acme', ...MANY))).toBe('acme');
    expect(likelySuffix(list('acme', ...MANY.slice(1)))).toBe('');
    expect(likelySuffix([...list('acme', ...MANY), 'admin'])).toBe('');
  });

  it('never makes a person of a file a stranger, where accounts and code are any', () => {
    const account = fc.stringMatching(/^[ab1]{1,4}$/);
    const some = fc.uniqueArray(account, { minLength: 2, maxLength: 12 });
    const code = fc.constantFrom('@a', 'acme', '.b', '');
    fc.assert(
      fc.property(some, code, (accounts, suffix) => {
        // The file names exactly the members of the list.
        const found = suffixOfList(list(suffix, ...accounts), new Set(accounts));
        expect([suffix, undefined]).toContain(found);
      }),
    );
  });
});
