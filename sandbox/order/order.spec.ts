import { describe, expect, it } from '@jest/globals';
import { useSandbox } from '../testing.ts';

const test = useSandbox();

const binding = {
  channelCode: 'crm',
  channelCustomerId: 'CH-9',
  customerName: 'Nine',
  branchName: 'West',
  enterpriseName: 'Nine Works',
};
const bind = (more: object = {}) => test.call('bindCustomer', { body: { ...binding, ...more } });

async function found(
  channelCustomerId: string,
  defaultCustomer: string,
  channelCode = 'crm',
): Promise<string[]> {
  const query = { channelCode, channelCustomerId, defaultCustomer };
  const { data } = await test.call('queryCustomers', { query });
  return data.map(({ customerId }: { customerId: string }) => customerId);
}

describe('bindCustomer', () => {
  it('makes an enterprise with a default customer and an administrator, and returns them when it is repeated', async () => {
    const first = await bind();
    expect(first.data).toMatchObject({ enterpriseName: 'Nine Works', isDefault: true });
    expect(await test.logIn('admin@ent0001')).toBe(200);
    expect((await bind({ branchName: 'North' })).data).toEqual(first.data);
    const before = await test.state();
    for (const name of ['customerName', 'enterpriseName'])
      expect(await bind({ [name]: 'Other' })).toMatchObject({
        code: '13004',
        message: expect.stringContaining(name),
      });
    expect(await test.state()).toEqual(before);
  });
});

describe('createEnterprise', () => {
  it('makes the enterprise, two customers, the administrator and the employee, who sees no assets', async () => {
    const body = { crmCustomerId: 'CRM-9', customerName: 'Nine' };
    const { enterpriseGlobalId, members } = (await test.call('createEnterprise', { body })).data;
    const accounts = members.map(({ memberIdentity }: any) => memberIdentity);
    expect(accounts).toEqual(['admin@ent0001', 'user@ent0001']);
    expect(await found('CRM-9', 'Y')).toHaveLength(1);
    expect(await found('CRM-9', 'Y', 'industry')).toHaveLength(0);
    expect(await found('CRM-9', 'N', 'industry')).toHaveLength(1);
    const listed = await test.members({}, enterpriseGlobalId);
    expect(listed.map(({ userName }) => userName)).toEqual(accounts);
    const parameters = { enterpriseGlobalId };
    const numbers = await test.call('listAssetNums', { parameters, user: 'user@ent0001' });
    expect(numbers).toMatchObject({ code: 0, data: [] });
  });
});

it('updateCustomer answers with code and message only', async () => {
  const { text } = await test.call('updateCustomer', { body: { crmCustomerId: 'CRM-2001', address: 'x' } });
  expect(JSON.parse(text)).toEqual({ code: 0, message: 'success' });
});

it.each([
  ['keeps', { customerName: 'Meridian Survey', branchName: 'West', address: 'x' }],
  ['clears', { customerName: null, branchName: null, address: 'x' }],
])('updateCustomer %s what it leaves out, as the profile says', async (customerEdit, expected) => {
  const edit = (more: object) =>
    test.call('updateCustomer', { body: { crmCustomerId: 'CRM-2001', ...more } });
  await edit({ branchName: 'West' });
  await test.control('PUT', '/profile', { customerEdit });
  await edit({ address: 'x' });
  const { customers } = await test.state();
  expect(customers.find(({ crmCustomerId }: any) => crmCustomerId === 'CRM-2001')).toMatchObject(expected);
  await test.control('PUT', '/state', await test.state());
});

describe('queryCustomers', () => {
  it.each([
    ['CH-1002', 'Y', 'crm', ['cus-harbour-default']],
    ['PT-1003', 'Y', 'partner', []],
    ['', '', 'partner', ['cus-harbour-reseller', 'cus-meridian-default']],
  ])('finds for %j with %j in %s %j', async (id, only, channel, customers) => {
    expect(await found(id, only, channel)).toEqual(customers);
  });
});

it('locks show each number with its own status, in the order of the request, and stay locked until they are enabled', async () => {
  const numbers = [4, 3, 9, 8, 5].map((digit) => `800000100${digit}`);
  numbers[2] = '8999999999';
  const change = (name: 'disableLocks' | 'enableLocks', assetNums: readonly string[]) =>
    test.call(name, { body: { assetNums, operatorIdentity: 'ops' } });
  const locked = async () => (await test.asset('ast-1003')).locked;
  for (let time = 0; time < 2; time++) {
    const { data } = await change('disableLocks', numbers);
    expect(data.map(({ assetNum }: any) => assetNum)).toEqual(numbers);
    expect(data.map(({ status }: any) => status)).toEqual([4, 1, 2, 3, 1]);
  }
  expect(await locked()).toBe(true);
  await change('enableLocks', ['8000001003']);
  expect(await locked()).toBe(false);
});
