import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import { getMetadataStorage } from 'class-validator';
import fc from 'fast-check';
import { canonical } from '../order-ledger/fingerprint.ts';
import { parseJson } from '../shared/json.ts';
import { IncompleteAnswer } from '../upstream/wire/contract-notes.ts';
import { DeleteAssetDto, DeleteProductDto, NewBuyDto, PlaceOrderDto } from './dto/license-order.dto.ts';
import {
  BoughtAssetDto,
  OrderAdminDto,
  OrderBranchDto,
  OrderCustomerDto,
  OrderExtensionDto,
  ReducedAssetDto,
  RevokedAssetDto,
} from './dto/order-parts.dto.ts';
import {
  MerchandiseDto,
  OrderProductDto,
  ProductFeatureDto,
  RevokedMerchandiseDto,
  RevokedProductDto,
} from './dto/order-product.dto.ts';
import { toBatchOrder, toPlacedItems } from './license-order.mapper.ts';

type Unit = 'ms' | 's';
type Plain = Record<string, unknown>;
/** What a field holds: a plain kind, or a list of one of the tables below. */
type Kind = 'text' | 'digits' | 'texts' | 'flag' | 'bit' | 'count' | 'time' | { readonly list: string };
type Table = Readonly<Record<string, readonly [wire: string, kind: Kind]>>;

/**
 * The contract once more, independent of the mapper: each gateway field (config/openapi.json, PlaceOrder), what
 * the interface calls it (interface section 2.4), and what it holds.
 */
const tables: Readonly<Record<string, Table>> = {
  item: {
    sequence: ['sequence', 'count'],
    'customer.customerId': ['customerId', 'text'],
    'customer.crmCustomerId': ['crmCustomerId', 'text'],
    'customer.customerName': ['customerName', 'text'],
    'customer.channelCustomerId': ['channelCustomerId', 'text'],
    'customer.passwordMobile': ['passwordMobile', 'text'],
    'customer.address': ['address', 'text'],
    'customer.enterpriseGlobalId': ['enterpriseGlobalId', 'text'],
    'admin.name': ['adminName', 'text'],
    'admin.account': ['adminAccount', 'text'],
    'admin.email': ['adminEmail', 'text'],
    'admin.cellNumber': ['adminCellNumber', 'text'],
    'branch.code': ['branchCode', 'text'],
    'branch.name': ['branchName', 'text'],
    customerType: ['customerType', 'text'],
    srcLicenseOrderId: ['srcLicenseOrderId', 'text'],
    licenseType: ['licenseType', 'text'],
    orderType: ['orderType', 'text'],
    assets: ['assets', { list: 'asset' }],
  },
  asset: {
    assetNums: ['assetNos', 'texts'],
    extensions: ['assetExtendList', { list: 'extension' }],
    startsAt: ['limitStartDate', 'time'],
    endsAt: ['limitEndDate', 'time'],
    lentLock: ['borrowedUsbKey', 'flag'],
    transferred: ['transferedAssetNum', 'flag'],
    products: ['products', { list: 'product' }],
    merchandises: ['merchandises', { list: 'merchandise' }],
  },
  extension: {
    code: ['extendCode', 'text'],
    value: ['extendValue', 'text'],
  },
  product: {
    crmProductId: ['crmProductId', 'text'],
    parentCrmProductId: ['parentCrmProductId', 'text'],
    productUri: ['productUri', 'text'],
    productName: ['productName', 'text'],
    gmsPid: ['gmsPid', 'text'],
    appKey: ['appKey', 'text'],
    productType: ['productType', 'text'],
    startsAt: ['limitStartDate', 'time'],
    endsAt: ['limitEndDate', 'time'],
    limitConcurrent: ['limitConcurrent', 'count'],
    limitTimeDuration: ['limitTimeDuration', 'digits'],
    strictMatchWhenDelete: ['strictMatchWhenDelete', 'flag'],
    trial: ['trial', 'bit'],
    trialEndsAt: ['trialEndDate', 'time'],
    passwords: ['passwords', 'texts'],
    timeUnit: ['timeUnit', 'text'],
    timeUnitQuantity: ['timeUnitQuantity', 'count'],
    timeDurationExpression: ['timeDurationExpression', 'text'],
    srcLicenseOrderId: ['srcLicenseOrderId', 'text'],
    features: ['productFeatures', { list: 'feature' }],
  },
  feature: {
    code: ['featureCode', 'text'],
    name: ['featureName', 'text'],
    value: ['featureValue', 'text'],
    valueType: ['featureValueType', 'text'],
    trial: ['trial', 'bit'],
    trialEndsAt: ['trialEndDate', 'time'],
  },
  merchandise: {
    crmProductId: ['crmProductId', 'text'],
    parentCrmProductId: ['parentCrmProductId', 'text'],
    merchandiseNum: ['merchandiseNum', 'text'],
    merchandiseName: ['merchandiseName', 'text'],
    parentMerchandiseNum: ['parentMerchandiseNum', 'text'],
    timeDurationExpression: ['timeDurationExpression', 'text'],
    children: ['children', { list: 'merchandise' }],
    products: ['licenseOrderProductList', { list: 'product' }],
  },
};

