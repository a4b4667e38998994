import { describe, expect, it } from '@jest/globals';
import { comparedEffects, type Effects, shortTextOf } from './compared-effects.ts';

const of = (assetNum: string, more: Partial<Effects[number]> = {}): Effects[number] => ({
  ...{ kind: 'product-removed', enterpriseGlobalId: 'ent-1', assetId: `id-${assetNum}`, assetNum },
  ...{ productUri: 'a', memberGlobalId: null, account: null, readable: true },
  ...more,
});
/** The content of the asset cannot be read. */
const unread = (assetNum: string) => of(assetNum, { productUri: null, readable: false });
/** A deletion of which it is open whether it means this product. */
const open = (assetNum: string, productUri: string) => of(assetNum, { productUri, readable: false });
/** The list of assets cannot be read, or lacks the number. */
const unlisted = (assetNum: string) => of(assetNum, { assetId: null, productUri: null, readable: false });

describe('the effects of deletions now and before:', () => {
  it.each<[string, Effects, Effects, string]>([
    ['nothing', [], [], 'same'],
    ['the same in another order', [of('1'), of('2')], [of('2'), of('1')], 'same'],
    ['a product more', [of('1')], [of('1'), of('1', { productUri: 'b' })], 'changed'],
    ['an asset more', [of('1')], [of('1'), of('2')], 'changed'],
    ['an asset more where nothing was to be taken away', [], [of('2')], 'changed'],
    ['a number that is no longer in the list', [of('1')], [unlisted('1')], 'changed'],
    ['a number that never was in the list', [unlisted('1')], [unlisted('1')], 'same'],
    ['an asset that could not be read', [unread('1'), of('2')], [of('1'), of('2')], 'same'],
    ['another asset than the one that could not be read', [unread('1'), of('2')], [of('1')], 'changed'],
    ['an asset that cannot be read any more', [of('1'), of('2')], [unread('1'), of('2')], 'hidden'],
    ['one that cannot be read, and a change', [of('1'), of('2')], [unread('1')], 'changed'],
    ['an asset that cannot be read both times', [unread('1')], [unread('1')], 'same'],
    [
      'a list that could not be read, with assets that the order does not name',
      [unlisted('1')],
      [of('1'), of('9'), unread('8')],
      'same',
    ],
    [
      'a list that could be read beside a number that is not there',
      [unlisted('1'), of('2')],
      [unlisted('1'), of('2'), of('9')],
      'changed',
    ],
    [
      'another enterprise than the one whose list could not be read',
      [unlisted('1')],
      [of('1'), of('7', { enterpriseGlobalId: 'ent-2' })],
      'changed',
    ],
    [
      'a product of which it is open whether it goes',
      [of('1'), open('1', 'b')],
      [of('1'), open('1', 'b')],
      'same',
    ],
    ['a product of which it was open whether it goes', [open('1', 'a')], [of('1')], 'same'],
    ['a product of which it is now open whether it goes', [of('1')], [open('1', 'a')], 'hidden'],
    ['one more of which it is open whether it goes', [of('1')], [of('1'), open('1', 'b')], 'same'],
    [
      'an asset of which it is open whether it goes, and a product that is gone',
      [of('1'), open('1', 'b'), unread('1')],
      [open('1', 'b'), unread('1')],
      'changed',
    ],
    [
      'an asset of which it is open whether it goes, and that cannot be read any more',
      [of('1'), open('1', 'b'), unread('1')],
      [unread('1')],
      'hidden',
    ],
    [
      'an asset that was certain to go',
      [of('1'), of('1', { kind: 'asset-removed', productUri: null })],
      [of('1'), open('1', 'b'), of('1', { kind: 'asset-removed', productUri: null, readable: false })],
      'changed',
    ],
  ])('%s', (_, before, now, expected) => {
    expect(comparedEffects(before, now)).toBe(expected);
  });

  const inAsset = of('1', { instances: [] });
  const inLock = of('1', { productUri: 'b', instances: [] });
  it.each<[string, Effects, Effects, string]>([
    ['are not shown any more', [inAsset, inLock], [inAsset, unread('1')], 'hidden'],
    ['are shown again', [inAsset, unread('1')], [inAsset, inLock], 'same'],
  ])('lent locks, which may have one of two products, %s', (_, before, now, expected) => {
    expect(comparedEffects(before, now)).toBe(expected);
  });

  const one = { productId: 'p-1', licenseOrderId: 'l-1', nodes: 5, endsAt: '2027-01-01T00:00:00.000Z' };
  const withThese = (...instances: object[]) => [of('1', { instances: instances as (typeof one)[] })];
  it.each<[string, Effects, Effects, string]>([
    ['the same', withThese(one), withThese({ ...one }), 'same'],
    ['one more', withThese(one), withThese(one, { ...one, productId: 'p-2' }), 'changed'],
    ['one fewer', withThese(one, { ...one, productId: 'p-2' }), withThese(one), 'same'],
    ['another', withThese(one), withThese({ ...one, productId: 'p-2' }), 'changed'],
    ['one more without ids', withThese(one), withThese(one, { ...one, productId: null }), 'changed'],
    ['one of another order', withThese(one), withThese({ ...one, licenseOrderId: 'l-2' }), 'changed'],
    ['one whose ids are not shown', withThese(one), withThese({ ...one, productId: null }), 'same'],
    ['more nodes', withThese(one), withThese({ ...one, nodes: 6 }), 'changed'],
    ['nodes without a limit', withThese(one), withThese({ ...one, nodes: -1 }), 'changed'],
    ['fewer nodes', withThese(one), withThese({ ...one, nodes: 4 }), 'same'],
    ['nodes that are not shown', withThese(one), withThese({ ...one, nodes: null }), 'same'],
    ['nodes that were not shown', withThese({ ...one, nodes: null }), withThese(one), 'same'],
    ['a later end', withThese(one), withThese({ ...one, endsAt: '2027-01-02T00:00:00.000Z' }), 'changed'],
    ['no end', withThese(one), withThese({ ...one, endsAt: null }), 'changed'],
    ['an end', withThese({ ...one, endsAt: null }), withThese(one), 'same'],
    [
      'two whose order has changed',
      withThese(one, { ...one, nodes: 4 }),
      withThese({ ...one, nodes: 4 }, one),
      'same',
    ],
    ['one of a list that was not kept', [of('1')], withThese(one), 'same'],
  ])('the instances of a product: %s', (_, before, now, expected) => {
    expect(comparedEffects(before, now)).toBe(expected);
  });

  const assetOpen = of('1', { kind: 'asset-removed', productUri: null, readable: false });
  const besideIt = (...instances: object[]) => [assetOpen, ...withThese(...instances)];
  it.each<[string, Effects, string]>([
    ['more nodes', besideIt({ ...one, nodes: 50 }), 'changed'],
    ['a later end', besideIt({ ...one, endsAt: '2030-01-01T00:00:00.000Z' }), 'changed'],
    ['another instance', besideIt({ ...one, productId: 'p-2' }), 'changed'],
    ['the same', besideIt(one), 'same'],
    [
      'only others of the product, of which it is open whether they go',
      [assetOpen, open('1', 'a')],
      'hidden',
    ],
    ['nothing that is shown', [unread('1')], 'hidden'],
  ])('where it is open whether the asset goes too: %s', (_, now, expected) => {
    expect(comparedEffects(besideIt(one), now)).toBe(expected);
  });

  const gone = (assetNum: string) => of(assetNum, { kind: 'asset-removed', productUri: null });
  const kept = (productUri: string, assetNum = '1') => of(assetNum, { productUri, instances: [one] });
  it.each<[string, Effects, Effects, string]>([
    ['which two of them take', [of('1'), of('1')], [kept('a')], 'same'],
    ['with one more', [of('1'), of('1')], [kept('a'), kept('b')], 'changed'],
    [
      'with a number that is not in the list',
      [unlisted('1'), unlisted('1'), of('2')],
      [unlisted('1'), of('2')],
      'same',
    ],
    [
      'and now the asset that they empty together',
      [of('1'), of('1', { productUri: 'b' })],
      [gone('1'), kept('a'), kept('b')],
      'same',
    ],
    [
      'and now another asset',
      [of('1'), of('1', { productUri: 'b' })],
      [kept('a'), kept('b'), gone('2')],
      'changed',
    ],
    ['and now the asset of the only one', [of('1')], [gone('1'), kept('a')], 'changed'],
    ['and the asset both times', [gone('1'), gone('1'), of('1'), of('1')], [gone('1'), kept('a')], 'same'],
    [
      'with instances, and now the asset',
      [kept('a'), kept('b')],
      [gone('1'), kept('a'), kept('b')],
      'changed',
    ],
  ])(
    'products of a record of a version that looked at each deletion alone, %s',
    (_, before, now, expected) => {
      expect(comparedEffects(before, now)).toBe(expected);
    },
  );

  it.each<[string, Effects, Effects, string]>([
    ['it was shown before', [of('1')], [unlisted('1')], 'hidden'],
    [
      'it was shown before, with assets that the order does not name',
      [of('1'), of('9')],
      [unlisted('1')],
      'hidden',
    ],
    ['it was shown before, with nothing to take away', [], [unlisted('1')], 'hidden'],
    ['it was not shown before either', [unlisted('1')], [unlisted('1')], 'same'],
    [
      'one of its deletions was not shown before either',
      [unlisted('1'), of('2')],
      [unlisted('1'), of('2')],
      'same',
    ],
    [
      'another enterprise has a change',
      [of('1'), of('7', { enterpriseGlobalId: 'ent-2' })],
      [unlisted('1')],
      'changed',
    ],
  ])('an enterprise of which nothing is shown: %s', (_, before, now, expected) => {
    expect(comparedEffects(before, now, new Set(['ent-1']))).toBe(expected);
  });

  it('a long list is cut for a caller, and says how many there are; both lists of a change fit into a reason', () => {
    expect(shortTextOf([of('2'), unread('1')])).toBe('[product-removed 1 unreadable, product-removed 2 a]');
    expect(shortTextOf(withThese(one, { ...one, nodes: null, endsAt: null }))).toBe(
      '[product-removed 1 a (l-1; l-1 5 nodes to 2027-01-01T00:00:00.000Z)]',
    );
    const text = shortTextOf(Array.from({ length: 5_000 }, (_, at) => of(String(at))));
    expect(text).toMatch(/^\[product-removed 0 a, .*\(5000 in all\)]$/);
    expect(2 * text.length).toBeLessThan(1_900);
    for (const before of ['', 'x'])
      expect(shortTextOf([of(before + '😀'.repeat(1_000))]).isWellFormed()).toBe(true);
  });
});
