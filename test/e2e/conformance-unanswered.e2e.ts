import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { ofHarbour, TestConformance } from '../support/conformance.ts';
import { newSecret } from '../support/canary.ts';
import { useSandbox } from '../support/stack.ts';

/** What the command says where the platform refuses something, or has nothing to show. */

const sandbox = useSandbox();
const conformance = new TestConformance(sandbox);

const MEMBER_READS = ['listAssetNums', 'listAssetProducts', 'listLentLocks', 'listMembers'];
const envelope = (data: unknown) => ({
  raw: { text: JSON.stringify({ code: 0, message: 'success', data }), contentType: 'application/json' },
});

describe('a read that the platform does not answer', () => {
  it.each([
    ['queryCustomers', 'findCustomers'],
    ['listAssetNums', 'listAssetNums'],
    ['listAssetProducts', 'getAssetProducts'],
    ['listLentLocks', 'listLentLocks'],
    ['listMembers', 'listMembers'],
  ])('is named with its code and the words of the platform: %s', async (operation, operationId) => {
    const message = 'no right for ent-harbour: ask admin@harbour (13800000002)';
    await sandbox.fault({ operation, action: { code: '60017', message } });
    const { refused, remarks, code } = await conformance.reported(ofHarbour());
    const words = 'no right for <enterpriseGlobalId>: ask <username> (<…>)';
    expect([refused, remarks, code]).toEqual([[{ operation: operationId, code: '60017', words }], [], 2]);
    const { out } = await conformance.run(ofHarbour());
    expect(out).toContain(`! ${operationId} 60017 ${words}`);
    expect(out).not.toContain('As the interface says');
  });

  it('shows no number of the first page where page 0 does not come', async () => {
    await sandbox.control('PUT', '/profile', { firstPage: 0, maxPageSize: 3, pageFlags: 'none' });
    // Page 1 is refused in the largest size, and comes in size 1.
    await sandbox.fault({ operation: 'listMembers', skip: 2, times: 2, action: { httpStatus: 503 } });
    const { notAsked } = await conformance.reported(ofHarbour());
    expect(notAsked).toContain('firstPage');
  });

  it('shows nothing of what its answer would have', async () => {
    await sandbox.fault({ operation: 'listMembers', action: { code: '60017' } });
    const { readings, notAsked } = await conformance.reported(ofHarbour());
    const ofPages = ['pageNumbers', 'pageTotal', 'pageFlags', 'pagesBeyond', 'memberIds'];
    expect(notAsked).toEqual(expect.arrayContaining(ofPages));
    expect(conformance.profile.notAsked).toEqual(expect.arrayContaining(ofPages));
    expect(readings).toMatchObject({ refreshTokens: 'given', unknownEnterprise: 'code' });
  });

  it('is named where only the filters are refused that the gateway sends', async () => {
    await sandbox.fault({ operation: 'listAssets', skip: 1, times: 1, action: { code: '13004' } });
    await sandbox.fault({ operation: 'queryCustomers', skip: 2, times: 1, action: { code: '13004' } });
    const { refused, code } = await conformance.reported(ofHarbour());
    expect([refused.map(({ operation }) => operation), code]).toEqual([['listAssets', 'findCustomers'], 2]);
  });

  it('is asked again after an accident, which is no finding', async () => {
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { code: '500' } });
    await sandbox.fault({ operation: 'listLentLocks', times: 1, action: { httpStatus: 503 } });
    await sandbox.fault({ operation: 'listMembers', times: 1, action: { code: '60005' } });
    const { refused, remarks, code } = await conformance.reported(ofHarbour());
    expect([refused, remarks, code]).toEqual([[], [], 0]);
  });

  it.each<[string, object, { code: string | null; words: string }]>([
    [
      'a platform out of order',
      { code: '80001', message: 'user center exception' },
      told('80001', 'user center exception'),
    ],
    ['a firewall', { httpStatus: 403 }, told(null, 'HTTP 403')],
    [
      'a page in place of an answer',
      { html: true, httpStatus: 404 },
      told(null, 'HTTP 404 and no JSON of the interface'),
    ],
    ['silence', { hang: true }, told(null, 'no answer in time')],
    [
      'a success in the form of an exception',
      { code: 0, codeAs: 'integer' },
      told(null, 'HTTP 299 without a code'),
    ],
  ])('does not end the run with %s', async (_, action, words) => {
    await sandbox.fault({ operation: 'listAssetNums', action });
    const { refused, readings, code } = await conformance.reported(ofHarbour(), {
      UPSTREAM_DEADLINE_MS: '1000',
    });
    expect([refused, code]).toEqual([[{ operation: 'listAssetNums', ...words }], 2]);
    expect(readings).toMatchObject({ pagesBeyond: 'empty' });
  });

  it('is no page size: a platform out of order shows none', async () => {
    await sandbox.control('PUT', '/profile', { maxPageSize: 3 });
    await sandbox.fault({ operation: 'listMembers', skip: 3, times: 2, action: { code: '80001' } });
    const { notAsked } = await conformance.reported(ofHarbour());
    expect(notAsked).toEqual(expect.arrayContaining(['maxPageSize', 'largerPages']));
  });
});

