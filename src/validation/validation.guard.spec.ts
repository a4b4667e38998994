import 'reflect-metadata';
import { expect, it } from '@jest/globals';
import type { Type } from '@nestjs/common';
import { FindCustomersQuery } from '../order/dto/customer.dto.ts';
import { PlaceOrderDto } from '../order/dto/license-order.dto.ts';
import type { RequestFault } from '../problem/problem.exception.ts';
import { readRequestBody } from './request-body.ts';
import { checkedPart } from './validation.guard.ts';

/** Returns the faults of unlikely requests. Likely mistakes of callers are tested in test/faults/clients.faults.ts. */

function faultsOf(part: 'body' | 'query', value: unknown, type: Type<object>): readonly RequestFault[] {
  const faults: RequestFault[] = [];
  checkedPart(part, value, type, faults);
  return faults;
}
const ofBody = (json: string) => faultsOf('body', readRequestBody(Buffer.from(json)), PlaceOrderDto);
const ofItem = (item: object) =>
  ofBody(JSON.stringify({ channelCode: 'crm', channelOrderId: 'SO-1', items: [item] }));

const newBuy = {
  orderType: 'new_buy',
  licenseType: 'softkey',
  customer: { customerId: 'cus-1' },
  assets: [{ products: [{ productUri: 'draft.pro' }] }],
};

it('a fault never repeats a value, since it may be secret', () => {
  const secret = 'tell-nobody tell-nobody';
  const product = {
    productUri: secret,
    trial: secret,
    passwords: [`${secret}\n`],
    features: [{ trialEndsAt: secret }],
  };
  const faults = [
    ...ofItem({ ...newBuy, orderType: secret }),
    ...ofItem({ ...newBuy, assets: [{ products: [product] }], x: secret }),
  ];
  expect(faults.length).toBeGreaterThan(4);
  expect(JSON.stringify(faults)).not.toContain('tell-nobody');
});

it('names that every object has are unknown fields and unknown parameters', () => {
  for (const name of [...Object.getOwnPropertyNames(Object.prototype), 'prototype', '$object']) {
    const unknown = { pointer: `/items/0/${name}`, detail: 'is not a known field' };
    expect(ofBody(`{"items":[{"${name}":{"a":1}}]}`)).toEqual([unknown]);
    // The HTTP layer passes the query without a prototype, so every name is the object's own.
    const query = Object.assign(Object.create(null) as object, { channelCode: 'crm' });
    Object.defineProperty(query, name, { value: 'x', enumerable: true });
    expect(faultsOf('query', query, FindCustomersQuery)).toEqual([
      { parameter: name, detail: 'is not a known parameter' },
    ]);
  }
});

it('a body may have 32 levels and no more', () => {
  const nested = (levels: number) => ofBody(`${'['.repeat(levels)}${']'.repeat(levels)}`);
  expect(nested(32)).toEqual([{ pointer: '', detail: 'must be a JSON object' }]);
  expect(nested(33)).toEqual([{ pointer: '', detail: 'must not be nested deeper than 32 levels' }]);
});

it('an object that breaks two rules is told of both, and an unknown field is one fault', () => {
  const deletion = { orderType: 'delete_asset', customer: {}, assets: [{ assetNums: ['1'] }] };
  const wrong = { licenseType: 'cloud_account', srcLicenseOrderId: 'lic-1', allOrders: true };
  const both = expect.stringMatching(/^must not have allOrders.*; must name either srcLicenseOrderId/);
  expect(ofItem({ ...deletion, ...wrong })).toEqual([{ pointer: '/items/0', detail: both }]);
  expect(ofItem({ ...newBuy, customer: { x: 1 } })).toEqual([
    { pointer: '/items/0/customer/x', detail: 'is not a known field' },
  ]);
});

it('a batch that uses a sequence twice is told of its list', () => {
  const items = [newBuy, { ...newBuy, sequence: 1 }];
  const fault = { pointer: '/items', detail: 'must give every item a sequence of its own' };
  expect(ofBody(JSON.stringify({ channelCode: 'crm', channelOrderId: 'SO-1', items }))).toEqual([fault]);
});

it('a deletion that matches times and nodes strictly names them, also in packages', () => {
  const reduced = (asset: object) =>
    ofItem({
      orderType: 'delete_product',
      licenseType: 'softkey',
      allOrders: true,
      customer: {},
      assets: [{ assetNums: ['1'], ...asset }],
    });
  const terms = { startsAt: '2026-01-01T00:00:00Z', endsAt: '2027-01-01T00:00:00Z', limitConcurrent: 0 };
  const strict = { productUri: 'draft.pro', strictMatchWhenDelete: true, ...terms };
  expect(reduced({ products: [strict] })).toEqual([]);
  for (const term of Object.keys(terms)) {
    const wrong = { ...strict, [term]: undefined };
    const place = '/items/0/assets/0';
    expect(reduced({ products: [wrong] })).toMatchObject([{ pointer: `${place}/products/0` }]);
    expect(reduced({ merchandises: [{ children: [{ products: [wrong] }] }] })).toMatchObject([
      { pointer: `${place}/merchandises/0/children/0/products/0` },
    ]);
  }
});
