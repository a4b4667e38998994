import { expect, it } from '@jest/globals';
import type { OperationName } from './operations.ts';
import type { SandboxOptions } from './options.ts';
import { PlatformClient, secret } from './testing.ts';

const adding = (...rows: object[]): object => ({ body: { userList: rows } });
const mia = { userName: 'mia', password: secret(), name: 'Mia' };
const longfellow = { parameters: { enterpriseGlobalId: '9007199254741993' } };

it.each<[Partial<SandboxOptions>, OperationName, object, number, readonly string[]]>([
  [
    { profile: { timestampUnit: 's' } },
    'listAssets',
    {},
    200,
    ['"createTime":1767600000,', '"limitEndTime":4102358400,'],
  ],
  [
    { profile: { otherIds: 'number' } },
    'listAssets',
    longfellow,
    200,
    ['"id":9007199254743993,', '"customerId":9007199254742993,', '"assetNum":"8000004001"'],
  ],
  [{ region: '6' }, 'obtainAssetNums', { body: { size: 1 } }, 200, ['["6500000001"]']],
  [
    { profile: { refusalStatus: '200', refusalCode: 'number' } },
    'obtainAssetNums',
    { body: {} },
    200,
    ['"code":13004'],
  ],
  [
    { profile: { memberIds: 'text', refusalStatus: 'both' } },
    'addMembers',
    adding(mia, mia),
    200,
    ['"id":"9607199254740993","userId":"9707199254740993"', '"code":"60027"'],
  ],
  [
    { passwordLength: { min: 20, max: 40 } },
    'addMembers',
    adding({ ...mia, password: 'x'.repeat(19) }),
    299,
    ['"code":"50003","message":"password length must lie between 20 and 40"'],
  ],
  [
    { rowFaults: 'row' },
    'addMembers',
    adding(mia, { ...mia, userName: 'm-2' }, { ...mia, userName: null }),
    299,
    [
      '"code":"60027"',
      '"userName":"mia@harbour"',
      '{"userName":"m-2","message":"account may contain only letters and digits"}',
      '{"userName":"","message":"account empty"}',
    ],
  ],
  [
    { strictFields: false },
    'bindCustomer',
    { body: { channelCode: 'crm', channelCustomerId: 'C', customerName: 'N', enterpriseName: 'N', more: 1 } },
    200,
    ['"code":0,'],
  ],
])('the options %j: %s with %j', async (options, name, parts, status, says) => {
  const sandbox = await PlatformClient.start(options);
  const answer = await sandbox.call(name, parts);
  await sandbox.close();
  expect(answer.status).toBe(status);
  for (const part of says) expect(answer.text).toContain(part);
});

it('a body beyond the limit of the option is 413', async () => {
  const sandbox = await PlatformClient.start({ maxBodyBytes: 100 });
  const { status } = await sandbox.send('obtainAssetNums', { body: { size: 'x'.repeat(100) } });
  await sandbox.close();
  expect(status).toBe(413);
});