describe('a module of which nothing could be read', () => {
  it.each<[string, string[], string[]]>([
    ['member', MEMBER_READS, ['what the user `default` may read']],
    ['order', ['listAssets', 'queryCustomers'], ['check --enterprise and --channel']],
  ])('is the end of the run with 3, after a report of the rest: %s', async (module, operation, says) => {
    await sandbox.fault({ operation, action: { code: '60000', message: 'no permission' } });
    const { unread, refused, readings, code, err } = await conformance.report(ofHarbour());
    expect([unread, code]).toEqual([[module], 3]);
    expect(err).toContain(says[0]);
    expect(refused.map((each) => each.code)).toEqual(Array(refused.length).fill('60000'));
    expect(conformance.profile.readings).toEqual(readings);
    expect(readings).toHaveProperty(module === 'member' ? 'unknownEnterprise' : 'pageTotal');
  });

  it('is the member center without a user who serves the enterprise', async () => {
    const username = 'admin@harbour';
    const beta = { username, password: sandbox.seedPassword, enterprises: ['ent-other'] };
    const users = { UPSTREAM_USERS_FILE: conformance.file('others.json', { beta }) };
    const { unread, code, err } = await conformance.report(ofHarbour(), users);
    expect([unread, code]).toEqual([['member'], 3]);
    expect(err).toContain('UPSTREAM_USERS_FILE has no user who serves this enterprise');
    expect((await conformance.run(ofHarbour(), users)).out).not.toContain('As the interface says');
  });

  it('is the order module of an unknown enterprise', async () => {
    const { unread, refused, readings, code, err } = await conformance.report([
      '--enterprise',
      'ent-nowhere',
    ]);
    const words = 'enterpriseGlobalId is unknown';
    expect([unread, refused, code]).toEqual([
      ['order'],
      [{ operation: 'listAssets', code: '13004', words }],
      3,
    ]);
    expect(err).toContain('check --enterprise');
    expect(readings).not.toHaveProperty('unknownEnterprise');
  });
});

describe('a code that the interface does not have', () => {
  const message = 'customer ent-harbour is blocked';
  const words = 'customer <enterpriseGlobalId> is blocked';

  it('is named with its module and the words of the platform', async () => {
    await sandbox.fault({ operation: 'listLentLocks', action: { code: '61999', message } });
    await sandbox.fault({ operation: 'listAssets', skip: 1, times: 1, action: { code: '13017', message } });
    const { codes } = await conformance.reported(ofHarbour());
    expect(codes).toEqual([
      { module: 'order', code: '13017', words },
      { module: 'member', code: '61999', words },
    ]);
    expect(readFileSync(conformance.profileFile, 'utf8')).not.toMatch(/61999|13017|blocked/);
  });

  it('is a finding also where the call should be refused', async () => {
    const match = { path: 'conformance-unknown' };
    await sandbox.fault({ operation: 'listAssets', match, action: { code: '13099', message: 'not here' } });
    const { codes, refused, differing, code } = await conformance.reported(ofHarbour());
    expect([codes, refused, differing, code]).toEqual([
      ...[[{ module: 'order', code: '13099', words: 'not here' }], [], ['unknownEnterprise'], 1],
    ]);
  });

  it('is met in writes too', async () => {
    await sandbox.fault({ operation: 'batchOrder', times: 1, action: { code: '13017', message } });
    const { codes, remarks, left, code } = await conformance.reported(
      ofHarbour('--write', '--order', '--yes'),
    );
    expect([codes, remarks.map(({ what }) => what), code]).toEqual([
      ...[
        [{ module: 'order', code: '13017', words }],
        [`The platform refuses batchOrder (13017: ${words}).`],
        1,
      ],
    ]);
    // The gateway does not know whether such an order was placed.
    expect(left).toEqual([expect.stringMatching(/^the order conformance-/)]);
  });
});

