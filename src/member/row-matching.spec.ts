import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { matchRows } from './row-matching.ts';

const named = (names: readonly string[]) => names.map((userName) => ({ userName }));
const withSuffix = (suffix: string, accounts: readonly string[]) => accounts.map((each) => each + suffix);
/** The user names by account, of the members that were added and of the rows that failed. */
function matched(accounts: readonly string[], added: readonly string[], failed: readonly string[] = []) {
  const result = matchRows(accounts, named(added), named(failed));
  const names = (rows: ReadonlyMap<string, { userName: string }>) =>
    Object.fromEntries([...rows].map(([account, { userName }]) => [account, userName]));
  return { added: names(result.added), failed: names(result.failed), suffix: result.suffix };
}

describe('the rows of a response', () => {
  it.each<[string, string[], string[], string[], ReturnType<typeof matched>]>([
    [
      'one account begins with the other, and the failed one has the suffix',
      ['ann', 'anna'],
      ['annaacme'],
      ['annacme'],
      { added: { anna: 'annaacme' }, failed: { ann: 'annacme' }, suffix: 'acme' },
    ],
    [
      'one account begins with the other, and the failed one has no suffix',
      ['ann', 'anna'],
      ['annaacme'],
      ['ann'],
      { added: { anna: 'annaacme' }, failed: { ann: 'ann' }, suffix: 'acme' },
    ],
    [
      'an account is another one with the suffix',
      ['a', 'a01'],
      ['a01'],
      ['a01'],
      { added: { a: 'a01' }, failed: { a01: 'a01' }, suffix: '01' },
    ],
    [
      'some failed rows have the suffix, and others do not',
      ['bo', 'chen', 'dora'],
      ['dora@h'],
      ['bo', 'chen@h'],
      { added: { dora: 'dora@h' }, failed: { bo: 'bo', chen: 'chen@h' }, suffix: '@h' },
    ],
    [
      'a row is in both lists',
      ['a'],
      ['a@h'],
      ['a'],
      { added: { a: 'a@h' }, failed: { a: 'a' }, suffix: undefined },
    ],
    [
      'a row was not sent',
      ['bo'],
      ['bo@h', 'chen@h'],
      [],
      { added: { bo: 'bo@h' }, failed: {}, suffix: undefined },
    ],
    [
      'a row is missing, and the other one may be either',
      ['ann', 'anna'],
      ['annaacme'],
      [],
      { added: {}, failed: {}, suffix: undefined },
    ],
    [
      'a row is missing, and a failed one may be either',
      ['ann', 'annacme', 'bo'],
      ['boacme'],
      ['annacme'],
      { added: { bo: 'boacme' }, failed: {}, suffix: 'acme' },
    ],
    [
      'two suffixes explain the response, each with other rows',
      ['a', 'ab'],
      ['abb'],
      ['ab'],
      { added: {}, failed: {}, suffix: undefined },
    ],
  ])('are told apart, or not told at all: %s', (_, accounts, added, failed, expected) => {
    expect(matched(accounts, added, failed)).toEqual(expected);
  });

  it.each<[string, string[], string[], string | undefined]>([
    ['one member', ['anna'], ['annaacme'], 'acme'],
    ['in another case of letters', ['Anna'], ['annaACME'], 'acme'],
    ['one account begins with the other', ['ann', 'anna'], ['annaacme', 'annacme'], 'acme'],
    ['only one of two came, which may be either', ['ann', 'anna'], ['annaacme'], undefined],
    ['only one of two came, which can be one only', ['bo', 'anna'], ['annaacme'], 'acme'],
    ['no account', ['anna'], ['boacme'], undefined],
    ['nothing came', ['anna'], [], undefined],
    ['several suffixes', ['anna', 'bo'], ['annaacme', 'bopier'], undefined],
  ])('show the suffix that follows the accounts: %s', (_, sent, came, suffix) => {
    expect(matched(sent, came).suffix).toBe(suffix);
  });

  it('show the true suffix, or none, whatever the accounts are', () => {
    const account = fc.stringMatching(/^[ab1]{1,4}$/);
    const some = fc.uniqueArray(account, { minLength: 1, maxLength: 8 });
    fc.assert(
      fc.property(some, fc.nat(7), fc.constantFrom('@a', 'a', 'ab1', '.b', '1'), (accounts, last, suffix) => {
        const came = withSuffix(suffix, accounts.slice(0, last + 1));
        expect([suffix, undefined]).toContain(matched(accounts, came).suffix);
      }),
    );
  });
});
