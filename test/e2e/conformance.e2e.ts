import { once } from 'node:events';
import { readFileSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:https';
import { type AddressInfo, createServer as createTcpServer } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { plainReadings, readingNames, readings as table } from '../../src/config/readings.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { makeCertificates } from '../support/certificates.ts';
import { HARBOUR, ofHarbour, type Report, TestConformance } from '../support/conformance.ts';
import { endings } from '../support/endings.ts';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { freePort, until } from '../support/redis.ts';
import { type JournalEntry, TestSandbox } from '../support/sandbox.ts';
import { credential } from '../support/settings.ts';
import { useSandbox } from '../support/stack.ts';

/** What the command finds, makes and says, with a sandbox that plays the platform. */

/** The codes by which the sandbox refuses where a reading has it refuse by a code of its own. */
const OWN_CODES: Readonly<Record<string, string[]>> = {
  '{"unknownEnterprise":"other-code"}': ['order 13009'],
};
/** A gateway that is not told of these readings gets no call accepted, or reads the platform wrongly. */
const MUST_BE_TOLD = new Set(['timestampUnit', 'nonceForm', 'clientToken', 'userToken', 'tokenScope']);
/** An enterprise whose ids are digits. */
const LONGFELLOW = '9007199254741993';
const WRITES = ['--write', '--order', '--yes'];

const sandbox = useSandbox();
const conformance = new TestConformance(sandbox);
const shipped = new TestConformance(sandbox, true);
const { profileFile } = conformance;
const { ended, atEnd } = endings();

interface State {
  readonly employees: readonly { readonly deleted: boolean; readonly name: string }[];
  readonly assets: readonly { readonly revoked: boolean }[];
}
/** What is there: nothing that was deleted. */
async function live() {
  const { employees, assets } = await sandbox.control<State>('GET', '/state');
  return {
    employees: employees.filter(({ deleted }) => !deleted),
    assets: assets.filter(({ revoked }) => !revoked),
  };
}

/** Returns how many calls of an operation a run makes before its first call of the operation `next` that fits. */
async function callsBefore(
  operation: string,
  next: string,
  fits: (call: JournalEntry) => boolean = () => true,
): Promise<number> {
  await conformance.run(ofHarbour(...WRITES));
  const calls = await sandbox.calls();
  const end = calls.findIndex((call) => call.operation === next && fits(call));
  await sandbox.reset();
  return calls.slice(0, end).filter((call) => call.operation === operation).length;
}

function envelope(data: unknown) {
  const text = JSON.stringify({ code: 0, message: 'success', data });
  return { raw: { text, contentType: 'application/json' } };
}

describe('a platform as the interface says', () => {
  it.each([HARBOUR, LONGFELLOW])('has no finding, and is as before: %s', async (enterprise) => {
    const before = await live();
    const found = await shipped.reported(['--enterprise', enterprise, '--channel', 'crm', ...WRITES]);
    const { differing, refused, codes, gaps, remarks, left, unread, code } = found;
    expect({ differing, refused, codes, gaps, remarks, left, unread, code }).toEqual({
      ...{ differing: [], refused: [], codes: [], gaps: [], remarks: [], left: [], unread: [], code: 0 },
    });
    expect(await live()).toEqual(before);
    expect(Object.keys(found.tokens).toSorted()).toEqual(['app:auth_me', 'app:auth_order', 'user:default']);
    expect(JSON.parse(readFileSync(shipped.profileFile, 'utf8'))).toEqual({
      version: 1,
      readings: found.readings,
      notAsked: found.notAsked,
    });
  });

  it('is only read without --write', async () => {
    const { code, out } = await shipped.run(ofHarbour());
    expect([code, out]).toEqual([0, expect.stringContaining('As the interface says.')]);
    const called = new Set((await sandbox.calls()).map(({ operation }) => operation));
    expect([...called].toSorted()).toEqual([
      ...[
        'listAssetNums',
        'listAssetProducts',
        'listAssets',
        'listLentLocks',
        'listMembers',
        'queryCustomers',
      ],
    ]);
    // Nothing personal: neither names nor accounts of members.
    expect(out + readFileSync(shipped.profileFile, 'utf8')).not.toMatch(/anna|harbour\b|13800/i);
  });
});

it('asks with tokens of its own: neither Redis nor database of a gateway is used', async () => {
  let connections = 0;
  const store = createTcpServer((socket) => {
    connections++;
    socket.destroy();
  }).listen(0, '127.0.0.1');
  await once(store, 'listening');
  const { port } = store.address() as AddressInfo;
  const over = {
    REDIS_URL: `redis://127.0.0.1:${port}`,
    DATABASE_URL: `postgres://gateway@127.0.0.1:${port}/gateway`,
    ENCRYPTION_KEYS: newEncryptionKey(),
  };
  const { code } = await shipped.reported(ofHarbour(), over);
  store.close();
  expect([code, connections]).toEqual([0, 0]);
});

describe('a platform that reads the interface otherwise', () => {
  const numbers = { maxPageSize: 3, firstPage: 0, maxLocksPerCall: 37 };
  const alone = readingNames
    .filter((name) => table[name].asked !== 'never')
    .flatMap((name): object[] => {
      const { values } = table[name];
      if ('usual' in values) return [{ [name]: numbers[name as keyof typeof numbers] }];
      const others = values.filter((value) => value !== plainReadings[name]);
      return others.map((value) => ({ [name]: value, ...(name === 'largerPages' && { maxPageSize: 3 }) }));
    });
  const together = [
    { firstPage: 0, pagesBeyond: 'last' },
    { firstPage: 0, emptyLists: 'null', keyword: 'whole' },
    { emptyLists: 'null', extendCode: 'properties', pageTotal: 'absent' },
    { orderIds: 'purchases', packagesInDeletion: 'taken' },
    { clientToken: 'bearer', userToken: 'bearer', nonceForm: 'short' },
    { tokenScope: 'refused', tokenRefusals: '299' },
    { mobiles: 'masked', maxPageSize: 3 },
  ];

  it.each([...alone, ...together].map((played) => [played] as const))(
    'is named with %j, and nothing else',
    async (played) => {
      const enterprise = 'otherIds' in played ? LONGFELLOW : HARBOUR;
      await sandbox.control('PUT', '/profile', played);
      const found = await conformance.reported(['--enterprise', enterprise, '--channel', 'crm', ...WRITES]);
      const codes = found.codes.map(({ module, code }) => `${module} ${code}`);
      expect([found.differing, found.refused, codes, found.gaps, found.left]).toEqual([
        ...[expect.arrayContaining(Object.keys(played)), [], OWN_CODES[JSON.stringify(played)] ?? [], [], []],
      ]);
      expect(found.differing).toHaveLength(Object.keys(played).length);
      expect(found.readings).toMatchObject(played);
      const wrong = Object.keys(played).filter((name) => MUST_BE_TOLD.has(name));
      expect([found.code, found.remarks.map((each) => each.isWrong)]).toEqual([
        wrong.length > 0 ? 2 : 1,
        wrong.map(() => true),
      ]);
    },
  );

  it('is not asked whether it takes a scope where the settings have none', async () => {
    await sandbox.control('PUT', '/profile', { tokenScope: 'refused' });
    const none = { UPSTREAM_ORDER_SCOPE: '', UPSTREAM_MEMBER_SCOPE: '' };
    const { code, differing, notAsked } = await conformance.reported(ofHarbour(), none);
    expect([code, differing, notAsked]).toEqual([0, [], expect.arrayContaining(['tokenScope'])]);
  });

  it.each(['oauth', '299'])('refuses a wrong secret, which is not tried often: %s', async (tokenRefusals) => {
    await sandbox.control('PUT', '/profile', { tokenRefusals, tokenScope: 'refused' });
    const { code, err } = await conformance.run(ofHarbour(), { UPSTREAM_APP_SECRET: credential() });
    expect([code, err]).toEqual([3, expect.stringContaining('check UPSTREAM_APP_KEY')]);
    expect(await sandbox.journal('token')).toHaveLength(tokenRefusals === 'oauth' ? 1 : 3);
  });

  it('names no code that the profile teaches', async () => {
    await sandbox.fault({ operation: 'listLentLocks', skip: 1, times: 1, action: { code: '61999' } });
    const codes = { member: { '61999': 'credentials' } };
    const taught = conformance.file('taught.json', { version: 1, readings: {}, codes });
    const found = await conformance.reported(ofHarbour(), { PLATFORM_PROFILE_FILE: taught });
    expect([found.codes, found.code]).toEqual([[], 0]);
  });

  it('names the code by which the token endpoint refuses a user who does not exist', async () => {
    const message = 'no account conformance';
    await sandbox.fault({
      operation: 'token',
      match: { body: { grant_type: 'password' } },
      skip: 1,
      action: {
        raw: { text: JSON.stringify({ code: '41007', message }), contentType: 'application/json' },
      },
    });
    const { codes, readings, code } = await conformance.reported(ofHarbour());
    expect([codes, readings['tokenRefusals'], code]).toEqual([
      [{ module: 'member', code: '41007', words: message }],
      '200',
      1,
    ]);
  });

  it('is asked as the user who serves the enterprise', async () => {
    await sandbox.control('PUT', '/profile', { usersSee: 'own' });
    const { seedPassword: password } = sandbox;
    const users = {
      default: { username: 'admin@meridian', password },
      beta: { username: 'admin@harbour', password, enterprises: [HARBOUR] },
    };
    const { tokens, code } = await conformance.reported(ofHarbour(), {
      UPSTREAM_USERS_FILE: conformance.file('two-users.json', users),
    });
    expect([Object.keys(tokens).toSorted(), code]).toEqual([
      ['app:auth_me', 'app:auth_order', 'user:beta'],
      0,
    ]);
  });

  it('is wrong where it answers without a userToken', async () => {
    const data = [{ assetId: 'a', assetNum: '1', borrowedFlag: false, cloudAccountGlobalId: null }];
    const text = JSON.stringify({ code: 0, message: 'success', data });
    await sandbox.fault({
      operation: 'listLentLocks',
      skip: 2,
      action: { raw: { text, contentType: 'application/json' } },
    });
    const { remarks, code } = await conformance.reported(ofHarbour());
    expect([remarks, code]).toEqual([
      [{ what: 'The platform answers without a userToken.', isWrong: true }],
      2,
    ]);
  });

  it('is wrong where its clock is another one', async () => {
    const date = new Date(Date.now() - 3_600_000).toUTCString();
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { headers: { date } } });
    const { remarks, code } = await conformance.reported(ofHarbour());
    expect([remarks.map(({ what }) => what), code]).toEqual([
      [expect.stringMatching(/^The clocks of the platform and of this machine differ by 3[56]\d\d s/)],
      2,
    ]);
  });

  it('says that it has not seen the customers without --channel', async () => {
    const { code, out } = await conformance.run(['--enterprise', HARBOUR]);
    expect([code, out]).toEqual([0, expect.stringContaining('findCustomers data[] (needs --channel)')]);
    expect(out).toContain('As the interface says, as far as it was seen.');
  });

  it('says what it found to people, with what to do', async () => {
    await sandbox.control('PUT', '/profile', { maxPageSize: 3, timestampUnit: 's' });
    const { code, out } = await conformance.run(ofHarbour());
    expect(code).toBe(2);
    expect(out).toMatch(/^! maxPageSize +3 /m);
    expect(out).toContain('set PLATFORM_PROFILE_FILE to the profile of this run');
    await sandbox.control('PUT', '/profile', { timestampUnit: 's' });
    expect(
      (await conformance.run(ofHarbour(), { PLATFORM_PROFILE_FILE: conformance.profileFile })).code,
    ).toBe(1);
  });

  it('has departures named by field, and a response that cannot be read as what is wrong', async () => {
    await sandbox.fault({
      operation: 'listAssets',
      action: { odd: { pointer: '/data/0/keyChipType', value: 'x' } },
    });
    expect(await conformance.reported(ofHarbour())).toMatchObject({
      ...{ gaps: ['listAssets data[].keyChipType wrong-type'], differing: [], code: 1 },
    });
    await sandbox.fault({ operation: 'listLentLocks', action: { odd: { pointer: '/data', value: 'x' } } });
    const { remarks, code } = await conformance.reported(ofHarbour());
    expect([remarks, code]).toEqual([[{ what: expect.stringContaining('listLentLocks'), isWrong: true }], 2]);
  });

  it('keeps in the profile what this run did not ask', async () => {
    writeFileSync(
      profileFile,
      JSON.stringify({ version: 1, readings: { maxOrdersPerBatch: 20, memberEdit: 'clears' } }),
    );
    await conformance.run(ofHarbour());
    const { readings, notAsked } = conformance.profile;
    expect(readings).toMatchObject({ maxOrdersPerBatch: 20, memberEdit: 'clears', timestampUnit: 'ms' });
    expect(notAsked).not.toContain('memberEdit');
  });

  it('is asked with what the profile of the gateway and the earlier one teach, and both are kept', async () => {
    await sandbox.fault({ operation: 'listLentLocks', times: 1, action: { code: '61999' } });
    const codes = { member: { '61999': 'credentials' } };
    writeFileSync(profileFile, JSON.stringify({ version: 1, readings: { maxOrdersPerBatch: 20 }, codes }));
    const others = { order: { '13017': 'refused' }, member: { '61999': 'busy', '60006': 'busy' } };
    const ofGateway = conformance.file('gateway.json', {
      ...{ version: 1, readings: { maxOrdersPerBatch: 10, maxAssetNums: 100 }, codes: others },
    });
    const found = await conformance.reported(ofHarbour(), { PLATFORM_PROFILE_FILE: ofGateway });
    expect([found.codes, found.refused, found.code]).toEqual([[], [], 0]);
    expect(JSON.parse(readFileSync(profileFile, 'utf8'))).toMatchObject({
      readings: { maxOrdersPerBatch: 20, maxAssetNums: 100 },
      codes: {
        order: { '13017': 'refused' },
        member: { '61999': 'credentials', '60006': 'busy' },
      },
    });
  });

  it('says of the forms that the gateway sends what the platform does with them, whatever an earlier profile has', async () => {
    const forms = { nonceForm: 'short', tokenScope: 'refused' };
    writeFileSync(profileFile, JSON.stringify({ version: 1, readings: forms }));
    const { remarks, differing, code } = await conformance.reported(ofHarbour());
    expect([remarks, differing, code]).toEqual([[], [], 0]);
    expect(conformance.profile.readings).toMatchObject({ nonceForm: 'any', tokenScope: 'taken' });
  });

  it.each<[object, object, string[], number]>([
    [{ emptyLists: 'null' }, {}, ['emptyLists'], 2],
    [{ assetList: 'all' }, { assetList: 'virtual' }, ['assetList'], 2],
    [{ firstPage: 1, maxPageSize: 3 }, { firstPage: 0 }, ['firstPage'], 2],
    [{ emptyLists: 'list', assetList: 'virtual' }, {}, [], 0],
    [{ memberEdit: 'keeps', keyword: 'whole' }, {}, [], 0],
  ])(
    'is wrong where the profile in use permits what the platform does not: %j for %j',
    async (used, played, wrong, exit) => {
      await sandbox.control('PUT', '/profile', played);
      const ofGateway = conformance.file('in-use.json', { version: 1, readings: used });
      const found = await conformance.reported(ofHarbour(), { PLATFORM_PROFILE_FILE: ofGateway });
      const named = found.remarks.map(({ what }) => /`(\w+)`/.exec(what)?.[1]);
      expect([named, found.remarks.map(({ isWrong }) => isWrong), found.code]).toEqual([
        ...[wrong, wrong.map(() => true), exit],
      ]);
    },
  );

  it('loses in the profile what the answers contradict', async () => {
    const before = { emptyLists: 'null', maxPageSize: 3, largerPages: 'cut', mobiles: 'absent' };
    writeFileSync(profileFile, JSON.stringify({ version: 1, readings: before }));
    await sandbox.fault({ operation: 'listAssets', skip: 2, times: 1, action: envelope(null) });
    const { code } = await conformance.reported(ofHarbour(), { PLATFORM_PROFILE_FILE: profileFile });
    expect(code).toBe(2);
    const { readings, notAsked } = conformance.profile;
    expect(readings).toMatchObject({ largerPages: 'cut', mobiles: 'shown' });
    expect(notAsked).toEqual(expect.arrayContaining(['emptyLists', 'maxPageSize']));
  });

  it('keeps in the profile what no answer shows', async () => {
    const before = { maxPageSize: 50, largerPages: 'cut', emptyLists: 'null', keyword: 'whole' };
    writeFileSync(profileFile, JSON.stringify({ version: 1, readings: before }));
    await sandbox.fault({ operation: ['listMembers', 'listLentLocks'], action: { code: '60017' } });
    await sandbox.fault({ operation: 'listAssets', skip: 1, action: { code: '13004' } });
    await conformance.run(ofHarbour());
    expect(conformance.profile.readings).toMatchObject(before);
  });

  it('is described by a profile with which another sandbox and a gateway answer alike', async () => {
    const played = {
      maxPageSize: 3,
      largerPages: 'cut',
      memberEdit: 'clears',
      timestampUnit: 's',
      pageTotal: 'absent',
      refusalStatus: '200',
    };
    await sandbox.control('PUT', '/profile', played);
    await conformance.run(ofHarbour(...WRITES));
    await sandbox.reset();
    await sandbox.control('PUT', '/profile', played);
    const { readings } = conformance.profile;
    const second = await TestSandbox.start({ profile: readings, seedPassword: sandbox.seedPassword });
    atEnd(() => second.close());
    const gateways = await Promise.all(
      [sandbox, second].map(async (platform) =>
        ended(await TestGateway.start(platform, { PLATFORM_PROFILE_FILE: profileFile })),
      ),
    );
    const member = `/v1/enterprises/${HARBOUR}/members/mem-harbour-anna`;
    const edit = { account: 'anna', name: 'Anna Two', remark: null };
    const answers = [];
    for (const gateway of gateways) {
      const edited = await gateway.request('PATCH', member, { body: edit });
      const seen = [edited.status];
      const bodies: unknown[] = [];
      for (const path of [
        `/v1/enterprises/${HARBOUR}/members`,
        member,
        `/v1/enterprises/${HARBOUR}/assets`,
        `/v1/enterprises/none/assets`,
      ]) {
        const { status, body } = await gateway.get(path);
        seen.push(status);
        bodies.push(
          JSON.parse(
            JSON.stringify(body, (key, value: unknown) =>
              key === 'updatedAt' || key === 'requestId' ? null : value,
            ),
          ),
        );
      }
      answers.push([seen, bodies] as const);
    }
    expect(answers[0]?.[0]).toEqual([204, 200, 200, 200, 200]);
    expect(answers[0]).toEqual(answers[1]);
    expect(answers[0]?.[1]?.[1]).toMatchObject({
      ...{ name: 'Anna Two', remark: null, passwordMobile: '13800000002' },
    });
  });
});