describe('a code that the profile teaches', () => {
  const codes = { member: { '42900': 'busy', '61999': 'credentials' } };
  const taught = () => ({
    PLATFORM_PROFILE_FILE: conformance.file('taught.json', { version: 1, readings: {}, codes }),
  });

  it.each(['42900', '61999'])('is asked again, and is no limit of pages: %s', async (code) => {
    await sandbox.fault({ operation: 'listMembers', times: 1, action: { code } });
    const { readings, refused, code: exit } = await conformance.reported(ofHarbour(), taught());
    expect([readings['maxPageSize'], readings['largerPages'], refused, exit]).toEqual([
      ...[undefined, undefined, [], 0],
    ]);
  });
});

describe('a refusal that is not about a size', () => {
  const action = { code: '42901', message: 'too many requests' };

  it.each<[string, object[]]>([
    ['one call', [{ skip: 1, times: 1 }]],
    ['every call after the first', [{ skip: 1 }]],
  ])('is no limit of locks where the platform refuses %s', async (_, rules) => {
    for (const rule of rules) await sandbox.fault({ operation: 'disableLocks', ...rule, action });
    const { notAsked } = await conformance.reported(ofHarbour('--write', '--yes'));
    expect(notAsked).toContain('maxLocksPerCall');
  });

  it.each<[string, object[]]>([
    ['the first call', [{ times: 1 }]],
    ['the first call, and every call after the third', [{ times: 1 }, { skip: 2 }]],
  ])('is no limit of pages where the platform refuses %s', async (_, rules) => {
    for (const rule of rules) await sandbox.fault({ operation: 'listMembers', ...rule, action });
    const { notAsked } = await conformance.reported(ofHarbour());
    expect(notAsked).toEqual(expect.arrayContaining(['maxPageSize', 'largerPages']));
  });
});

describe('a total of members that is too high', () => {
  it('is no limit of pages', async () => {
    await sandbox.fault({ operation: 'listMembers', action: { odd: { pointer: '/data/total', value: 7 } } });
    const { notAsked } = await conformance.reported(ofHarbour());
    expect(notAsked).toEqual(expect.arrayContaining(['maxPageSize', 'largerPages']));
  });
});

describe('an enterprise without a lock', () => {
  it('does not show whether the list of assets has locks', async () => {
    const { notAsked } = await conformance.reported(['--enterprise', 'ent-meridian', '--channel', 'partner']);
    expect(notAsked).toContain('assetList');
  });
});

describe('an enterprise with nothing in it', () => {
  it('shows nothing of its items, and the run says so', async () => {
    const { enterprises, ...state } = await sandbox.control<{ enterprises: object[] }>('GET', '/state');
    const empty = {
      ...enterprises[0],
      globalId: 'ent-empty',
      enterpriseId: '999',
      name: 'Empty',
      suffix: '@empty',
    };
    await sandbox.control('PUT', '/state', { ...state, enterprises: [...enterprises, empty] });
    const { readings, remarks, notSeen, refused, differing, code } = await conformance.reported([
      ...['--enterprise', 'ent-empty', '--channel', 'crm'],
    ]);
    expect([refused, differing, code]).toEqual([[], [], 1]);
    expect(remarks.map(({ what }) => what)).toEqual([
      expect.stringContaining('no assets'),
      expect.stringContaining('no members'),
    ]);
    expect(notSeen).toEqual([
      'listAssets data[]',
      'listAssetNums data[]',
      'listLentLocks data[]',
      'listMembers data.list[]',
      'getAssetProducts data.productInstanceList[]',
      'getAssetProducts data.children[]',
    ]);
    for (const name of ['memberIds', 'otherIds', 'pagesBeyond', 'timestampUnit', 'maxPageSize'])
      expect(readings).not.toHaveProperty(name);
    const { out } = await conformance.run(['--enterprise', 'ent-empty']);
    expect(out).not.toContain('As the interface says');
  });

  it.each([null, {}, { list: null, total: null }])(
    'shows nothing of pages where a page is %j',
    async (data) => {
      await sandbox.fault({ operation: 'listMembers', action: envelope(data) });
      const { readings, code } = await conformance.reported(ofHarbour());
      expect(Object.keys(readings).filter((name) => name.startsWith('page'))).toEqual([]);
      expect(code).not.toBe(0);
      const { code: ofWrite, err } = await conformance.run(ofHarbour('--write'));
      expect([ofWrite, err]).toEqual([3, expect.stringContaining('give --yes if it is meant for this')]);
    },
  );
});

