import { describe, expect, it } from '@jest/globals';
import { createCache } from 'cache-manager';
import { RecordedLog, settings } from '../../test/support/settings.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { sharedTexts } from '../redis/shared-texts.ts';
import fc from 'fast-check';
import { parseJson } from '../shared/json.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import { memberShape } from '../upstream/wire/member.ts';
import { Reader } from '../upstream/wire/reader.ts';
import { toAddedRows, toAddRequest } from './add-members.service.ts';
import { toAssetProducts } from './asset-products.mapper.ts';
import { readMember, toMemberPage, toMemberTerms } from './member.mapper.ts';
import { toAssetCounts } from './overview.service.ts';
import { UnsettledDeletes } from './member.service.ts';

const parse = (text: string) => parseJson(Buffer.from(text), { maxDepth: 64 });
const many = <T extends object>(length: number, item: T) => Array.from({ length }, () => item);
const LONG = Date.parse('2026-11-20T08:00:00.000Z');
const TIME = '2026-11-20T08:00:00.000Z';

describe('a member', () => {
  it('has every field of the interface under the name of the gateway, ids as exact strings', () => {
    const wire = parse(`{
      "id": 9007199254740993, "userId": 9007199254740995, "globalId": "g", "enterpriseId": 3001,
      "departmentId": 9007199254741001, "departmentName": "Surveying", "userName": "bo@harbour",
      "passwordMobile": "138", "name": "Bo", "assetNums": ["8000001005", 8000001006], "borrowNum": "8000001007",
      "onlineFlag": true, "remark": null, "deleted": false, "updateTime": ${LONG}, "createTime": "${LONG}",
      "boundUserInfo": {"n": 9007199254740993, "__proto__x": 1}, "internal": "x"
    }`);
    expect(readMember(new Reader(memberShape, wire), 'ms')).toEqual({
      memberId: '9007199254740993',
      userId: '9007199254740995',
      memberGlobalId: 'g',
      enterpriseId: '3001',
      departmentId: '9007199254741001',
      departmentName: 'Surveying',
      userName: 'bo@harbour',
      passwordMobile: '138',
      name: 'Bo',
      assetNums: ['8000001005', '8000001006'],
      lentLockNum: '8000001007',
      online: true,
      remark: null,
      deleted: false,
      updatedAt: TIME,
      createdAt: TIME,
      boundUserInfo: { n: '9007199254740993', __proto__x: 1 },
    });
  });

  it('without its global id is none', () => {
    for (const wire of [{}, { globalId: '' }, { globalId: true }])
      expect(() => readMember(new Reader(memberShape, wire), 'ms')).toThrow(ContractViolation);
  });

  it.each([
    [{ assetNums: 'x' }, { assetNums: [] }],
    [{ assetNums: [null, 'a'] }, { assetNums: ['a'] }],
    [{ onlineFlag: 1 }, { online: true }],
    [{ onlineFlag: 'yes' }, { online: null }],
    [{ id: true }, { memberId: null }],
  ])('is served where single fields are odd: %j', (odd, shown) => {
    expect(readMember(new Reader(memberShape, { globalId: 'g', ...odd }), 'ms')).toMatchObject({
      memberGlobalId: 'g',
      ...shown,
    });
  });

  it('goes out with its department as an exact integer, and without what was left out', () => {
    const terms = toMemberTerms({ account: 'bo', name: 'Bo', departmentId: '9007199254741001' });
    expect(JSON.stringify(terms)).toBe('{"userName":"bo","departmentId":9007199254741001,"name":"Bo"}');
    const { userList } = toAddRequest([{ account: 'bo', name: 'Bo', password: 'p' }]);
    expect(JSON.stringify(userList)).toBe('[{"userName":"bo","name":"Bo","password":"p"}]');
  });
});

