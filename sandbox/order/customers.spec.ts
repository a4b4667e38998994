import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { PlatformClient } from '../testing.ts';

let test: PlatformClient;
beforeAll(async () => {
  test = await PlatformClient.start();
});
beforeEach(() => test.control('POST', '/reset'));
afterAll(() => test.close());

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
  return (data as { customerId: string }[]).map(({ customerId }) => customerId);
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
    const password = test.running.seedPassword;
    const login = await test.token({ grant_type: 'password', username: 'admin@ent0001', password });
    expect(login.status).toBe(200);
  });

  it('returns the same customer when it is repeated', async () => {
    const first = await test.call('bindCustomer', { body: binding });
    const second = await test.call('bindCustomer', { body: { ...binding, branchName: 'North' } });
    expect(second.data).toEqual(first.data);
  });

  it.each(['customerName', 'enterpriseName'])('refuses to bind it again under another %s', async (name) => {
    await test.call('bindCustomer', { body: binding });
    const before = await test.control('GET', '/state');
    const again = await test.call('bindCustomer', { body: { ...binding, [name]: 'Other' } });
    expect([again.status, again.code, again.message]).toEqual([299, '13004', expect.stringContaining(name)]);
    expect(await test.control('GET', '/state')).toEqual(before);
  });

  it('adds a further customer to the enterprise of that name', async () => {
    const { data } = await test.call('bindCustomer', {
      body: { ...binding, enterpriseName: 'Harbour Engineering' },
    });
    expect(data).toMatchObject({ enterpriseGlobalId: 'ent-harbour', isDefault: false });
  });

  it.each(['channelCode', 'channelCustomerId', 'customerName', 'enterpriseName'])(
    'needs %s',
    async (name) => {
      const { status, code, message } = await test.call('bindCustomer', { body: { ...binding, [name]: '' } });
      expect([status, code, message]).toEqual([299, '13004', `${name} must not be empty`]);
    },
  );

  it('refuses an unknown field, unless the option says to be lenient', async () => {
    const body = { ...binding, crmId: '1' };
    expect((await test.call('bindCustomer', { body })).message).toBe('crmId is not a field');
    const lenient = await PlatformClient.start({ strictFields: false });
    expect((await lenient.call('bindCustomer', { body })).code).toBe(0);
    await lenient.close();
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

  it('refuses a CRM number that is taken, and changes nothing', async () => {
    const before = await test.control('GET', '/state');
    const { code } = await test.call('createEnterprise', {
      body: { crmCustomerId: 'CRM-1001', customerName: 'X' },
    });
    expect(code).toBe('13004');
    expect(await test.control('GET', '/state')).toEqual(before);
  });
});

describe('queryCustomers', () => {
  it('leads from any customer of the channel to all of its enterprise on that channel, or to the default one', async () => {
    expect(await found('CH-1001', 'N')).toEqual(['cus-harbour-default', 'cus-harbour-yard']);
    expect(await found('CH-1002', 'N')).toEqual(['cus-harbour-default', 'cus-harbour-yard']);
    expect(await found('CH-1002', 'Y')).toEqual(['cus-harbour-default']);
    expect(await found('PT-1003', 'N', 'partner')).toEqual(['cus-harbour-reseller']);
    expect(await found('PT-1003', 'Y', 'partner')).toEqual([]);
  });

  it('returns an empty array for unknown values', async () => {
    expect(await found('CH-0', 'N')).toEqual([]);
    expect(await found('CH-1001', 'N', 'partner')).toEqual([]);
  });

  it('returns the whole channel without a customer number', async () => {
    expect(await found('', '', 'partner')).toEqual(['cus-harbour-reseller', 'cus-meridian-default']);
  });

  it.each([{ channelCustomerId: 'CH-1001' }, { channelCode: 'crm', defaultCustomer: 'true' }])(
    'refuses %j',
    async (query) => {
      expect(
        (await test.call('queryCustomers', { query: query as unknown as Record<string, string> })).code,
      ).toBe('13004');
    },
  );
});

describe('updateCustomer', () => {
  it('changes the given fields and keeps the others', async () => {
    const { status, code, text } = await test.call('updateCustomer', {
      body: { crmCustomerId: 'CRM-1002', address: 'Dock 2' },
    });
    expect([status, code, text]).toEqual([200, 0, '{"code":0,"message":"success","data":null}']);
    const { body } = await test.control('GET', '/state');
    expect(
      body.customers.find((one: { crmCustomerId: string }) => one.crmCustomerId === 'CRM-1002'),
    ).toMatchObject({
      address: 'Dock 2',
      branchName: 'East branch',
      customerName: 'Harbour Engineering yard',
    });
  });

  it('refuses an unknown CRM number', async () => {
    expect((await test.call('updateCustomer', { body: { crmCustomerId: 'CRM-0', address: 'x' } })).code).toBe(
      '13004',
    );
  });
});
