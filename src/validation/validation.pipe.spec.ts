import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import type { ArgumentMetadata } from '@nestjs/common';
import { FindCustomersQuery, UpdateCustomerDto } from '../order/dto/customer.dto.ts';
import { EnterpriseParams } from '../order/dto/enterprise.dto.ts';
import {
  DeleteAssetDto,
  DeleteProductDto,
  NewBuyDto,
  PlaceOrderDto,
} from '../order/dto/license-order.dto.ts';
import { PlaceOrderQuery } from '../order/dto/order-record.dto.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { readRequestBody, UnreadableBody } from './request-body.ts';
import { RequestValidationPipe } from './validation.pipe.ts';

const pipe = new RequestValidationPipe();

type Faults = Record<string, string>;

function outcome(value: unknown, metadata: ArgumentMetadata): { value?: unknown; faults: Faults } {
  try {
    return { value: pipe.transform(value, metadata), faults: {} };
  } catch (error) {
    if (!(error instanceof ProblemException)) throw error;
    expect(error.slug).toBe('validation-failed');
    const { errors = [] } = error.body;
    const entries = errors.map((fault) => [
      'pointer' in fault ? fault.pointer : 'parameter' in fault ? fault.parameter : '',
      fault.detail,
    ]);
    // One entry a fault: the same place twice would lose one here.
    expect(new Set(entries.map(([place]) => place)).size).toBe(entries.length);
    expect(errors).not.toHaveLength(0);
    return { faults: Object.fromEntries(entries) as Faults };
  }
}

const body = (json: string, metatype: new () => object) =>
  outcome(readRequestBody(Buffer.from(json)), { type: 'body', metatype });
const query = (parameters: object, metatype: new () => object = FindCustomersQuery) =>
  outcome(parameters, { type: 'query', metatype });

const newBuy = {
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer: { customerId: 'cus-1' },
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
};
const deleteAsset = {
  orderType: 'delete_asset',
  licenseType: 'cloud_account',
  srcLicenseOrderId: 'lic-1',
  customer: {},
  assets: [{ assetNums: ['8000000001'] }],
};
const deleteProduct = {
  orderType: 'delete_product',
  licenseType: 'softkey',
  allOrders: true,
  customer: {},
  assets: [{ assetNums: ['8000000001'], products: [{ productUri: 'draft.pro' }] }],
};
const order = (...orders: unknown[]) =>
  body(JSON.stringify({ channelCode: 'crm', channelOrderId: 'SO-1', items: orders }), PlaceOrderDto);

describe('a body', () => {
  it('becomes an instance of its class, with defaults filled in and nothing converted', () => {
    const { value, faults } = order(newBuy, deleteAsset, deleteProduct);
    expect(faults).toEqual({});
    expect(value).toBeInstanceOf(PlaceOrderDto);
    const { syncMode, items } = value as PlaceOrderDto;
    expect(syncMode).toBe('sync');
    expect(items.map(({ constructor }) => constructor)).toEqual([
      NewBuyDto,
      DeleteAssetDto,
      DeleteProductDto,
    ]);
    expect(JSON.parse(JSON.stringify(items))).toEqual([newBuy, deleteAsset, deleteProduct]);
  });

  it('is an object', () => {
    for (const json of ['', '[]', '"text"', '5', 'null', 'true'])
      expect([json, body(json, PlaceOrderDto).faults]).toEqual([json, { '': 'must be a JSON object' }]);
  });

  it('reports every fault at once, each with its own pointer', () => {
    const { faults } = body('{"channelCode":5,"syncMode":"later","items":[],"x/y~z":1}', PlaceOrderDto);
    expect(Object.keys(faults).sort()).toEqual([
      '/channelCode',
      '/channelOrderId',
      '/items',
      '/syncMode',
      '/x~1y~0z',
    ]);
    expect(faults['/x~1y~0z']).toBe('is not a known field');
    expect(faults['/channelOrderId']).toMatch(/^is required: /);
  });

  it('never repeats a value, since it may be secret', () => {
    const secret = 'tell-nobody tell-nobody';
    const product = {
      productUri: secret,
      trial: secret,
      passwords: [`${secret}\n`],
      features: [{ trialEndsAt: secret }],
    };
    const { faults } = order(
      { ...newBuy, orderType: secret },
      { ...newBuy, assets: [{ products: [product] }], [`x`]: secret },
    );
    expect(Object.keys(faults).length).toBeGreaterThan(4);
    expect(JSON.stringify(faults)).not.toContain('tell-nobody');
  });

  it.each([
    ['/items/0/customer/customerName', { ...newBuy, customer: { customerName: 5 } }],
    ['/items/0/admin', { ...newBuy, admin: null }],
    ['/items/0/customer', { ...newBuy, customer: 'cus-1' }],
    ['/items/0/assets', { ...newBuy, assets: {} }],
    ['/items/0/assets', { ...newBuy, assets: [] }],
    [
      '/items/0/assets/1/lentLock',
      { ...newBuy, assets: [...newBuy.assets, { ...newBuy.assets[0], lentLock: 1 }] },
    ],
    [
      '/items/0/assets/0/merchandises/0/children/0/children/0/products/0/trial',
      {
        ...newBuy,
        assets: [{ merchandises: [{ children: [{ children: [{ products: [{ trial: 0 }] }] }] }] }],
      },
    ],
    [
      '/items/0/assets/0/merchandises/0/children',
      { ...newBuy, assets: [{ merchandises: [{ children: null }] }] },
    ],
    ['/items/0/assets/0/products', { ...deleteAsset, assets: [{ assetNums: ['1'], products: {} }] }],
    ['/items/0/allOrders', { ...newBuy, allOrders: true }],
  ])('points to %s', (pointer, item) => {
    expect(Object.keys(order(item).faults)).toEqual([pointer]);
  });

  it('is not taken apart where it could not even be read', () => {
    const unreadable = readRequestBody(Buffer.from('{'));
    expect(unreadable).toBeInstanceOf(UnreadableBody);
    expect(outcome(unreadable, { type: 'body', metatype: PlaceOrderDto }).faults).toEqual({
      '': expect.stringContaining('must be JSON: where it ends (column 2)'),
    });
  });
});