describe('a page of members', () => {
  const member = { globalId: 'g' };
  const page = (list: unknown, more: object = {}) => ({ total: 3, pages: 2, list, ...more });
  it('is what the platform says of it, and what came', () => {
    expect(toMemberPage(page([member], { pageNum: 1, pageSize: 2, isLastPage: true }), 'ms')).toEqual({
      items: [expect.objectContaining({ memberGlobalId: 'g' })],
      ...{ came: 1, pageNum: 1, pageSize: 2, total: 3, startRow: null, isFirst: null, isLast: true },
    });
  });

  it('keeps the places of members that have no id, or are no objects', () => {
    const { items, came } = toMemberPage(page([member, { globalId: '' }, 'x', member]), 'ms');
    expect([items.map((item) => item?.memberGlobalId), came]).toEqual([['g', undefined, undefined, 'g'], 4]);
  });

  it.each([page({}), page('none'), [], null, {}, page(null), page(null, { total: null })])(
    'is none without a list: %j',
    (data) => {
      expect(() => toMemberPage(data, 'ms')).toThrow(ContractViolation);
    },
  );

  it.each([
    [page(null, { total: 0, pageSize: 'x' }), { items: [], total: 0, pageSize: null }],
    [page(null, { size: 0 }), { items: [], total: 3, came: 0 }],
    [page(null, { total: null, size: 0 }), { items: [], total: null }],
    [page([], { startRow: 1, isFirstPage: true, hasPreviousPage: false }), { startRow: 1, isFirst: true }],
    [page([], { startRow: 21, isFirstPage: true }), { isFirst: null }],
    [page([], { isLastPage: true, hasNextPage: true }), { isLast: null }],
    [page([], { isLastPage: false, hasNextPage: false }), { isLast: null }],
    [page([], { isLastPage: 0, hasNextPage: '1' }), { isLast: false }],
    [page([], { isLastPage: 1 }), { isLast: true }],
    [page([], { isLastPage: 'last', hasNextPage: true }), { isLast: false }],
    [page([], { hasNextPage: false }), { isLast: true }],
    [page([]), { isLast: null }],
  ])('is served where its numbers are odd: %j', (data, shown) => {
    expect(toMemberPage(data, 'ms')).toMatchObject(shown);
  });
});

describe('assets', () => {
  it('are counted by type and by what is left of them', () => {
    const day = 86_400_000;
    const asset = (licenseType: unknown, limitEndTime: number | null, more: object = {}) => ({
      licenseType,
      limitEndTime,
      locked: false,
      freezing: null,
      ...more,
    });
    const data = [
      asset('softkey', null, { locked: true }),
      asset('softkey', LONG),
      asset('cloud_account', LONG + 1, { freezing: true }),
      asset('__proto__', LONG + 30 * day),
      asset(null, LONG + 30 * day + 1),
    ];
    expect(toAssetCounts(data, 'ms', LONG, DECIDING)).toEqual({
      total: 5,
      byLicenseType: { softkey: 2, cloud_account: 1, unknown: 2 },
      locked: 1,
      frozen: 1,
      expired: 1,
      expiringSoon: 2,
    });
    for (const none of [
      {},
      null,
      undefined,
      [...data, {}].map(({ licenseType: _, ...rest }: Record<string, unknown>) => rest),
    ])
      expect(() => toAssetCounts(none, 'ms', LONG, DECIDING)).toThrow(ContractViolation);
    for (const odd of [
      { locked: undefined },
      { locked: 'perhaps' },
      { freezing: 'perhaps' },
      { limitEndTime: 'soon' },
    ])
      expect(() => toAssetCounts([asset('softkey', LONG, odd)], 'ms', LONG, DECIDING)).toThrow(
        ContractViolation,
      );
    const none = asset('softkey', null, { freezing: undefined, limitEndTime: '' });
    expect(toAssetCounts([none], 'ms', LONG, DECIDING)).toMatchObject({ total: 1, frozen: 0, expired: 0 });
  });
});

const DECIDING = { fields: ['licenseType', 'locked'], nullIsEmpty: false } as const;

