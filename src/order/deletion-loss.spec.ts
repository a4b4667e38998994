import { describe, expect, it } from '@jest/globals';
import type { Instance, Meant } from '../upstream/wire/instances.ts';
import { lossOf, type MeantHere, showsAll } from './deletion-loss.ts';

type Product = NonNullable<Instance['product']>;

const START = '2026-01-05T08:00:00.000Z';

function product(
  productUri: string | null,
  more: Partial<Product> = {},
  over: Partial<Instance> = {},
): Instance {
  return {
    ...{ licenseOrderId: 'l', channelCode: 'crm', channelOrderId: 'SO-1', customerId: 'cus' },
    ...{ createdAt: null, merchandiseNums: [], ...over },
    product: {
      ...{ productId: null, productName: null, crmProductId: null, trial: null, appKey: null },
      ...{ productUri, gmsPid: null, startsAt: START, endsAt: null, limitConcurrent: 5, ...more },
    },
  };
}
const of = (licenseOrderId: string | null, productUri: string) => product(productUri, {}, { licenseOrderId });
const inPackage = (num: string | null) => product('a', {}, { merchandiseNums: [num] });

const wholeOrder: Meant = { licenseOrderId: 'l' };
const name = { productUri: 'a', merchandiseNums: [] };
const named: Meant = { licenseOrderId: 'l', named: [name] };
const terms = { startsAt: START, endsAt: null, limitConcurrent: 5 };
const strict: Meant = { licenseOrderId: 'l', named: [{ ...name, terms }] };
const ofPackage: Meant = { licenseOrderId: 'l', named: [{ ...name, merchandiseNums: ['PKG'] }] };

describe('a deletion takes from an asset', () => {
  it.each<[string, Instance[], Meant, boolean | undefined, Record<string, boolean>]>([
    ['the asset with everything where it names no order', [of('m', 'a')], {}, true, { a: true }],
    ['an asset with nothing on it', [], {}, true, {}],
    ['the asset with the products of its order', [of('l', 'a')], wholeOrder, true, { a: true }],
    [
      'perhaps an asset with products of other orders',
      [of('l', 'a'), of('m', 'b')],
      wholeOrder,
      undefined,
      { a: true, b: false },
    ],
    ['the named product', [of('l', 'a'), of('l', 'b')], named, false, { a: true }],
    ['the asset with its last product', [of('l', 'a')], named, true, { a: true }],
    ['nothing of another order', [of('m', 'a')], named, false, {}],
    ['perhaps a product whose order is not shown', [of(null, 'a'), of('l', 'b')], named, false, { a: false }],
    ['perhaps an asset with such a product', [of(null, 'a'), of('l', 'a')], named, undefined, { a: true }],
    ['perhaps a product without a uri', [product(null), of('l', 'b')], named, false, { null: false }],
    ['a product that its gmsPid names', [product(null, { gmsPid: 'a' })], named, true, { null: false }],
    ['strictly a product with its terms', [product('a')], strict, true, { a: true }],
    ['strictly no product with another end', [product('a', { endsAt: START })], strict, false, {}],
    ['strictly no product with more nodes', [product('a', { limitConcurrent: 6 })], strict, false, {}],
    [
      'perhaps a product without a start',
      [product('a', { startsAt: null })],
      strict,
      undefined,
      { a: false },
    ],
    [
      'perhaps a product without nodes',
      [product('a', { limitConcurrent: null })],
      strict,
      undefined,
      { a: false },
    ],
    [
      'perhaps a product of which nodes are lent',
      [product('a', { limitConcurrent: 4 })],
      strict,
      undefined,
      { a: false },
    ],
    ['a product in a package', [inPackage('PKG')], ofPackage, true, { a: true }],
    ['no product in another package', [inPackage('PKG-2')], ofPackage, false, {}],
    ['perhaps one in a package without a number', [inPackage(null)], ofPackage, undefined, { a: false }],
  ])('%s', (_, instances, meant, asset, products) => {
    const loss = lossOf(instances, [meant]);
    expect([loss.asset, Object.fromEntries(loss.products)]).toEqual([asset, products]);
  });

  it('where it is open whether it concerns the asset: perhaps all that it would take', () => {
    const { asset, products, gone } = lossOf([of('l', 'a')], [{ ...named, isOpen: true }]);
    expect([asset, [...products], gone]).toEqual([undefined, [['a', false]], []]);
  });

  it.each<[string, Instance[], boolean | undefined]>([
    ['perhaps the lock, beside what may be lent into it', [of('l', 'a'), of('m', 'b')], undefined],
    ['not the lock, where it holds nothing of the deletion', [of('m', 'b')], false],
  ])('that is a lent lock: %s', (_, instances, asset) => {
    expect(lossOf(instances, [named], true).asset).toBe(asset);
  });

  const second: Meant = { licenseOrderId: 'l', named: [{ ...name, productUri: 'b' }] };
  const both = [of('l', 'a'), of('l', 'b')];
  it.each<[string, Instance[], MeantHere[], boolean | undefined, Record<string, boolean>]>([
    ['the asset that they empty together', both, [named, second], true, { a: true, b: true }],
    ['what two of them name once', both, [named, named], false, { a: true }],
    [
      'perhaps the asset that one of them perhaps concerns',
      both,
      [named, { ...second, isOpen: true }],
      undefined,
      { a: true, b: false },
    ],
    [
      'the asset with all of its orders',
      [of('l', 'a'), of('m', 'b')],
      [wholeOrder, { licenseOrderId: 'm' }],
      true,
      { a: true, b: true },
    ],
  ])('by several deletions: %s', (_, instances, meants, asset, products) => {
    const loss = lossOf(instances, meants);
    expect([loss.asset, Object.fromEntries(loss.products)]).toEqual([asset, products]);
  });

  it.each<[string, Instance[], Meant, boolean]>([
    ['all that it names', [of('l', 'a')], named, true],
    ['what it may mean', [of(null, 'a')], named, true],
    ['not what it names', [of('m', 'a')], named, false],
    [
      'not everything that it names',
      [of('l', 'a')],
      { ...named, named: [name, { ...name, productUri: 'b' }] },
      false,
    ],
    ['nothing of its order', [of('m', 'a')], wholeOrder, false],
    ['nothing, where it deletes the asset', [], {}, true],
  ])('that shows %s', (_, instances, meant, expected) => {
    expect(showsAll(instances, meant)).toBe(expected);
  });
});
