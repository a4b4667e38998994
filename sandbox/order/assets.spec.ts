import { describe, expect, it } from '@jest/globals';
import { useSandbox } from '../testing.ts';

const test = useSandbox();

function locks(name: 'disableLocks' | 'enableLocks', assetNums: unknown, operatorIdentity = 'ops') {
  return test.call(name, { body: { assetNums, operatorIdentity } });
}

describe('locks', () => {
  it('show each number with its own status, in the order of the request', async () => {
    const { status, data } = await locks('disableLocks', [
      '8000001004',
      '8000001003',
      '8999999999',
      '8000001008',
      '8000001005',
    ]);
    expect(status).toBe(200);
    expect(data).toEqual([
      { assetNum: '8000001004', status: 4 },
      { assetNum: '8000001003', status: 1 },
      { assetNum: '8999999999', status: 2 },
      { assetNum: '8000001008', status: 3 },
      { assetNum: '8000001005', status: 1 },
    ]);
  });

  it('stay locked until they are enabled; a repetition succeeds', async () => {
    const locked = async (): Promise<unknown> => (await test.asset('ast-1003')).locked;
    await locks('disableLocks', ['8000001003']);
    expect((await locks('disableLocks', ['8000001003'])).data).toEqual([
      { assetNum: '8000001003', status: 1 },
    ]);
    expect(await locked()).toBe(true);
    await locks('enableLocks', ['8000001003']);
    expect(await locked()).toBe(false);
  });
});

describe('listAssets', () => {
  it('shows every live asset of all customers of the enterprise', async () => {
    const assets = await test.assets();
    expect(assets.map(({ assetNum }) => assetNum)).toHaveLength(12);
    expect(await test.asset('ast-1005')).toEqual({
      id: 'ast-1005',
      licenseType: 'normal_unrecover_lan_usbkey',
      assetNum: '8000001005',
      grantable: true,
      customerId: 'cus-harbour-default',
      keyShellNumber: '8000001005',
      keyChipType: 2,
      locked: false,
      freezing: false,
      createTime: 1767600000000,
      updateTime: 1767600000000,
      limitStartTime: 1767600000000,
      limitEndTime: 4102358400000,
      assignStatus: {
        id: 'ast-1005',
        assignStatus: 'assigned',
        assignMemberId: 'mem-harbour-bo',
        createTime: '1767600000000',
        updateTime: null,
      },
      assetLimits: null,
      assetExtends: [],
      borrowedUsbKey: false,
    });
  });

  it('keeps the assets with the extension that the request names', async () => {
    const query = { extendCode: 'site' };
    const { data } = await test.call('listAssets', { query });
    expect(data.map(({ id }: any) => id)).toEqual(['ast-1001', 'ast-1009']);
  });
});

describe('obtainAssetNums', () => {
  it('counts up and never gives a number twice', async () => {
    const first = await test.call('obtainAssetNums', { body: { size: 2 } });
    const second = await test.call('obtainAssetNums', { body: { size: 1 } });
    expect(first.data).toEqual(['8500000001', '8500000002']);
    expect(second.data).toEqual(['8500000003']);
  });
});