describe('the products on an asset', () => {
  it('have every field of the interface', () => {
    const product = {
      id: 'p',
      trial: 1,
      trialEndDate: LONG,
      activateFlag: true,
      limitConcurrent: 3,
      limitEndTime: LONG,
    };
    const extended = { ...product, trial: 0, productExtendInstanceList: [{ any: 1 }] };
    const data = {
      productInstanceList: [product],
      children: [{ id: 'm', children: [{ id: 'n', children: null }], productInstanceList: [extended] }],
    };
    expect(toAssetProducts(data, 'ms')).toMatchObject({
      products: [{ id: 'p', trial: true, trialEndsAt: TIME, active: true, limitConcurrent: 3, endsAt: TIME }],
      merchandises: [
        {
          id: 'm',
          children: [{ id: 'n', children: [], products: [] }],
          products: [{ trial: false, productExtendInstanceList: [{ any: 1 }] }],
        },
      ],
    });
    expect(toAssetProducts({ productInstanceList: null }, 'ms')).toEqual({ products: [], merchandises: [] });
    const ofChannel = { id: 'i', channelCode: 7 };
    expect(toAssetProducts({ productInstanceList: [ofChannel], children: [ofChannel] }, 'ms')).toMatchObject({
      products: [{ channelCode: '7' }],
      merchandises: [{ channelCode: '7' }],
    });
  });

  it('leave out packages without an id, however many there are', () => {
    const children = [...many(20, { merchandiseNum: 'no id' }), { id: 'm', children: [{ id: 'n' }] }];
    expect(toAssetProducts({ children }, 'ms').merchandises).toMatchObject([
      { id: 'm', children: [{ id: 'n' }] },
    ]);
  });

  it('are bounded in the levels of a tree', () => {
    const nested = (levels: number): object => ({
      id: 'm',
      children: levels > 1 ? [nested(levels - 1)] : [],
    });
    expect(toAssetProducts({ children: [nested(16)] }, 'ms').merchandises).toHaveLength(1);
    expect(() => toAssetProducts({ children: [nested(17)] }, 'ms')).toThrow(ContractViolation);
  });

  it('are bounded over all trees together', () => {
    const wide = (count: number) => ({
      children: [{ id: 'm', productInstanceList: many(count, { id: 'p' }) }],
    });
    expect(toAssetProducts(wide(9_999), 'ms').merchandises).toHaveLength(1);
    expect(() => toAssetProducts(wide(10_000), 'ms')).toThrow(ContractViolation);
    expect(toAssetProducts({ productInstanceList: [{ id: 'p', trial: 2 }] }, 'ms').products).toMatchObject([
      { id: 'p', trial: null },
    ]);
  });
});

