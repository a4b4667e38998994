import { describe, expect, it } from '@jest/globals';
import type { Instance } from '../upstream/wire/instances.ts';
import type { Bought, Deletion, OrderDetails } from './ledger-record.ts';
import { evidenceOf, isGone, isThere, mayBeLent, ordersIn } from './order-evidence.ts';

const order: OrderDetails = {
  ...{ channelCode: 'crm', channelOrderId: 'SO-1', syncMode: 'sync', ordered: [], items: [], reason: null },
};
/** An order may be of the size of a request, and everybody else waits meanwhile. The slowest machine is ten times as slow as a fast one. */
const MOMENT_MS = 1_000;
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
      'an open and an exact number of nodes, the exact one first',
      [one(bought('a', -1), bought('a', 5)), found({ l: [instance('l', 'a', 5), instance('l', 'a', -1)] })],
      { kind: 'all' },
    ],
    [
      'an open and an exact number of nodes, the exact one last',
      [one(bought('a', -1), bought('a', 5)), found({ l: [instance('l', 'a', -1), instance('l', 'a', 5)] })],
      { kind: 'all' },
    ],
    [
      'an open number of nodes where only the exact one is shown',
      [one(bought('a', -1), bought('a', 5)), found({ l: [instance('l', 'a', 5)] })],
      { kind: 'part' },
    ],
    [
      'items of which one fits both orders, and the other only the first',
      [
        two([bought('a')], [bought('a', 5)]),
        found({ x: [instance('x', 'a', 5)], y: [instance('y', 'a', 1)] }),
      ],
      { kind: 'all', placed: new Map([[2, 'x']]) },
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

  it.each<[string, number, number]>([
    ['10 products on 3,000 assets', 10, 3_000],
    ['3,000 products', 3_000, 1],
  ])('of %s takes no longer than a moment', (_, products, count) => {
    const things = Array.from({ length: products }, (_each, index) => bought(`a${index}`, index, count));
    const instances = things.flatMap(({ names: [name = ''], nodes = 0 }) =>
      Array.from({ length: count }, () => instance('l', name, nodes)),
    );
    const startedAt = performance.now();
    expect(evidenceOf(one(...things), found({ l: instances.toReversed() })).kind).toBe('all');
    expect(performance.now() - startedAt).toBeLessThan(MOMENT_MS);
  });

  it.each<[string, (index: number) => Bought]>([
    ['equal items', () => bought('a', 2)],
    ['items with different nodes', (index) => bought('a', index)],
    ['items of different products', (index) => bought(`a${index}`)],
  ])('of a batch of 1,000 %s takes no longer than a moment', (_, ofItem) => {
    const purchases = Array.from({ length: 1_000 }, (_each, index) => ({
      sequence: index,
      bought: [ofItem(index)],
    }));
    const orders = Object.fromEntries(
      purchases.map(({ sequence, bought: [thing] }) => {
        const id = `l${sequence}`;
        return [id, [instance(id, thing?.names[0] ?? '', thing?.nodes ?? 7)]];
      }),
    );
    const startedAt = performance.now();
    expect(evidenceOf(purchases.toReversed(), found(orders)).kind).toBe('all');
    expect(performance.now() - startedAt).toBeLessThan(MOMENT_MS);
  });

  it('has no licence orders that are older, or whose time is not known', () => {
    const old = { ...instance('l', 'a'), createdAt: '2026-11-20T07:00:00.000Z' };
    const timeless = { ...instance('m', 'a'), createdAt: null };
    const assets = [{ assetNum: '1', isWhole: true, instances: [old, timeless, instance('n', 'a')] }];
    expect([...ordersIn({ assets, isWhole: true }, order, NOW).keys()]).toEqual(['n']);
  });
});

describe('a deletion', () => {
  const goneOf = (deletion: Deletion, holdings: Parameters<typeof isGone>[1]) =>
    isGone(deletion, holdings, ordersIn(holdings, order, NOW));
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
    [
      'of a product that an older order of its number bought',
      ofProduct,
      {
        assets: [asset('1', { ...instance('l', 'a'), createdAt: '2025-01-05T08:00:00.000Z' })],
        isWhole: true,
      },
      true,
      false,
    ],
  ])('%s', (_, deletion, holdings, there, gone) => {
    expect([isThere(deletion, holdings), goneOf(deletion, holdings)]).toEqual([there, gone]);
  });

  it('of very many assets takes no longer than a moment', () => {
    const nums = Array.from({ length: 5_000 }, (_, index) => `${index}`);
    const holdings = { assets: nums.map((num) => asset(num)), isWhole: true };
    const deletions = Array.from({ length: 1_000 }, () => ({ ...ofProduct, assetNums: nums.slice(0, 78) }));
    const startedAt = performance.now();
    expect(deletions.every((each) => goneOf(each, holdings) && mayBeLent(each, holdings))).toBe(true);
    expect(deletions.some((each) => isThere(each, holdings))).toBe(false);
    expect(performance.now() - startedAt).toBeLessThan(MOMENT_MS);
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
    expect([isThere(deletion, holdings), goneOf(deletion, holdings)]).toEqual([there, gone]);
  });
});