describe('names that every object has', () => {
  const names = [...Object.getOwnPropertyNames(Object.prototype), 'prototype', '$object'];

  it('are unknown fields at every level', () => {
    const json = JSON.stringify({ channelCode: 'crm', channelOrderId: 'S', items: [newBuy] });
    for (const name of names)
      for (const place of ['channelCode', 'orderType', 'customerId', 'productUri']) {
        const { faults } = body(json.replace(`"${place}"`, `"${name}":{"a":1},"${place}"`), PlaceOrderDto);
        const isRefused = Object.keys(faults).length > 0;
        expect({ name, place, isRefused }).toEqual({ name, place, isRefused: true });
      }
    expect({ own: Object.hasOwn(Object.prototype, 'a') }).toEqual({ own: false });
  });

  it('are unknown query parameters', () => {
    for (const name of names) {
      // As the HTTP layer gives it: without a prototype, every name its own.
      const parameters = Object.assign(Object.create(null) as object, {
        channelCode: 'crm',
        channelCustomerId: 'C',
      });
      const own = { value: 'x', enumerable: true, configurable: true, writable: true };
      Object.defineProperty(parameters, name, own);
      expect(Object.keys(query(parameters).faults)).toEqual([name]);
    }
  });

  it('are said to be unknown where they stand', () => {
    const { faults } = body('{"a":[{"__proto__":1}]}', UpdateCustomerDto);
    expect(faults).toEqual({ '/a/0/__proto__': 'is not a known field' });
  });
});

