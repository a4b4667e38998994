import { describe, expect, it } from '@jest/globals';
import { useSandbox } from '../testing.ts';

const test = useSandbox();

const binding = {
  channelCode: 'crm',
  channelCustomerId: 'CH-9',
  customerName: 'Nine',
  branchName: 'West',
  enterpriseName: 'Nine Works',
  passwordMobile: '13900000000',
};

async function found(
  channelCustomerId: string,
  defaultCustomer: string,
  channelCode = 'crm',
): Promise<string[]> {
  const { data } = await test.call('queryCustomers', {
    query: { channelCode, channelCustomerId, defaultCustomer },
  });
  return data.map(({ customerId }: { customerId: string }) => customerId);
}

describe('bindCustomer', () => {
  it('makes an enterprise with this default customer, and an administrator who can log in', async () => {
    const { status, code, data } = await test.call('bindCustomer', { body: binding });
    expect([status, code]).toEqual([200, 0]);
    expect(data).toEqual({
      customerId: expect.stringMatching(/^\d{16}$/),
      channelCode: 'crm',
      channelCustomerId: 'CH-9',
      enterpriseGlobalId: expect.stringMatching(/^\d{16}$/),
      enterpriseName: 'Nine Works',
      isDefault: true,
    });
    expect(await test.logIn('admin@ent0001')).toBe(200);
  });

  it('returns the same customer when it is repeated', async () => {
    const first = await test.call('bindCustomer', { body: binding });
    const second = await test.call('bindCustomer', { body: { ...binding, branchName: 'North' } });
    expect(second.data).toEqual(first.data);
  });

  it.each(['customerName', 'enterpriseName'])('refuses to bind it again under another %s', async (name) => {
    await test.call('bindCustomer', { body: binding });
    const before = await test.state();
    const again = await test.call('bindCustomer', { body: { ...binding, [name]: 'Other' } });
    expect([again.status, again.code, again.message]).toEqual([299, '13004', expect.stringContaining(name)]);
    expect(await test.state()).toEqual(before);
  });

  it('adds a further customer to the enterprise of that name', async () => {
    const { data } = await test.call('bindCustomer', {
      body: { ...binding, enterpriseName: 'Harbour Engineering' },
    });
    expect(data).toMatchObject({ enterpriseGlobalId: 'ent-harbour', isDefault: false });
  });
});

describe('createEnterprise', () => {
  it('makes the enterprise, two customers, the administrator and the employee', async () => {
    const { data } = await test.call('createEnterprise', {
      body: { crmCustomerId: 'CRM-9', customerName: 'Nine' },
    });
    expect(data).toEqual({
      enterpriseGlobalId: expect.stringMatching(/^\d{16}$/),
      defaultType: true,
      members: [
        { memberGlobalId: expect.stringMatching(/^mem-\d+$/), memberIdentity: 'admin@ent0001' },
        { memberGlobalId: expect.stringMatching(/^mem-\d+$/), memberIdentity: 'user@ent0001' },
      ],
    });
    expect(await found('CRM-9', 'Y')).toHaveLength(1);
    expect(await found('CRM-9', 'Y', 'industry')).toHaveLength(0);
    expect(await found('CRM-9', 'N', 'industry')).toHaveLength(1);
  });
});

describe('queryCustomers', () => {
  it.each([
    ['CH-1001', 'N', 'crm', ['cus-harbour-default', 'cus-harbour-yard']],
    ['CH-1002', 'N', 'crm', ['cus-harbour-default', 'cus-harbour-yard']],
    ['CH-1002', 'Y', 'crm', ['cus-harbour-default']],
    ['PT-1003', 'N', 'partner', ['cus-harbour-reseller']],
    ['PT-1003', 'Y', 'partner', []],
    ['CH-0', 'N', 'crm', []],
    ['CH-1001', 'N', 'partner', []],
    ['', '', 'partner', ['cus-harbour-reseller', 'cus-meridian-default']],
  ])('leads from %j (default customer %j) on the channel %s to %j', async (id, only, channel, customers) => {
    expect(await found(id, only, channel)).toEqual(customers);
  });
});

describe('updateCustomer', () => {
  it('changes the given fields and keeps the others', async () => {
    const { status, code, text } = await test.call('updateCustomer', {
      body: { crmCustomerId: 'CRM-1002', address: 'Dock 2' },
    });
    expect([status, code, text]).toEqual([200, 0, '{"code":0,"message":"success","data":null}']);
    const { customers } = await test.state();
    expect(customers.find((one: any) => one.crmCustomerId === 'CRM-1002')).toMatchObject({
      address: 'Dock 2',
      branchName: 'East branch',
      customerName: 'Harbour Engineering yard',
    });
  });
});