describe('what was made', () => {
  it('and cannot be removed is named', async () => {
    await sandbox.fault({ operation: 'deleteMember', action: { code: '80001' } });
    const { left, code } = await conformance.reported(ofHarbour('--write', '--yes'));
    expect([left, code]).toEqual([
      ...[
        [
          expect.stringMatching(/^the member conformance-[0-9a-f]{8}-3$/),
          expect.stringMatching(/^the member conformance-[0-9a-f]{8}$/),
        ],
      ],
      1,
    ]);
  });

  it.each([
    ['addMembers', 'after'],
    ['batchOrder', 'after'],
    ['editMember', 'before'],
  ])(
    'is removed though the answer of %s is lost, and the run says that it could not ask',
    async (operation, phase) => {
      const before = await live();
      await sandbox.fault({ operation, phase, times: 1, action: { reset: 'before-headers' } });
      const { code, err } = await conformance.run(ofHarbour(...WRITES));
      expect([code, err]).toEqual([3, expect.stringContaining('UPSTREAM_BASE_URL cannot be reached')]);
      expect(err).not.toContain('Could not be removed');
      expect(await live()).toEqual(before);
    },
  );

  it.each<[string, object, number, RegExp[]]>([
    ['no answer', { httpStatus: 503 }, 0, [/^the member conformance-[0-9a-f]{8}$/]],
    ['no answer to the second member', { httpStatus: 503 }, 1, [/^the member conformance-[0-9a-f]{8}-3$/]],
    ['a code that nobody has taught', { code: '61999' }, 0, [/^the member conformance-[0-9a-f]{8}$/]],
    ['a failure of the platform', { code: '80001' }, 0, [/^the member conformance-[0-9a-f]{8}$/]],
    ['a refusal by a code of the interface', { code: '30003' }, 0, []],
    ['a refusal of the second member', { code: '10003' }, 1, []],
  ])('may be there though no list shows it: a member whose add got %s', async (_, action, skip, left) => {
    await sandbox.fault({ operation: 'addMembers', skip, times: 1, action });
    const found = await conformance.reported(ofHarbour('--write', '--yes'));
    expect(found.left).toEqual(left.map((each) => expect.stringMatching(each)));
  });

  it('is left alone where it is not its own: what others make meanwhile stays', async () => {
    const others = ended(await TestGateway.start(sandbox));
    await sandbox.fault({ operation: 'batchOrder', times: 1, phase: 'before', action: { delayMs: 400 } });
    const { run: end } = conformance.start(ofHarbour(...WRITES, '--json'));
    await until('an order is on its way', async () => (await sandbox.journal('batchOrder')).length > 0);
    const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
    const [item] = orderOf('').items;
    const order = orderOf('SO-other', { items: [{ ...item, customer }] });
    expect((await others.post('/v1/license-orders', order)).status).toBe(201);
    const { code, out } = await end;
    expect([code, (JSON.parse(out) as Report).left]).toEqual([0, []]);
    const made = await others.get('/v1/license-orders/crm/SO-other/assets');
    expect((made.body['items'] as object[]).length).toBe(1);
  });

  it.each(['passwordMobile', 'departmentId'])(
    'shows no answer where an edit clears only %s',
    async (field) => {
      const isOfSecond = ({ body }: JournalEntry) => /"conformance-[0-9a-f]{8}-3"/.test(JSON.stringify(body));
      const lists = await callsBefore('listMembers', 'addMembers', isOfSecond);
      await sandbox.fault({
        operation: 'listMembers',
        skip: lists - 1,
        times: 1,
        action: { odd: { pointer: `/data/list/0/${field}`, value: null } },
      });
      const { left, notAsked } = await conformance.reported(ofHarbour('--write', '--yes'));
      expect([left, notAsked]).toEqual([[], expect.arrayContaining(['memberEdit'])]);
    },
  );

  it('shows no answer where the platform keeps the remark and never shows the mobile number', async () => {
    await sandbox.fault({
      operation: 'listMembers',
      action: { odd: { pointer: '/data/list/0/passwordMobile', value: null } },
    });
    const { notAsked, readings } = await conformance.reported(ofHarbour('--write', '--yes'));
    expect([notAsked, readings]).toEqual([
      expect.arrayContaining(['memberEdit']),
      expect.not.objectContaining({ memberEdit: expect.anything() }),
    ]);
  });

  it('shows no answer where no member has a department that an edit could keep', async () => {
    const { employees, ...state } = await sandbox.control<{ employees: object[] }>('GET', '/state');
    const without = employees.map((each) => ({ ...each, departmentId: null, departmentName: null }));
    await sandbox.control('PUT', '/state', { ...state, employees: without });
    const { notAsked } = await conformance.reported(ofHarbour('--write', '--yes'));
    expect(notAsked).toContain('memberEdit');
  });

  it.each([
    ['a search', 1],
    ['a search and one list', 2],
  ])('is listed after its removal where only %s leaves it out', async (_, times) => {
    await sandbox.control('PUT', '/profile', { deletedMembers: 'listed' });
    let deletions = 0;
    // The second member is deleted first.
    const lists = await callsBefore('listMembers', 'deleteMember', () => ++deletions === 2);
    await sandbox.control('PUT', '/profile', { deletedMembers: 'listed' });
    const none = { list: [], total: 0, isLastPage: true, pageNum: 1, pageSize: 200 };
    await sandbox.fault({ operation: 'listMembers', skip: lists, times, action: envelope(none) });
    const { left, readings } = await conformance.reported(ofHarbour('--write', '--yes'));
    expect([left, readings['deletedMembers']]).toEqual([[], 'listed']);
  });

  it('is no order where the channel is not known', async () => {
    await sandbox.fault({
      operation: 'listAssetProducts',
      action: {
        patch: {
          data: { children: [], productInstanceList: [{ productUri: 'draft.pro', channelCode: null }] },
        },
      },
    });
    const { remarks } = await conformance.reported(['--enterprise', HARBOUR, ...WRITES]);
    expect(remarks.map(({ what }) => what)).toContainEqual(expect.stringContaining('give --channel'));
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  it('is no lock, which somebody would have to send', async () => {
    const state = await sandbox.control<{ assets: { customerId: string }[] }>('GET', '/state');
    const licenseType = 'normal_recover_usbkey';
    await sandbox.control('PUT', '/state', {
      ...state,
      assets: state.assets.map((asset) => ({ ...asset, licenseType })),
    });
    const { remarks } = await conformance.reported(ofHarbour(...WRITES));
    expect(remarks.map(({ what }) => what)).toContainEqual(expect.stringContaining('no product'));
    expect(await sandbox.journal('batchOrder')).toEqual([]);
  });

  const isOfPackage = ({ body }: { body: unknown }) => JSON.stringify(body).includes('"delete_product"');
  /** The platform takes the deletion of a package, and does nothing. */
  const passOverPackages = () =>
    sandbox.fault({
      operation: 'batchOrder',
      match: { body: { orderList: [{ orderType: 'delete_product' }] } },
      action: envelope([{ sequence: 1, licenseOrderId: 'lic-x', customerId: 'cus-harbour-default' }]),
    });

  it.each<[string, object]>([
    ['does not have its asset once', { odd: { pointer: '/data/10' } }],
    ['does not have any asset once', envelope([])],
  ])('shows no answer where a list %s after the deletion of its package', async (_, action) => {
    const before = await live();
    const lists = await callsBefore('listAssets', 'batchOrder', isOfPackage);
    await passOverPackages();
    await sandbox.fault({ operation: 'listAssets', skip: lists, times: 1, action });
    const { left, notAsked } = await conformance.reported(ofHarbour(...WRITES));
    expect([left, notAsked]).toEqual([[], expect.arrayContaining(['packagesInDeletion'])]);
    expect(await live()).toEqual(before);
  });

  it('is removed though the platform keeps an asset whose package is gone', async () => {
    const before = await live();
    const reads = await callsBefore('listAssetProducts', 'batchOrder', isOfPackage);
    await passOverPackages();
    await sandbox.fault({
      operation: 'listAssetProducts',
      skip: reads,
      action: { patch: { data: { children: [], productInstanceList: [] } } },
    });
    const { left, readings } = await conformance.reported(ofHarbour(...WRITES));
    expect([left, readings['packagesInDeletion']]).toEqual([[], 'taken']);
    expect(await live()).toEqual(before);
  });

  it.each<[string, object]>([
    ['purchase that was not made', { times: 1, action: envelope(null) }],
    ['deletion that was not done', { skip: 1, action: envelope(null) }],
    ['purchase whose answer is no list', { times: 1, phase: 'after', action: envelope({}) }],
  ])('shows nothing of the ids of orders by the answer to a %s', async (_, rule) => {
    await sandbox.fault({ operation: 'batchOrder', ...rule });
    expect((await conformance.reported(ofHarbour(...WRITES))).notAsked).toContain('orderIds');
  });

  it.each(['SIGINT', 'SIGTERM', 'SIGHUP'] as const)(
    'is removed after %s, which npm sends twice, and no profile is written',
    async (signal) => {
      const before = await live();
      await sandbox.fault({ operation: ['editMember', 'deleteMember'], action: { delayMs: 500 } });
      const { child, run: end } = conformance.start(ofHarbour(...WRITES));
      await until('a member was made', async () => (await sandbox.journal('addMembers')).length > 0);
      child.kill(signal);
      await until('it is being removed', async () => (await sandbox.journal('deleteMember')).length > 0);
      child.kill(signal);
      const { code, err } = await end;
      expect([code, err]).toEqual([3, 'Interrupted: no profile was written.\n']);
      expect(await live()).toEqual(before);
      expect(() => readFileSync(profileFile)).toThrow('ENOENT');
    },
  );
});

describe('a platform that cannot be asked', () => {
  it.each<[string, string[], () => Promise<Record<string, string>> | Record<string, string>, string]>([
    ['no enterprise', ['--write'], () => ({}), '--enterprise is required'],
    [
      'an enterprise that no path can name',
      ['--enterprise', 'a/b'],
      () => ({}),
      '--enterprise must be 1 to 128',
    ],
    ['--order alone', ofHarbour('--order'), () => ({}), '--order needs --write'],
    [
      'a folder that is not there',
      ofHarbour('--profile', '/nowhere/p.json'),
      () => ({}),
      'the folder of /nowhere/p.json',
    ],
    ['an unknown option', ofHarbour('--force'), () => ({}), "Unknown option '--force'"],
    [
      'members of its own, without --yes',
      ofHarbour('--write'),
      () => ({}),
      'give --yes if it is meant for this',
    ],
    [
      'a profile of the platform that is not valid',
      ofHarbour(),
      () => ({ PLATFORM_PROFILE_FILE: conformance.file('bad.json', { version: 2, readings: {} }) }),
      'version: must be 1',
    ],
    [
      'an earlier profile of its own that is not valid',
      ofHarbour('--profile', conformance.file('wrong-profile.json', { version: 2, readings: {} })),
      () => ({}),
      '--profile (',
    ],
    ['no address', ofHarbour(), () => ({ UPSTREAM_BASE_URL: '' }), 'UPSTREAM_BASE_URL is required'],
    ['a wrong secret', ofHarbour(), () => ({ UPSTREAM_APP_SECRET: credential() }), 'check UPSTREAM_APP_KEY'],
    ['a scope that it lacks', ofHarbour(), () => ({ UPSTREAM_MEMBER_SCOPE: 'other' }), 'has no scope other'],
    [
      'a wrong password',
      ofHarbour(),
      () => ({
        UPSTREAM_USERS_FILE: conformance.usersFile('default', credential()),
      }),
      'refuses the user `default`',
    ],
    [
      'a port where nothing listens',
      ofHarbour(),
      async () => ({ UPSTREAM_BASE_URL: `http://127.0.0.1:${await freePort()}` }),
      'UPSTREAM_BASE_URL cannot be reached (ECONNREFUSED)',
    ],
    [
      'a page in place of the interface',
      ofHarbour(),
      () => ({ UPSTREAM_BASE_URL: `${sandbox.url}/x` }),
      'no JSON of the interface',
    ],
    [
      'a page in place of the token endpoint',
      ofHarbour(),
      () => ({ UPSTREAM_TOKEN_URL: `${sandbox.url}/x` }),
      'does not answer like a token endpoint',
    ],
  ])('with %s: 3, and one sentence', async (_, options, over, says) => {
    const { code, out, err } = await shipped.run(options, await over());
    expect([code, out, err]).toEqual([3, '', expect.stringContaining(says)]);
    const written = (await sandbox.calls()).filter(({ operation, method }) => operation && method !== 'GET');
    expect(written).toEqual([]);
  });

  it('with a certificate that nobody knows: 3, and what to set', async () => {
    const { untrusted } = await makeCertificates();
    const server = createServer({ key: untrusted.key, cert: untrusted.cert }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const { code, err } = await shipped.run(ofHarbour(), {
      UPSTREAM_BASE_URL: `https://127.0.0.1:${port}`,
    });
    server.close();
    expect([code, err]).toEqual([3, expect.stringContaining('UPSTREAM_TLS_CA_FILE')]);
  });

  it('that never answers: 3, after the deadline', async () => {
    const server = createTcpServer().listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const over = { UPSTREAM_BASE_URL: `http://127.0.0.1:${port}`, UPSTREAM_DEADLINE_MS: '300' };
    const { code, err } = await shipped.run(ofHarbour(), over);
    server.close();
    expect([code, err]).toEqual([3, expect.stringContaining('does not answer in time')]);
  });
});
