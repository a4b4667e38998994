import { describe, expect, it } from '@jest/globals';
import { parseJson } from '../shared/json.ts';
import { ContractNotes, ContractViolation, type GapKind } from '../upstream/wire/contract-notes.ts';
import {
  toAssets,
  toCustomer,
  toCustomers,
  toEnterprise,
  toLockResults,
  toReservedAssetNums,
} from './order.mapper.ts';

const data = (json: string) => parseJson(Buffer.from(json), { maxDepth: 64 });
/** As callers get it. */
const shown = (value: unknown): unknown => JSON.parse(JSON.stringify(value));

const customer = {
  customerId: 'cus-1',
  channelCode: 'crm',
  channelCustomerId: 'CH-1',
  enterpriseGlobalId: 'ent-1',
  enterpriseName: 'Harbour',
  isDefault: true,
};

describe('a customer', () => {
  it('keeps the names of the interface', () => {
    expect(toCustomer(data(JSON.stringify(customer)))).toEqual(customer);
    expect(toCustomers(data(JSON.stringify([customer, customer])))).toEqual([customer, customer]);
    expect(toCustomers(data('[]'))).toEqual([]);
  });

  it('has null for what is null, absent or of another type, and drops what the interface does not have', () => {
    const json =
      '{"customerId":"c","channelCode":null,"isDefault":"true","password":"p","__proto__":{"a":1},"id":5}';
    expect(shown(toCustomer(data(json)))).toEqual({
      customerId: 'c',
      channelCode: null,
      channelCustomerId: null,
      enterpriseGlobalId: null,
      enterpriseName: null,
      isDefault: null,
    });
  });

  it('without an id is a contract violation alone, and left out of a list', () => {
    expect(() => toCustomer(data('{"customerId":null}'))).toThrow(ContractViolation);
    expect(toCustomers(data('[{"customerId":null},{"customerId":"c"}]'))).toMatchObject([
      { customerId: 'c' },
    ]);
  });
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
    for (const members of ['{}', '[null]']) {
      const json = `{"enterpriseGlobalId":"e","members":${members},"defaultType":1}`;
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
    expect(notes.has('data[].licenseType', 'unknown-word')).toBe(true);
  });

  it('has a chip of type 1 or 2 where its generation is 4 or 5', () => {
    const assets = toAssets(data('[{"id":"a","keyChipType":1},{"id":"b","keyChipType":2}]'), 'ms');
    expect(assets.map(({ keyGeneration }) => keyGeneration)).toEqual([4, 5]);
  });

  it.each<[string, string, string, unknown, GapKind, string?]>([
    ['keyChipType', '0', 'keyGeneration', null, 'unknown-word'],
    ['keyChipType', '"2"', 'keyGeneration', null, 'wrong-type'],
    ['locked', '"false"', 'locked', null, 'wrong-type'],
    ['createTime', '"soon"', 'createdAt', null, 'wrong-type'],
    ['createTime', '99999999999999999999', 'createdAt', null, 'wrong-type'],
    ['assetExtends', '{}', 'extensions', [], 'wrong-type'],
    ['assetExtends', '[1]', 'extensions', [], 'wrong-type', 'assetExtends[]'],
    ['assignStatus', '"assigned"', 'assignment', null, 'wrong-type'],
    ['assetNum', '-1', 'assetNum', null, 'wrong-type'],
  ])(
    'is served where %s is %s: %s is %j, and noted as %5$s',
    (field, value, name, expected, kind, path = field) => {
      const notes = new ContractNotes();
      const assets = toAssets(data(`[{"id":"a"},{"id":"b","${field}":${value}}]`), 'ms', notes);
      expect(assets).toMatchObject([{ assetId: 'a' }, { assetId: 'b', [name]: expected }]);
      expect(notes.has(`data[].${path}`, kind)).toBe(true);
    },
  );
});

describe('lock results', () => {
  it('have one item for each number asked, in that order, with a word for each status', () => {
    const json = `[{"assetNum":"4","status":4},{"assetNum":"3","status":3},{"assetNum":"2","status":2},{"assetNum":"1","status":1}]`;
    expect(toLockResults(data(json), ['1', '2', '3', '4'])).toEqual({
      items: [
        { assetNum: '1', status: 'succeeded' },
        { assetNum: '2', status: 'not_found' },
        { assetNum: '3', status: 'failed' },
        { assetNum: '4', status: 'wrong_type' },
      ],
      succeeded: 1,
      failed: 3,
    });
  });

  it('are unknown for numbers that upstream leaves out, and never name one that was not asked', () => {
    expect(
      toLockResults(data('[{"assetNum":"9","status":1},{"assetNum":"1","status":1}]'), ['1', '2']),
    ).toEqual({
      items: [
        { assetNum: '1', status: 'succeeded' },
        { assetNum: '2', status: 'unknown' },
      ],
      succeeded: 1,
      failed: 1,
    });
    expect(toLockResults(data('[]'), ['1'])).toEqual({
      items: [{ assetNum: '1', status: 'unknown' }],
      succeeded: 0,
      failed: 1,
    });
  });

  it('are unknown for a status that the interface does not have', () => {
    for (const status of [0, 5, -1]) {
      const { items } = toLockResults(data(`[{"assetNum":"1","status":${status}}]`), ['1']);
      expect(items).toEqual([{ assetNum: '1', status: 'unknown' }]);
    }
  });

  it('never claim success where upstream says both', () => {
    const both = ['{"assetNum":"1","status":3}', '{"assetNum":"1","status":1}'];
    for (const order of [both, both.toReversed()]) {
      expect(toLockResults(data(`[${order.join()}]`), ['1']).succeeded).toBe(0);
    }
  });

  it('are unknown, never success, where the platform says too little, and none where it sends no list', () => {
    for (const json of ['[null]', '[{}]', '[{"assetNum":"1"}]', '[{"status":1}]'])
      expect(toLockResults(data(json), ['1']).items).toEqual([{ assetNum: '1', status: 'unknown' }]);
    expect(() => toLockResults(data('{}'), ['1'])).toThrow(ContractViolation);
  });
});

describe('asset numbers', () => {
  it('carry their region, and are delivered in any form: they are consumed upstream', () => {
    const nums = '["8000000001","6000000002","7000000001","800000001","80000000011","",8000000003]';
    expect(toReservedAssetNums(data(nums)).map(({ region }) => region)).toEqual([
      ...['domestic', 'singapore', 'unknown', 'unknown', 'unknown', 'unknown', 'domestic'],
    ]);
  });

  it('are none where the platform sends none', () => {
    for (const json of ['null', '{}', '"8000000001"', '[null]', '[true]'])
      expect(() => toReservedAssetNums(data(json))).toThrow(ContractViolation);
  });
});
