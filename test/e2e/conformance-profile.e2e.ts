import { randomInt } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { plainReadings, type ReadingName, readings } from '../../src/config/readings.ts';
import { ALWAYS_TOLD, drawProfiles } from '../profiles/draw.ts';
import { HARBOUR, ofHarbour, TestConformance } from '../support/conformance.ts';
import { endings } from '../support/endings.ts';
import { TestGateway } from '../support/gateway.ts';
import { orderOf } from '../support/order-body.ts';
import { ProfileFile } from '../support/profile-file.ts';
import { useSandbox } from '../support/stack.ts';

/** A platform that differs in many readings at once: the run names all of them, and a gateway with the written profile serves it. */

const sandbox = useSandbox();
const conformance = new TestConformance(sandbox);
const { ended } = endings();
const unitOnly = new ProfileFile();

const WRITES = ofHarbour('--write', '--order', '--yes');
const ANNA = `/v1/enterprises/${HARBOUR}/members/mem-harbour-anna`;

it.each<[string, object]>([
  [
    'tokens and refusals',
    {
      ...{ nonceForm: 'uuid', clientToken: 'bearer', userToken: 'bearer', tokenScope: 'refused' },
      ...{ tokenEnvelope: 'data', tokenStatus: '201', tokenType: 'absent', tokenRefusals: '299' },
      ...{ refreshTokens: 'absent', refusalCode: 'number', refusalStatus: '200' },
    },
  ],
  [
    'members',
    {
      ...{ firstPage: 0, pagesBeyond: 'last', keyword: 'account', mobiles: 'masked', memberIds: 'text' },
      ...{ accountSuffix: 'joined', accountCase: 'one', deletedMembers: 'listed', memberEdit: 'clears' },
      ...{ maxPageSize: 3, largerPages: 'cut', pageNumbers: 'text', pageTotal: 'absent', pageFlags: 'none' },
    },
  ],
  [
    'orders and lists',
    {
      ...{ emptyLists: 'null', flags: 'number', assetList: 'virtual', extendCode: 'nothing' },
      ...{ orderIds: 'later', packagesInDeletion: 'taken', deletedTwice: 'success', maxLocksPerCall: 7 },
      ...{ unknownEnterprise: 'empty', nonceForm: 'digits' },
    },
  ],
])('a gateway serves the platform by the written profile: %s', async (_, played) => {
  await sandbox.control('PUT', '/profile', played);
  const found = await conformance.reported(WRITES);
  expect(found.readings).toMatchObject(played);
  const { differing, refused, codes, gaps, left } = found;
  expect({ differing: differing.toSorted(), refused, codes, gaps, left }).toEqual({
    ...{ differing: Object.keys(played).toSorted(), refused: [], codes: [], gaps: [], left: [] },
  });
  const told = { PLATFORM_PROFILE_FILE: conformance.profileFile };
  const again = await conformance.reported(WRITES, told);
  expect([again.readings, again.remarks, again.code]).toEqual([found.readings, [], 1]);
  await sandbox.reset();
  await sandbox.control('PUT', '/profile', played);
  const gateway = ended(await TestGateway.start(sandbox, told));
  const all = async (path: string, id: string) => {
    const { status, body } = await gateway.get(path);
    return [status, (body['items'] as Record<string, string>[]).map((item) => item[id])];
  };
  const accounts = ['admin', 'anna', 'bo', 'chen', 'dora'].map((account) => `mem-harbour-${account}`);
  expect(await all(`/v1/enterprises/${HARBOUR}/members`, 'memberGlobalId')).toEqual([
    ...[200, [...accounts, 'mem-shared-petra']],
  ]);
  expect(await all(`/v1/enterprises/${HARBOUR}/assets?extendCode=site`, 'assetId')).toEqual([
    ...[200, ['ast-1001', 'ast-1009']],
  ]);
  expect(await all('/v1/enterprises/none/assets', 'assetId')).toEqual([200, []]);
  const edit = { account: 'anna', name: 'Anna Two', remark: 'ashore', passwordMobile: '13800000009' };
  expect((await gateway.request('PATCH', ANNA, { body: edit })).status).toBe(204);
  expect((await gateway.get(ANNA)).body).toMatchObject({ name: 'Anna Two', remark: 'ashore' });
  expect(await gateway.post('/v1/license-orders', orderOf('SO-1'))).toMatchObject({ status: 201 });
});

const seed = Number(process.env['PROFILES_SEED'] ?? randomInt(2 ** 31));

describe(`PROFILES_SEED=${seed}`, () => {
  // The ids of this enterprise have letters, so they are texts everywhere.
  const isAsked = (name: string) =>
    name in readings && readings[name as ReadingName].asked !== 'never' && name !== 'otherIds';
  const drawn = drawProfiles(seed)
    .slice(0, 8)
    .map((profile) => Object.fromEntries(Object.entries(profile).filter(([name]) => isAsked(name))));

  it.each(drawn.map((played) => ({ played })))('the run names what differs: $played', async ({ played }) => {
    await sandbox.control('PUT', '/profile', played);
    const isHidden = (name: string) => name === 'largerPages' && played['maxPageSize'] === 1_000;
    const differing = Object.entries(played)
      .filter(([name, value]) => value !== plainReadings[name as ReadingName] && !isHidden(name))
      .toSorted();
    unitOnly.write({ readings: { timestampUnit: played['timestampUnit'] } });
    const found = await conformance.reported(WRITES, { PLATFORM_PROFILE_FILE: unitOnly.path });
    const { refused, gaps, left, unread } = found;
    expect({ refused, gaps, left, unread }).toEqual({ refused: [], gaps: [], left: [], unread: [] });
    expect(found.remarks.map(({ what }) => /`(\w+)`/.exec(what)?.[1]).toSorted()).toEqual(
      differing.map(([name]) => name).filter((name) => ALWAYS_TOLD.some((each) => each === name)),
    );
    const named = found.differing.map((name) => [name, found.readings[name]]).toSorted();
    expect(named).toEqual(differing);
  });
});
