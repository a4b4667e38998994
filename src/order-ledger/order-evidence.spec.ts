import { describe, expect, it } from '@jest/globals';
import type { Instance } from '../upstream/wire/instances.ts';
import type { Bought, Deletion, OrderDetails } from './ledger-record.ts';
import { evidenceOf, isGone, isThere, ordersIn } from './order-evidence.ts';

const order: OrderDetails = {
  ...{ channelCode: 'crm', channelOrderId: 'SO-1', syncMode: 'sync', ordered: [], items: [], reason: null },
};
const NOW = Date.parse('2026-11-20T08:00:00.000Z');

/** A product of the order on an asset; a package where there is no product. */
function instance(licenseOrderId: string | null, product: string | null, nodes: number | null = 2): Instance {
  return {
    ...{ licenseOrderId, channelCode: 'crm', channelOrderId: 'SO-1', customerId: 'cus' },
    ...{ createdAt: '2026-11-20T08:00:01.000Z', merchandiseNums: product === null ? ['PKG'] : [] },
    product:
      product === null
        ? null
        : {
            ...{ productId: null, productName: null, crmProductId: null, trial: null },
            ...{ productUri: product, gmsPid: null, appKey: null, startsAt: null, endsAt: null },
            limitConcurrent: nodes,
          },
  };
}
const bought = (name: string, nodes?: number, count = 1): Bought => ({ names: [name], nodes, count });
const found = (orders: Record<string, Instance[]>) => new Map(Object.entries(orders));
const one = (...things: Bought[]) => [{ sequence: 1, bought: things }];
const two = (first: Bought[], second: Bought[]) => [
  { sequence: 1, bought: first },
  { sequence: 2, bought: second },
];

describe('the evidence of purchases', () => {
  it.each<[string, Parameters<typeof evidenceOf>, object]>([
    ['nothing found', [one(bought('a', 2)), found({})], { kind: 'none' }],
    ['no purchases', [[], found({})], { kind: 'all' }],
    [
      'the product and its nodes',
      [one(bought('a', 2)), found({ l: [instance('l', 'a')] })],
      { kind: 'all', placed: new Map([[1, 'l']]) },
    ],
    ['another product', [one(bought('b', 2)), found({ l: [instance('l', 'a')] })], { kind: 'part' }],
    ['other nodes', [one(bought('a', 3)), found({ l: [instance('l', 'a')] })], { kind: 'part' }],
    [
      'nodes that are not shown',
      [one(bought('a', 3)), found({ l: [instance('l', 'a', null)] })],
      { kind: 'all' },
    ],
    ['no limit of nodes', [one(bought('a', -1)), found({ l: [instance('l', 'a', 9_999)] })], { kind: 'all' }],
    ['one of two assets', [one(bought('a', 2, 2)), found({ l: [instance('l', 'a')] })], { kind: 'part' }],
    [
      'the order twice',
      [one(bought('a', 2)), found({ l: [instance('l', 'a')], m: [instance('m', 'a')] })],
      { kind: 'twice' },
    ],
    [
      'another order of the number',
      [one(bought('a', 2)), found({ l: [instance('l', 'a')], m: [instance('m', 'b')] })],
      { kind: 'all', placed: new Map([[1, 'l']]) },
    ],
    [
      'a package by its number',
      [one({ names: [], merchandiseNum: 'PKG', count: 1 }), found({ l: [instance('l', null)] })],
      { kind: 'all' },
    ],
    [
      'an order for each item',
      [two([bought('a', 2)], [bought('b', 2)]), found({ l: [instance('l', 'b')], m: [instance('m', 'a')] })],
      {
        kind: 'all',
        placed: new Map([
          [1, 'm'],
          [2, 'l'],
        ]),
      },
    ],
    [
      'equal items',
      [two([bought('a', 2)], [bought('a', 2)]), found({ l: [instance('l', 'a')], m: [instance('m', 'a')] })],
      { kind: 'all', placed: new Map() },
    ],
    [
      'one of equal items',
      [two([bought('a', 2)], [bought('a', 2)]), found({ l: [instance('l', 'a')] })],
      { kind: 'part' },
    ],
    [
      'one order for the batch',
      [two([bought('a', 2)], [bought('b', 2)]), found({ l: [instance('l', 'a'), instance('l', 'b')] })],
      {
        kind: 'all',
        placed: new Map([
          [1, 'l'],
          [2, 'l'],
        ]),
      },
    ],
    [
      'the batch twice',
      [
        two([bought('a', 2)], [bought('b', 2)]),
        found({ l: [instance('l', 'a'), instance('l', 'b')], m: [instance('m', 'a'), instance('m', 'b')] }),
      ],
      { kind: 'twice' },
    ],
    [
      'items of an earlier version',
      [[{ sequence: 1, bought: undefined }], found({ l: [instance('l', 'x')] })],
      { kind: 'all', placed: new Map([[1, 'l']]) },
    ],
    [
      'items that name nothing',
      [two([], [bought('a', 2)]), found({ l: [instance('l', 'a')] })],
      { kind: 'part' },
    ],
  ])('%s', (_, [purchases, orders], expected) => {
    expect(evidenceOf(purchases, orders)).toMatchObject(expected);
  });

  it('has no licence orders that are older, or whose time is not known', () => {
    const old = { ...instance('l', 'a'), createdAt: '2026-11-20T07:00:00.000Z' };
    const timeless = { ...instance('m', 'a'), createdAt: null };
    const assets = [{ assetNum: '1', isWhole: true, instances: [old, timeless, instance('n', 'a')] }];
    expect([...ordersIn({ assets, isWhole: true }, order, NOW).keys()]).toEqual(['n']);
  });
});