describe('added rows', () => {
  const row = (account: string) => ({ account, name: 'N', password: `secret-${account}` });
  const ok = (userName: string) => ({ globalId: userName, userName });

  it('are matched to accounts with the enterprise code, also where one row begins like another', () => {
    const data = { succeeded: [ok('a01'), ok('ann01')], failed: [{ userName: 'a01', message: '' }] };
    const { succeeded, failed, contradicts } = toAddedRows(
      data,
      ['a', 'a01', 'ann', 'anna'].map(row),
      100,
      'ms',
    );
    expect(succeeded.map(({ userName }) => userName)).toEqual(['a01', 'ann01']);
    expect(failed).toEqual([
      {
        index: 101,
        account: 'a01',
        code: 'upstream-rejected',
        message: expect.stringMatching(/no reason/),
        outcome: 'not_processed',
        retryable: false,
      },
      expect.objectContaining({
        index: 103,
        account: 'anna',
        code: 'upstream-contract-violation',
        outcome: 'unknown',
      }),
    ]);
    expect(contradicts).toBe(true);
  });

  it('are each found once, in their order, for each code and each failed row', () => {
    const one = fc.record({ account: fc.stringMatching(/^[ab01]{1,4}$/), works: fc.boolean() });
    const some = fc.uniqueArray(one, { minLength: 1, maxLength: 12, selector: ({ account }) => account });
    fc.assert(
      fc.property(some, fc.constantFrom('@h', '01', 'b', ''), (each, code) => {
        const accounts = each.map(({ account }) => account);
        const added = each.filter(({ works }) => works).map(({ account }) => account);
        const refused = each.filter(({ works }) => !works).map(({ account }) => account);
        const data = {
          succeeded: added.map((account) => ok(account + code)).toReversed(),
          failed: refused.map((userName) => ({ userName, message: 'm' })),
        };
        const result = toAddedRows(data, accounts.map(row), 0, 'ms');
        expect(result.contradicts).toBe(false);
        expect(result.succeeded.map(({ userName }) => userName)).toEqual(
          added.map((account) => account + code),
        );
        expect(result.failed.map(({ account }) => account)).toEqual(refused);
      }),
    );
  });

  it('are told truly or as unknown, also where failed rows have the suffix', () => {
    const one = fc.record({
      account: fc.stringMatching(/^[ab01]{1,4}$/),
      works: fc.boolean(),
      hasSuffix: fc.boolean(),
    });
    const some = fc.uniqueArray(one, { minLength: 1, maxLength: 12, selector: ({ account }) => account });
    fc.assert(
      fc.property(some, fc.constantFrom('@h', '01', 'b', 'bbb', ''), (each, code) => {
        const data = {
          succeeded: each.filter(({ works }) => works).map(({ account }) => ok(account + code)),
          failed: each
            .filter(({ works }) => !works)
            .map(({ account, hasSuffix }) => ({
              userName: hasSuffix ? account + code : account,
              message: account,
            }))
            .toReversed(),
        };
        const result = toAddedRows(
          data,
          each.map(({ account }) => row(account)),
          0,
          'ms',
        );
        expect([code, undefined]).toContain(result.suffix);
        const failures = new Map(result.failed.map((failure) => [failure.account, failure]));
        for (const { account, works } of each) {
          const failure = failures.get(account);
          // No account has the separator, so nothing is ambiguous with it.
          if (failure?.outcome === 'unknown') expect(code).not.toBe('@h');
          else if (works)
            expect([result.added.get(account)?.userName, failure]).toEqual([account + code, undefined]);
          else expect(failure).toMatchObject({ message: account, outcome: 'not_processed' });
        }
      }),
      { numRuns: 1_000 },
    );
  });

  it('have the words of the platform, with our names of the fields and nothing else changed', () => {
    const message = 'userName anna.b is taken at assets.vendor.example';
    const { failed } = toAddedRows({ failed: [{ userName: 'a', message }] }, [row('a')], 0, 'ms');
    expect(failed[0]?.message).toBe('account anna.b is taken at assets.vendor.example');
  });

  it.each([null, [], { failed: many(3, {}) }])('of another shape are none: %j', (data) => {
    expect(() => toAddedRows(data, [row('a')], 0, 'ms')).toThrow(ContractViolation);
  });

  it.each([{}, { succeeded: {} }, { succeeded: [{}] }, { succeeded: [{ userName: 'a' }] }, { failed: [1] }])(
    'never claim success of a row of which the response says too little: %j',
    (data) => {
      const { succeeded, failed } = toAddedRows(data, [row('a')], 0, 'ms');
      expect(succeeded).toEqual([]);
      expect(failed).toMatchObject([{ account: 'a', outcome: 'unknown' }]);
    },
  );
});

describe('unsettled deletes', () => {
  it('are remembered, each for itself, until they are forgotten', async () => {
    const { upstream, redis } = settings();
    const stores = [sharedTexts(new SharedRedis(redis, new RecordedLog().log, new Metrics()))];
    const deletes = new UnsettledDeletes(upstream, createCache({ stores }));
    const ids = (enterpriseGlobalId: string, memberGlobalId: string) => ({
      enterpriseGlobalId,
      memberGlobalId,
    });
    await deletes.add({}, ids('e', '1'));
    await deletes.add({}, ids('e', '2'));
    expect(await deletes.has({}, ids('f', '1'))).toBe(false);
    await deletes.forget({}, ids('e', '2'));
    expect([await deletes.has({}, ids('e', '1')), await deletes.has({}, ids('e', '2'))]).toEqual([
      true,
      false,
    ]);
  });
});