const tableOf = (name: string): Table => tables[name] ?? {};

const convert: Record<Extract<Kind, string>, (value: never, unit: Unit) => unknown> = {
  text: (value) => value,
  // As a number: a double, in this test.
  digits: (value: string) => Number(value),
  texts: (value) => value,
  flag: (value) => value,
  count: (value) => value,
  bit: (value: boolean) => (value ? 1 : 0),
  time: (value: string, unit) => Math.floor(new Date(value).getTime() / (unit === 's' ? 1000 : 1)),
};

function expected(name: string, value: Plain, unit: Unit): Plain {
  const wire: Plain = name === 'merchandise' ? { children: null } : {};
  for (const [path, [wireName, kind]] of Object.entries(tableOf(name))) {
    const member = path.split('.').reduce<unknown>((at, key) => (at as Plain | undefined)?.[key], value);
    if (member === undefined) continue;
    if (typeof kind === 'string') wire[wireName] = convert[kind](member as never, unit);
    else {
      const list = (member as Plain[]).map((item) => expected(kind.list, item, unit));
      // The interface shows null at the leaf.
      wire[wireName] = wireName === 'children' && list.length === 0 ? null : list;
    }
  }
  return wire;
}

const time = fc
  .record({
    ms: fc.integer({ min: Date.parse('1970-01-01T00:00:00Z'), max: Date.parse('9999-12-30T00:00:00Z') }),
    form: fc.constantFrom('Z', 'z', '+08:00', '-00:30', 'seconds'),
  })
  .map(({ ms, form }) => {
    if (form === 'seconds') return new Date(ms).toISOString().replace(/\.\d{3}/, '');
    if (form.length === 1) return new Date(ms).toISOString().replace('Z', form);
    const offsetMinutes = form === '+08:00' ? 480 : -30;
    return new Date(ms + offsetMinutes * 60_000).toISOString().replace('Z', form);
  });

const plainKinds: Record<Extract<Kind, string>, fc.Arbitrary<unknown>> = {
  text: fc.string({ unit: 'grapheme' }),
  digits: fc.nat().map(String),
  texts: fc.array(fc.string(), { maxLength: 3 }),
  flag: fc.boolean(),
  bit: fc.boolean(),
  count: fc.nat(),
  time,
};

/** Validation lets no item through without these. */
const always = new Set(['assets', 'customer']);

/** An object of a table with every field (`full`) or any of them; lists end at depth 0. */
function objectOf(name: string, full: boolean, depth: number): fc.Arbitrary<Plain> {
  type Fields = Record<string, fc.Arbitrary<unknown>>;
  const own: Fields = {};
  const groups: Record<string, Fields> = {};
  for (const [path, [, kind]] of Object.entries(tableOf(name))) {
    const [key = '', group] = path.split('.').reverse();
    const fields = group === undefined ? own : (groups[group] ??= {});
    if (typeof kind === 'string') fields[key] = plainKinds[kind];
    else if (depth > 0) {
      const item = objectOf(kind.list, full, depth - 1);
      fields[key] = fc.array(item, { minLength: full ? 1 : 0, maxLength: 2 });
    }
  }
  const record = (fields: Fields): fc.Arbitrary<Plain> =>
    fc.record(fields, { requiredKeys: Object.keys(fields).filter((key) => full || always.has(key)) });
  for (const [group, fields] of Object.entries(groups)) own[group] = record(fields);
  return record(own);
}

const orderOf = (full: boolean) =>
  fc.record({
    channelCode: fc.string(),
    channelOrderId: fc.string(),
    syncMode: fc.constantFrom('sync' as const, 'async' as const),
    items: fc.array(objectOf('item', full, full ? 3 : 4), { minLength: 1, maxLength: 3 }),
  });

const onTheWire = (order: unknown, unit: Unit): unknown =>
  JSON.parse(JSON.stringify(toBatchOrder(order as PlaceOrderDto, unit)));