describe('a deletion', () => {
  const asset = (assetNum: string | null, ...instances: Instance[]) => ({
    assetNum,
    instances,
    isWhole: true,
  });
  const other = { ...instance('l', 'a'), channelOrderId: 'SO-0' };
  const whole: Deletion = { assetNums: ['1'] };
  const ofProduct: Deletion = { assetNums: ['1'], named: [{ productUri: 'a', merchandiseNums: [] }] };

  it.each<[string, Deletion, Parameters<typeof isGone>[1], boolean, boolean]>([
    ['of an asset that is there', whole, { assets: [asset('1')], isWhole: true }, true, false],
    ['of an asset that is not', whole, { assets: [asset('2')], isWhole: true }, false, true],
    ['in a list that is not whole', whole, { assets: [], isWhole: false }, false, false],
    ['beside an asset without a number', whole, { assets: [asset(null)], isWhole: true }, false, false],
    ['of a product that is there', ofProduct, { assets: [asset('1', other)], isWhole: true }, true, false],
    ['of a product that is not', ofProduct, { assets: [asset('1')], isWhole: true }, false, true],
    [
      'of two products, of which one was never there',
      { ...ofProduct, named: [...(ofProduct.named ?? []), { productUri: 'b', merchandiseNums: [] }] },
      { assets: [asset('1', other)], isWhole: true },
      false,
      false,
    ],
    [
      'of a product whose asset is not read',
      ofProduct,
      { assets: [{ ...asset('1'), isWhole: false }], isWhole: true },
      false,
      false,
    ],
    [
      'of a product that the order itself bought',
      ofProduct,
      { assets: [asset('1', instance('l', 'a'))], isWhole: true },
      true,
      true,
    ],
  ])('%s', (_, deletion, holdings, there, gone) => {
    expect([isThere(deletion, holdings), isGone(deletion, holdings, order)]).toEqual([there, gone]);
  });

  type Product = NonNullable<Instance['product']>;
  const from = (licenseOrderId: string | null, product: Partial<Product>, more: Partial<Instance> = {}) => {
    const each = instance(licenseOrderId, 'a');
    return {
      ...each,
      channelOrderId: 'SO-0',
      ...more,
      product: { ...(each.product as Product), ...product },
    };
  };
  const packageOf = (num: string | null) => ({
    ...{ ...instance('l', null), channelOrderId: 'SO-0', merchandiseNums: [num] },
  });
  const strict = { startsAt: '2026-01-05T08:00:00.000Z', endsAt: null, limitConcurrent: 2 };
  const { startsAt } = strict;
  const named = (...names: NonNullable<Deletion['named']>) => ({ ...ofProduct, named: names });
  const ofOrder: Deletion = { ...ofProduct, licenseOrderId: 'l' };
  const strictly = named({ productUri: 'a', merchandiseNums: [], terms: strict });
  const ofPackage = named({ merchandiseNums: ['PKG'] });
  const inPackage = named({ productUri: 'a', merchandiseNums: ['PKG'] });

  it.each<[string, Deletion, Instance, boolean, boolean]>([
    ['strictly of a product with its terms', strictly, from('l', { startsAt }), true, false],
    [
      'strictly of a product with another end',
      strictly,
      from('l', { startsAt, endsAt: startsAt }),
      false,
      false,
    ],
    ['strictly of a product without a start', strictly, from('l', {}), false, false],
    [
      'strictly of a product with other nodes',
      strictly,
      from('l', { startsAt, limitConcurrent: 3 }),
      false,
      false,
    ],
    [
      'strictly of a product without nodes',
      strictly,
      from('l', { startsAt, limitConcurrent: null }),
      false,
      false,
    ],
    ['strictly of another product', strictly, from('l', { startsAt, productUri: 'b' }), false, true],
    [
      'of a product that only its gmsPid names',
      ofProduct,
      from('l', { productUri: 'u', gmsPid: 'a' }),
      true,
      false,
    ],
    [
      'of a product that only its appKey names',
      ofProduct,
      from('l', { productUri: null, appKey: 'a' }),
      true,
      false,
    ],
    ['of a product without a uri', ofProduct, from('l', { productUri: null, gmsPid: 'g' }), false, false],
    ['of a product without a name', ofProduct, from('l', { productUri: null }), false, false],
    ['of the product of an order', ofOrder, from('l', {}), true, false],
    ['of the product of another order', ofOrder, from('m', {}), false, true],
    ['of the product of an order that is not shown', ofOrder, from(null, {}), false, false],
    [
      'of another product of an order that is not shown',
      ofOrder,
      from(null, { productUri: 'b' }),
      false,
      true,
    ],
    ['of a package', ofPackage, packageOf('PKG'), true, false],
    ['of another package', ofPackage, packageOf('PKG-2'), false, true],
    ['of a package without a number', ofPackage, packageOf(null), false, false],
    ['of a product in a package', inPackage, from('l', {}, { merchandiseNums: ['PKG'] }), true, false],
    ['of a product in no package', inPackage, from('l', {}), false, true],
    [
      'of a product in a package without a number',
      inPackage,
      from('l', {}, { merchandiseNums: [null] }),
      false,
      false,
    ],
  ])('%s', (_, deletion, shown, there, gone) => {
    const holdings = { assets: [asset('1', shown)], isWhole: true };
    expect([isThere(deletion, holdings), isGone(deletion, holdings, order)]).toEqual([there, gone]);
  });
});
