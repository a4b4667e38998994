import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../shared/json.ts';
import { ContractNotes } from '../upstream/gaps.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import { toAssets, toCustomer, toCustomers, toEnterprise, toReservedAssetNums } from './order.mapper.ts';

const data = (json: string) => parseJson(Buffer.from(json), { maxDepth: 64 });
/** Returns the value as callers get it. */
const shown = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

/** What single fields are where the platform sends something odd is in test/faults/upstream-content.faults.ts. */

it('a channel whose code came as a number has it as text', () => {
  expect(toCustomer(data('{"customerId":"c","channelCode":7}')).channelCode).toBe('7');
});

it('a customer without an id is a contract violation alone, and left out of a list', () => {
  expect(() => toCustomer(data('{"customerId":null}'))).toThrow(ContractViolation);
  const { items } = toCustomers(data('[{"customerId":null},{"customerId":"c"}]'));
  expect(items).toMatchObject([{ customerId: 'c' }]);
});

describe('an enterprise', () => {
  it('has the vocabulary of the gateway', () => {
    const json =
      '{"enterpriseGlobalId":"e","defaultType":true,"members":[{"memberGlobalId":12345678901234567,"memberIdentity":"admin","x":1}]}';
    expect(toEnterprise(data(json))).toEqual({
      enterpriseGlobalId: 'e',
      isDefault: true,
      members: [{ memberGlobalId: '12345678901234567', memberIdentity: 'admin' }],
    });
  });

  it('without an id is none, and is served where the rest is odd', () => {
    expect(() => toEnterprise(data('{"enterpriseGlobalId":null}'))).toThrow(ContractViolation);
    for (const members of ['{}', '[null]', '[{"memberGlobalId":null,"memberIdentity":"admin"}]']) {
      const json = `{"enterpriseGlobalId":"e","members":${members},"defaultType":2}`;
      expect(toEnterprise(data(json))).toEqual({ enterpriseGlobalId: 'e', isDefault: null, members: [] });
    }
  });
});

describe('an asset', () => {
  const json = `{
    "id": 9007199254740993, "licenseType": "cloud_account", "assetNum": "8000000001", "grantable": true,
    "customerId": "cus-1", "keyShellNumber": "8000000001", "keyChipType": 2, "locked": false, "freezing": true,
    "createTime": 1795161600000, "updateTime": 1795161600001, "limitStartTime": null, "limitEndTime": "1795161600002",
    "assignStatus": { "id": "a", "assignStatus": "assigned", "assignMemberId": 12345678901234567,
      "createTime": "1795161600000", "updateTime": null, "extra": 1 },
    "assetLimits": { "any": [1, 9007199254740993], "__proto__": 1 },
    "assetExtends": [{ "extendCode": "site", "extendValue": "pier", "extra": 1 }],
    "borrowedUsbKey": true, "secretNote": "x" }`;

  it('has every field of section 2.8 in the vocabulary of the gateway, and no other', () => {
    expect(shown(toAssets(data(`[${json}]`), 'ms'))).toEqual([
      {
        assetId: '9007199254740993',
        licenseType: 'cloud_account',
        assetNum: '8000000001',
        grantable: true,
        customerId: 'cus-1',
        keyShellNumber: '8000000001',
        keyGeneration: 5,
        locked: false,
        frozen: true,
        createdAt: '2026-11-20T08:00:00.000Z',
        updatedAt: '2026-11-20T08:00:00.001Z',
        startsAt: null,
        endsAt: '2026-11-20T08:00:00.002Z',
        assignment: {
          status: 'assigned',
          memberGlobalId: '12345678901234567',
          createdAt: '2026-11-20T08:00:00.000Z',
          updatedAt: null,
        },
        assetLimits: { any: [1, '9007199254740993'] },
        extensions: [{ code: 'site', value: 'pier' }],
        lentLock: true,
      },
    ]);
  });

  it('counts its times in the configured unit', () => {
    const [asset] = toAssets(
      data('[{"id":"a","createTime":1795161600,"assignStatus":{"createTime":"1795161600"}}]'),
      's',
    );
    expect(asset?.createdAt).toBe('2026-11-20T08:00:00.000Z');
    expect(asset?.assignment?.createdAt).toBe('2026-11-20T08:00:00.000Z');
  });

  it('has no time where the platform sends one of its words for none', () => {
    for (const none of ['0', '"0"', '""', 'null', '9223372036854775807', '"9223372036854775807"'])
      for (const unit of ['ms', 's'] as const) {
        const times = `"limitEndTime":${none},"assignStatus":{"createTime":${none}}`;
        const [asset] = toAssets(data(`[{"id":"a",${times}}]`), unit);
        expect([none, asset?.endsAt, asset?.assignment?.createdAt]).toEqual([none, null, null]);
      }
  });

  it('has the time of an assignment in UTC where the platform sends RFC 3339 instead of a long', () => {
    const text = '[{"id":"a","assignStatus":{"createTime":"2026-11-20T16:00:00+08:00"}}]';
    expect(toAssets(data(text), 'ms')[0]?.assignment?.createdAt).toBe('2026-11-20T08:00:00.000Z');
  });

  it('keeps a licence type that the interface does not list, and notes it', () => {
    const notes = new ContractNotes();
    expect(toAssets(data('[{"id":"a","licenseType":"lunar"}]'), 'ms', notes)[0]?.licenseType).toBe('lunar');
    expect([...notes]).toContainEqual({ path: 'data[].licenseType', kind: 'unknown-word' });
  });

  it('without a time of update is noted, because the interface allows null only in other shapes', () => {
    const notes = new ContractNotes();
    expect(toAssets(data('[{"id":"a","updateTime":null}]'), 'ms', notes)[0]?.updatedAt).toBeNull();
    expect([...notes]).toContainEqual({ path: 'data[].updateTime', kind: 'null' });
  });
});

describe('asset numbers', () => {
  it('carry their region, and are delivered in any form: they are consumed upstream', () => {
    const nums = '["8000000001","6000000002","7000000001","800000001","80000000011",8000000003]';
    expect(toReservedAssetNums(data(nums)).map(({ region }) => region)).toEqual([
      ...['domestic', 'singapore', 'unknown', 'unknown', 'unknown', 'domestic'],
    ]);
  });

  it('have their digits, however the platform spells a number', () => {
    const nums = toReservedAssetNums(data('[8000000001.0,8.0e9,8000000003.5]'));
    expect(nums.map(({ keyShellNumber }) => keyShellNumber)).toEqual([
      ...['8000000001', '8000000000', '8000000003.5'],
    ]);
  });

  it('are delivered without what is no number, which is noted', () => {
    const notes = new ContractNotes();
    const nums = toReservedAssetNums(data('[null,"8000000001","",true,{}]'), notes);
    expect(nums).toEqual([{ keyShellNumber: '8000000001', region: 'domestic' }]);
    expect([...notes]).toEqual(['null', 'empty', 'wrong-type'].map((kind) => ({ path: 'data[]', kind })));
  });

  it('are none where the platform sends none', () => {
    for (const json of ['null', '{}', '"8000000001"', '[null]', '[true]', '[""]'])
      expect(() => toReservedAssetNums(data(json))).toThrow(ContractViolation);
  });
});