describe('the items of a batch', () => {
  it.each([
    ['unknown', { ...newBuy, orderType: 'refund' }],
    ['missing', { licenseType: 'softkey' }],
    ['null', { ...newBuy, orderType: null }],
    ['a list', { ...newBuy, orderType: ['new_buy'] }],
    ['a name that every object has', { ...newBuy, orderType: 'constructor' }],
  ])('have one of three types; %s is none', (_, item) => {
    const { faults } = order(deleteAsset, item);
    expect(Object.keys(faults)).toEqual(['/items/1/orderType']);
    expect(faults['/items/1/orderType']).toContain('must be one of new_buy, delete_asset, delete_product');
  });

  it('are a list of objects', () => {
    for (const item of [null, 'new_buy', 5, [], [[]], [newBuy]]) {
      const places = Object.keys(order(newBuy, item).faults);
      expect([item, places]).toEqual([item, expect.arrayContaining([expect.any(String)])]);
      for (const place of places) expect(place).toMatch(/^\/items(\/1)?$/);
    }
    for (const items of [{}, 'text', null, 5]) {
      const json = JSON.stringify({ channelCode: 'crm', channelOrderId: 'S', items });
      expect(body(json, PlaceOrderDto).faults).toEqual({ '/items': 'must be a list of 1 to 1000 objects' });
    }
  });

  it('have sequences of their own, given or counted', () => {
    const message = { '': 'must give every item a sequence of its own' };
    expect(order(newBuy, deleteAsset).faults).toEqual({});
    expect(order({ ...newBuy, sequence: 2 }, { ...deleteAsset, sequence: 1 }).faults).toEqual({});
    expect(order({ ...newBuy, sequence: 5 }, { ...deleteAsset, sequence: 5 }).faults).toEqual(message);
    expect(order({ ...newBuy, sequence: 2 }, deleteAsset).faults).toEqual(message);
  });

  it('that purchase have a product or a package for every asset, and a buyer', () => {
    const { faults } = order({
      ...newBuy,
      customer: {},
      assets: [{}, { products: [], merchandises: [] }, ...newBuy.assets],
    });
    expect(faults).toEqual({
      '/items/0': 'must say in customer for whom the purchase is',
      '/items/0/assets/0': 'must have at least one product or merchandise',
      '/items/0/assets/1': 'must have at least one product or merchandise',
    });
    expect(order({ ...newBuy, assets: [{ merchandises: [{ merchandiseNum: 'P' }] }] }).faults).toEqual({});
  });

  it('that delete an asset name its number, and nothing of it', () => {
    for (const assets of [[{}], [{ assetNums: [] }]]) {
      expect(Object.keys(order({ ...deleteAsset, assets }).faults)).toEqual(['/items/0/assets/0/assetNums']);
    }
  });

  it('that delete products name the assets and every product by its productUri', () => {
    const reduced = (asset: object) => order({ ...deleteProduct, assets: [asset] }).faults;
    const products = [{ productUri: 'draft.pro' }];
    expect(Object.keys(reduced({ products }))).toEqual(['/items/0/assets/0/assetNums']);
    expect(Object.keys(reduced({ assetNums: ['1'] }))).toEqual(['/items/0/assets/0']);
    expect(Object.keys(reduced({ assetNums: ['1'], products: [] }))).toEqual(['/items/0/assets/0']);
    expect(reduced({ assetNums: ['1'], merchandises: [{ products }] })).toEqual({});
    expect(
      Object.keys(reduced({ assetNums: ['1'], products: [...products, { crmProductId: 'P' }] })),
    ).toEqual(['/items/0/assets/0/products/1/productUri']);
  });

  it('that match times and nodes strictly name them, also in packages', () => {
    const reduced = (asset: object) =>
      order({ ...deleteProduct, assets: [{ assetNums: ['1'], ...asset }] }).faults;
    const terms = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2027-01-01T00:00:00Z', limitConcurrent: 0 };
    const strict = { productUri: 'draft.pro', strictMatchWhenDelete: true, ...terms };
    expect(reduced({ products: [strict] })).toEqual({});
    for (const term of Object.keys(terms)) {
      const wrong = { ...strict, [term]: undefined };
      expect(Object.keys(reduced({ products: [wrong] }))).toEqual(['/items/0/assets/0/products/0']);
      expect(Object.keys(reduced({ merchandises: [{ children: [{ products: [wrong] }] }] }))).toEqual([
        '/items/0/assets/0/merchandises/0/children/0/products/0',
      ]);
    }
  });

  it('that delete assets may say everything else that an asset has', () => {
    const asset = {
      assetNums: ['1'],
      ...{ extensions: [{ code: 'site', value: 'pier-1' }], lentLock: true, transferred: false },
      ...{ startsAt: '2026-01-01T00:00:00Z', products: [{ crmProductId: 'P' }], merchandises: [] },
    };
    expect(order({ ...deleteAsset, assets: [asset] }).faults).toEqual({});
  });

  describe.each(['delete_asset', 'delete_product'])('that are a %s', (orderType) => {
    const item = orderType === 'delete_asset' ? deleteAsset : deleteProduct;
    const deletion = (more: object) =>
      order({ ...item, srcLicenseOrderId: undefined, allOrders: undefined, licenseType: 'softkey', ...more })
        .faults;

    it('name their source order or say that they mean all, and not both', () => {
      expect(deletion({ srcLicenseOrderId: 'lic-1' })).toEqual({});
      expect(deletion({ srcLicenseOrderId: 'lic-1', allOrders: false })).toEqual({});
      expect(deletion({ allOrders: true })).toEqual({});
      for (const wrong of [{}, { allOrders: false }, { srcLicenseOrderId: 'lic-1', allOrders: true }]) {
        expect(deletion(wrong)['/items/0']).toMatch(/either srcLicenseOrderId or allOrders: true/);
      }
      expect(deletion({ srcLicenseOrderId: '' })).not.toEqual({});
      expect(deletion({ srcLicenseOrderId: null })).not.toEqual({});
      expect(deletion({ allOrders: 'true' })).not.toEqual({});
    });

    it.each(['cloud_account', 'cloud_customer', 'cloud_personal'])(
      'never mean all orders for %s',
      (licenseType) => {
        expect(deletion({ licenseType, srcLicenseOrderId: 'lic-1' })).toEqual({});
        expect(deletion({ licenseType, allOrders: true })['/items/0']).toMatch(/cloud licence type/);
      },
    );

    it('are told of both rules where both are broken', () => {
      const detail = deletion({ licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1', allOrders: true })[
        '/items/0'
      ];
      expect(detail).toMatch(/either srcLicenseOrderId or allOrders: true/);
      expect(detail).toMatch(/cloud licence type/);
    });
  });
});

describe('query parameters', () => {
  const known = { channelCode: 'crm', channelCustomerId: 'CH-1' };

  it('become an instance of their class, with words for flags', () => {
    const first = { page: 1, pageSize: 100 };
    expect(query(known).value).toEqual({ ...known, ...first, defaultOnly: false });
    expect(query({ ...known, defaultOnly: 'true' }).value).toEqual({ ...known, ...first, defaultOnly: true });
    expect(query({ validateOnly: 'false' }, PlaceOrderQuery).value).toEqual({ validateOnly: false });
  });

  it('have no other word for true than true', () => {
    for (const word of ['1', 'TRUE', '', ' true'])
      expect([word, query({ ...known, defaultOnly: word }).faults]).toEqual([
        word,
        { defaultOnly: 'must be true or false' },
      ]);
  });

  it('are refused by name where unknown, missing or wrong', () => {
    expect(
      query({ channelCustomerId: '', 'channelCustomerId[]': 'x', 'a[$gt]': '', password: 'p' }).faults,
    ).toEqual({
      channelCode: 'is required: must be an id of 1 to 128 characters without white space',
      channelCustomerId: 'must be an id of 1 to 128 characters without white space',
      'channelCustomerId[]': 'is not a known parameter',
      'a[$gt]': 'is not a known parameter',
      password: 'is not a known parameter',
    });
  });

  it('are given once', () => {
    expect(query({ ...known, channelCode: ['crm', 'crm'] }).faults).toEqual({
      channelCode: 'must be given once',
    });
    expect(query({ ...known, x: ['1', '2'] }).faults).toHaveProperty('x');
  });
});

describe('path parameters', () => {
  const params = (enterpriseGlobalId: string) =>
    outcome({ enterpriseGlobalId }, { type: 'param', metatype: EnterpriseParams });

  it('reach an upstream path only as plain ids', () => {
    expect(params('ent_9-A').value).toEqual({ enterpriseGlobalId: 'ent_9-A' });
    for (const id of ['.', '..', '%2e%2e', 'a/b', '..\\', '\t..', 'a?b', 'a#b', '%00', '', 'x'.repeat(65)])
      expect(params(id).faults).toEqual({ enterpriseGlobalId: 'must be 1 to 64 of A-Z a-z 0-9 _ -' });
  });
});

describe('what is no body, query or path', () => {
  it('passes as it is', () => {
    const value = {};
    expect(pipe.transform(value, { type: 'custom', metatype: PlaceOrderDto })).toBe(value);
  });
});

describe('bytes of a body', () => {
  const faultsOfBytes = (bytes: Buffer): unknown => {
    const read = readRequestBody(bytes);
    return read instanceof UnreadableBody ? read.problem.body.errors : 'was read';
  };

  it.each([
    ['malformed', '{"a":', '', 'must be JSON: where it ends (column 6) there must be a value'],
    ['with a repeated key', '{"a":{"b/c":1,"b/c":1}}', '/a/b~1c', 'must be given once'],
    ['33 levels deep', `${'['.repeat(33)}${']'.repeat(33)}`, '', 'must not be nested deeper than 32 levels'],
    ['10,000 levels deep', '['.repeat(10_000), '', 'must not be nested deeper than 32 levels'],
    ['polluting', '{"a":[{"__proto__":{"x":1}}]}', '/a/0/__proto__', 'is not a known field'],
    ['polluting in disguise', String.raw`{"\u005f_proto__":1}`, '/__proto__', 'is not a known field'],
  ])('that are %s', (_, json, pointer, detail) => {
    expect(faultsOfBytes(Buffer.from(json))).toEqual([{ pointer, detail }]);
  });

  it('that are not UTF-8', () => {
    const wrong = [
      [0x22, 0xc3, 0x28, 0x22],
      [0x22, 0xed, 0xa0, 0x80, 0x22],
      [0x22, 0xc0, 0x80, 0x22],
      [0xff, 0xfe],
    ];
    for (const bytes of wrong) {
      expect(faultsOfBytes(Buffer.from(bytes))).toEqual([
        { pointer: '', detail: expect.stringContaining('must be UTF-8') },
      ]);
    }
  });

  it('that are 32 levels deep are read', () => {
    expect(faultsOfBytes(Buffer.from(`${'['.repeat(32)}${']'.repeat(32)}`))).toBe('was read');
  });

  it('that are none are no body', () => {
    expect(readRequestBody(Buffer.alloc(0))).toBeUndefined();
  });
});