describe('an order on the wire', () => {
  it.each([
    ['with every field', true],
    ['with any fields', false],
  ])('%s carries each under the name of the interface, and nothing else', (_, full) => {
    fc.assert(
      fc.property(orderOf(full), fc.constantFrom<Unit>('ms', 's'), ({ items, ...top }, unit) => {
        const orderList = items.map((item, index) => ({
          ...expected('item', item, unit),
          sequence: item['sequence'] ?? index + 1,
        }));
        expect(onTheWire({ ...top, items }, unit)).toEqual({ ...top, orderList });
      }),
      { numRuns: 200 },
    );
  });

  it('is in alphabetical order, so that its text is its fingerprint too', () => {
    fc.assert(
      fc.property(orderOf(true), ({ items, ...top }) => {
        const text = JSON.stringify(toBatchOrder({ ...top, items } as unknown as PlaceOrderDto, 'ms'));
        expect(text).toBe(canonical(JSON.parse(text)));
      }),
      { numRuns: 50 },
    );
  });

  it('has a table row for every field of section 2.4', () => {
    const fields = (name: string) => Object.values(tableOf(name)).map(([wire]) => wire);
    expect(fields('item')).toHaveLength(19);
    expect(fields('asset')).toHaveLength(8);
    expect(fields('product')).toHaveLength(20);
    expect(fields('feature')).toHaveLength(6);
    expect(fields('merchandise')).toHaveLength(8);
    for (const name of Object.keys(tables)) expect(new Set(fields(name)).size).toBe(fields(name).length);
  });

  it.each([
    ['item', NewBuyDto, ['customer', 'admin', 'branch']],
    ['item', DeleteAssetDto, ['customer', 'admin', 'branch', 'allOrders']],
    ['item', DeleteProductDto, ['customer', 'admin', 'branch', 'allOrders']],
    ['item.customer', OrderCustomerDto, []],
    ['item.admin', OrderAdminDto, []],
    ['item.branch', OrderBranchDto, []],
    ['asset', BoughtAssetDto, []],
    ['asset', RevokedAssetDto, []],
    ['asset', ReducedAssetDto, []],
    ['extension', OrderExtensionDto, []],
    ['product', OrderProductDto, []],
    ['product', RevokedProductDto, []],
    ['feature', ProductFeatureDto, []],
    ['merchandise', MerchandiseDto, []],
    ['merchandise', RevokedMerchandiseDto, []],
  ])('has a table row for every field that callers may send (%s, %p)', (name, dto, besides) => {
    const [table = '', group] = name.split('.');
    const prefix = group ? `${group}.` : '';
    const accepted = getMetadataStorage()
      .getTargetValidationMetadatas(dto, '', true, false)
      .map(({ propertyName }) => propertyName)
      .filter((field) => field !== '$object' && !(besides as string[]).includes(field));
    const mapped = Object.keys(tableOf(table)).filter((field) => field.startsWith(prefix));
    expect(accepted.length).toBeGreaterThan(0);
    expect(mapped).toEqual(expect.arrayContaining(accepted.map((field) => prefix + field)));
  });

  it('cuts fractions of a second off where the platform counts in seconds, also before 1970', () => {
    const wire = (startsAt: string) =>
      toBatchOrder({ items: [{ customer: {}, assets: [{ startsAt }] }] } as unknown as PlaceOrderDto, 's')
        .orderList[0]?.assets[0]?.limitStartDate;
    expect(wire('2026-11-20T08:00:00.999Z')).toBe(1_795_161_600);
    expect(wire('1969-12-31T23:59:59.999Z')).toBe(-1);
  });

  it('does not have `allOrders`: it is the missing source order', () => {
    const item = {
      orderType: 'delete_asset',
      licenseType: 'softkey',
      allOrders: true,
      customer: {},
      assets: [],
    };
    const wire = onTheWire({ items: [item] }, 'ms');
    expect(wire).toEqual({
      orderList: [{ sequence: 1, orderType: 'delete_asset', licenseType: 'softkey', assets: [] }],
    });
  });
});