describe('what the gateway relies on, and no reading asks', () => {
  const customer = (channelCustomerId: string, isDefault: boolean, enterpriseGlobalId = 'e') => ({
    ...{ customerId: channelCustomerId, channelCode: 'crm', channelCustomerId, isDefault },
    ...{ enterpriseGlobalId, enterpriseName: 'E' },
  });
  const customers = (at: number, ...rows: object[]) => ({
    ...{ operation: 'queryCustomers', skip: at, times: 1, action: envelope(rows) },
  });

  it.each<[string, object[], string]>([
    ['defaultCustomer=Y', [customers(2, customer('CH-2', false))], 'defaultCustomer=Y lists customers'],
    [
      'defaultCustomer=N',
      [
        customers(1, customer('CH-2', false)),
        customers(1, customer('CH-1', true)),
        customers(1, customer('CH-2', false)),
      ],
      'defaultCustomer=N leaves out',
    ],
    ['channelCustomerId', [customers(3, customer('CH-9', false))], 'channelCustomerId does not filter'],
    [
      'an asset for an extendCode',
      [{ operation: 'listAssets', skip: 1, times: 1, action: envelope([]) }],
      'extendCode does not find an asset',
    ],
    [
      'one form of empty lists',
      [{ operation: 'listAssets', skip: 2, times: 1, action: envelope(null) }],
      'Some empty lists are [], and others are null',
    ],
    [
      'one id of an asset',
      [{ operation: 'listAssetNums', action: { odd: { pointer: '/data/0/assetId', value: 'other' } } }],
      'different ids',
    ],
    ['keywords', [pageAt(3, 1, member({ userName: 'x', name: 'x' }))], 'A keyword does not filter'],
    [
      'a refresh token that is taken',
      [
        {
          operation: 'token',
          match: { body: { grant_type: 'refresh_token' } },
          action: { code: 'invalid_grant' },
        },
      ],
      'gives a refresh token and then refuses it',
    ],
  ])('is a remark where the platform does not have %s', async (_, rules, says) => {
    for (const rule of rules) await sandbox.fault(rule);
    const { remarks, refused, code } = await conformance.reported(ofHarbour());
    expect(remarks.map(({ what }) => what)).toContainEqual(expect.stringContaining(says));
    expect([refused, code]).toEqual([[], 1]);
  });

  it('is what would be wrong where the token endpoint knows every user', async () => {
    const token = { access_token: newSecret('t'), token_type: 'Bearer', expires_in: 300 };
    await sandbox.fault({
      operation: 'token',
      match: { body: { grant_type: 'password' } },
      skip: 1,
      action: { raw: { text: JSON.stringify(token), contentType: 'application/json' } },
    });
    const { remarks, code } = await conformance.reported(ofHarbour());
    expect([remarks, code]).toEqual([
      [{ what: 'The token endpoint gives a token to a user who does not exist.', isWrong: true }],
      2,
    ]);
  });
});

function member(over: object): object {
  const anna = { id: 1, globalId: 'mem-x', userName: 'anna@harbour', name: 'Anna', deleted: false };
  return { ...anna, passwordMobile: '13800000001', ...over };
}

/** A page of members in place of the answers from the one with that index on. */
function pageAt(skip: number, times = 1, ...list: object[]) {
  const page = { list, total: list.length, isLastPage: true, pageNum: 1, pageSize: 200 };
  return { operation: 'listMembers', skip, times, action: envelope(page) };
}

function told(code: string | null, words: string) {
  return { code, words };
}