describe('the results of a batch', () => {
  const sent = (...sequences: number[]) =>
    ({ orderList: sequences.map((sequence) => ({ sequence })) }) as Parameters<typeof toPlacedItems>[1];
  const results = (json: string) => parseJson(Buffer.from(json), { maxDepth: 8 });
  const result = (sequence: unknown, id = 'lic') =>
    `{"sequence":${String(sequence)},"licenseOrderId":"${id}-${String(sequence)}","customerId":"cus"}`;

  it('are matched by sequence, in the order of the request', () => {
    const data = results(`[${result(1)},${result(30)},${result(2)}]`);
    expect(toPlacedItems(data, sent(30, 2, 1))).toEqual([
      { sequence: 30, licenseOrderId: 'lic-30', customerId: 'cus' },
      { sequence: 2, licenseOrderId: 'lic-2', customerId: 'cus' },
      { sequence: 1, licenseOrderId: 'lic-1', customerId: 'cus' },
    ]);
  });

  it('are matched in any order', () => {
    const sequences = fc.uniqueArray(fc.nat(1_000_000), { minLength: 1, maxLength: 30 });
    const shuffled = sequences.chain((asked) =>
      fc.tuple(fc.constant(asked), fc.shuffledSubarray(asked, { minLength: asked.length })),
    );
    fc.assert(
      fc.property(shuffled, ([asked, answered]) => {
        const data = results(`[${answered.map((sequence) => result(sequence)).join()}]`);
        expect(toPlacedItems(data, sent(...asked)).map(({ licenseOrderId }) => licenseOrderId)).toEqual(
          asked.map((sequence) => `lic-${sequence}`),
        );
      }),
    );
  });

  it('keep ids exact that upstream sends as numbers, and a customer that is null or absent', () => {
    const exact = results(
      '[{"sequence":1,"licenseOrderId":9007199254740993,"customerId":12345678901234567}]',
    );
    expect(toPlacedItems(exact, sent(1))).toEqual([
      { sequence: 1, licenseOrderId: '9007199254740993', customerId: '12345678901234567' },
    ]);
    expect(
      toPlacedItems(results('[{"sequence":1,"licenseOrderId":"a","customerId":null}]'), sent(1)),
    ).toEqual([{ sequence: 1, licenseOrderId: 'a', customerId: null }]);
    expect(
      toPlacedItems(results('[{"sequence":1,"licenseOrderId":"a"}]'), sent(1))[0]?.customerId,
    ).toBeNull();
  });

  it('come without fields that the interface does not have', () => {
    const data = results(
      '[{"sequence":1,"licenseOrderId":"a","customerId":"c","password":"p","__proto__":{"x":1}}]',
    );
    expect(Object.keys(toPlacedItems(data, sent(1))[0] ?? {}).sort()).toEqual([
      'customerId',
      'licenseOrderId',
      'sequence',
    ]);
  });

  it.each<[string, string, number[]?]>([
    ['nothing', 'null', []],
    ['no list', '{"sequence":1,"licenseOrderId":"a"}', []],
    ['no results', '[]', []],
    ['one too few', `[${result(1)}]`],
    ['one too many', `[${result(1)},${result(2)},${result(3)}]`, [1, 2]],
    ['a foreign one for a missing one', `[${result(1)},${result(3)}]`],
    ['one twice for a missing one', `[${result(1)},${result(1, 'other')}]`, []],
    ['one twice', `[${result(1)},${result(2)},${result(2, 'other')}]`],
    ['null for one', `[${result(1)},null]`],
    ['a sequence as text', `[${result(1)},${result('"2"').replace('-"2"', '')}]`],
    ['a sequence with a fraction', `[${result(1)},${result('2.0')}]`],
    ['no sequence', `[${result(1)},{"licenseOrderId":"a"}]`],
    ['no licence order', `[${result(1)},{"sequence":2,"customerId":"c"}]`],
    ['an empty licence order', `[${result(1)},{"sequence":2,"licenseOrderId":""}]`],
  ])('are incomplete where there is %s, and what matches is kept', (_, json, kept = [1]) => {
    let thrown: unknown;
    try {
      toPlacedItems(results(json), sent(1, 2));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(IncompleteAnswer);
    const matched = kept.map((sequence) => ({
      sequence,
      licenseOrderId: expect.stringMatching(/^(lic-1|lic-2|a)$/),
      customerId: 'cus',
    }));
    expect((thrown as IncompleteAnswer).matched).toEqual(matched);
  });

  it('may be missing where the order is async, and not in part', () => {
    const order = { ...sent(1, 2), syncMode: 'async' as const };
    for (const json of ['null', '[]']) expect(toPlacedItems(results(json), order)).toEqual([]);
    expect(toPlacedItems(undefined, order)).toEqual([]);
    expect(() => toPlacedItems(results(`[${result(1)}]`), order)).toThrow(IncompleteAnswer);
  });
});
