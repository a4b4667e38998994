import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Envelope, PlatformClient } from '../testing.ts';

let test: PlatformClient;
beforeAll(async () => {
  test = await PlatformClient.start();
});
beforeEach(() => test.control('POST', '/reset'));
afterAll(() => test.close());

const parameters = { enterpriseGlobalId: 'ent-harbour' };
const [FREE_LOCK, CHENS_LOCK] = ['8000001006', '8000001007'];

function borrow(
  borrowedUsbKey: unknown,
  assetIDs: unknown,
  memberGlobalId = 'mem-harbour-anna',
  user?: string,
): Promise<Envelope> {
  return test.call('borrowAssets', {
    parameters: { memberGlobalId },
    body: { borrowedUsbKey, assetIDs },
    ...(user === undefined ? {} : { user }),
  });
}

async function uris(id: string): Promise<string[]> {
  const { data } = await test.call('listAssetProducts', { parameters: { assetId: id } });
  const all = (node: any): any[] => [
    ...(node.productInstanceList ?? []),
    ...(node.children ?? []).flatMap((child: unknown) => all(child)),
  ];
  return all(data).map(({ productUri, limitConcurrent }) => `${productUri} ${limitConcurrent}`);
}

async function item(
  name: 'listMembers' | 'listAssetNums' | 'listLentLocks',
  part: Record<string, unknown>,
): Promise<any> {
  const query = { pageNum: '1', pageSize: '100' };
  const { data } = await test.call(name, { parameters, query });
  const items: any[] = name === 'listMembers' ? (data as { list: unknown[] }).list : (data as unknown[]);
  const [field, value] = Object.entries(part)[0] ?? ['', ''];
  return items.find((one) => one[field] === value);
}

function buy(
  assetNum: string,
  { licenseType = 'normal_recover_usbkey', ...more }: { licenseType?: string; [name: string]: unknown },
  products: readonly object[],
): Promise<Envelope> {
  const bought = { customerId: 'cus-harbour-default', orderType: 'new_buy', licenseType };
  return test.order([{ ...bought, assets: [{ assetNos: [assetNum], ...more, products }] }]);
}

async function assetId(assetNum: string): Promise<string> {
  return (await item('listAssetNums', { assetNum })).assetId;
}

async function assignToAnna(...addAssets: string[]): Promise<void> {
  const body = { deleteAssets: [], addAssets };
  await test.call('changePrivileges', { parameters: { memberGlobalId: 'mem-harbour-anna' }, body });
}

describe('borrowAssets', () => {
  it('moves a node of each product into the lent lock, as every list then shows', async () => {
    expect(await uris('ast-1002')).toEqual([
      'cloud.model 1',
      'cloud.model 5',
      'cloud.render 2',
      'cloud.share 2',
    ]);
    expect(await borrow(FREE_LOCK, ['ast-1002'])).toMatchObject({ status: 200, code: 0, data: null });
    expect(await uris('ast-1002')).toEqual(['cloud.model 5', 'cloud.render 1', 'cloud.share 1']);
    expect(await uris('ast-1006')).toEqual([
      'draft.pro 3',
      'cloud.model 1',
      'cloud.render 1',
      'cloud.share 1',
    ]);
    expect(await item('listMembers', { globalId: 'mem-harbour-anna' })).toMatchObject({
      borrowNum: FREE_LOCK,
      assetNums: ['8000001002'],
    });
    expect(await item('listAssetNums', { assetId: 'ast-1002' })).toMatchObject({ borrowedFlag: true });
    expect(await item('listLentLocks', { assetNum: FREE_LOCK })).toMatchObject({
      borrowedFlag: true,
      cloudAccountGlobalId: 'mem-harbour-anna',
    });
  });

  it('shows moved rights under the lock, with the asset that they came from', async () => {
    const { data } = await test.call('listAssetProducts', { parameters: { assetId: 'ast-1007' } });
    expect((data as any).productInstanceList[1]).toMatchObject({
      id: 'prd-1012-1',
      assetId: 'ast-1007',
      assetNum: CHENS_LOCK,
      licenseType: 'normal_recover_usbkey',
      assetInsId: 'ast-1012',
      limitConcurrent: 1,
    });
  });

  it('moves more into a lock of the same employee, and a repetition changes nothing', async () => {
    await assignToAnna('8000001009');
    expect((await borrow(FREE_LOCK, ['ast-1002', 'ast-1002'])).code).toBe(0);
    expect((await borrow(FREE_LOCK, ['ast-1002', 'ast-1009'])).code).toBe(0);
    expect(await uris('ast-1006')).toHaveLength(5);
    expect((await borrow(FREE_LOCK, ['ast-1002'])).code).toBe(0);
    const { body } = await test.control('GET', '/journal?operation=borrowAssets');
    expect(body.entries.map(({ committed }: any) => committed)).toEqual([true, true, false]);
  });

  it('is allowed to the employee and to an administrator of the enterprise only', async () => {
    for (const user of ['bo@harbour', 'admin@meridian']) {
      expect((await borrow(FREE_LOCK, ['ast-1002'], 'mem-harbour-anna', user)).code).toBe('33003');
    }
    expect((await borrow(FREE_LOCK, ['ast-1002'], 'mem-harbour-anna', 'anna@harbour')).code).toBe(0);
  });

  it.each([
    ['40000', '', ['ast-1002']],
    ['40000', 8000001006, ['ast-1002']],
    ['40000', FREE_LOCK, []],
    ['40000', FREE_LOCK, 'ast-1002'],
    ['40000', FREE_LOCK, undefined],
    ['33003', FREE_LOCK, ['ast-1009']],
    ['33003', FREE_LOCK, ['ast-1002', 'ast-0']],
    ['33003', FREE_LOCK, ['8000001002']],
    ['33008', '8999999999', ['ast-1002']],
    ['33008', '8000001003', ['ast-1002']],
    ['33018', CHENS_LOCK, ['ast-1002']],
  ])('refuses with %s the lock %j for %j, and moves nothing', async (code, lock, assetIDs) => {
    expect(await borrow(lock, assetIDs)).toMatchObject({ status: 299, code });
    expect(await item('listMembers', { globalId: 'mem-harbour-anna' })).toMatchObject({ borrowNum: null });
    expect(await item('listAssetNums', { assetId: 'ast-1002' })).toMatchObject({ borrowedFlag: false });
  });

  it('does not lend what is in another lent lock', async () => {
    expect((await borrow(FREE_LOCK, ['ast-1012'], 'mem-harbour-chen')).code).toBe('33007');
  });

  it('refuses a disabled, faulty, frozen or expired lock as abnormal', async () => {
    const body = { assetNums: [FREE_LOCK], operatorIdentity: 'ops' };
    await test.call('disableLocks', { body });
    expect((await borrow(FREE_LOCK, ['ast-1002'])).code).toBe('33008');
    await test.call('enableLocks', { body });
    expect((await borrow(FREE_LOCK, ['ast-1002'])).code).toBe(0);
    await buy('8700000001', { borrowedUsbKey: true, limitEndDate: 1767600000000 }, [{ productUri: 'a.b' }]);
    expect((await borrow('8700000001', ['ast-1002'])).code).toBe('33008');
  });

  it('counts nodes over all orders, and online use takes one', async () => {
    const item5002 = {
      customerId: 'cus-harbour-default',
      orderType: 'delete_product',
      licenseType: 'cloud_account',
      srcLicenseOrderId: 'lic-5003',
      assets: [{ assetNos: ['8000001002'], products: [{ productUri: 'cloud.model' }] }],
    };
    await test.order([item5002]);
    expect((await borrow(FREE_LOCK, ['ast-1002'])).code).toBe('33006');
    const cloud = { licenseType: 'cloud_account' };
    await buy('8700000002', cloud, [{ productUri: 'a.b', limitConcurrent: 0 }, { productUri: 'c.d' }]);
    await buy('8700000003', cloud, [{ productUri: 'c.d' }]);
    await assignToAnna('8700000002', '8700000003');
    expect((await borrow(FREE_LOCK, [await assetId('8700000002')])).code).toBe('33006');
    expect((await borrow(FREE_LOCK, [await assetId('8700000003')])).code).toBe(0);
    expect(await uris(await assetId('8700000003'))).toEqual([]);
  });

  it('lends no product whose time is over', async () => {
    const products = [{ productUri: 'a.b', limitEndDate: Date.now() + 3_600_000, limitConcurrent: 2 }];
    await buy('8700000004', { licenseType: 'cloud_account' }, products);
    await assignToAnna('8700000004');
    await test.control('PUT', '/clock', { advanceMs: 3_600_000 });
    await test.renew();
    expect((await borrow(FREE_LOCK, [await assetId('8700000004')])).code).toBe('33006');
    await test.control('POST', '/reset');
    await test.renew();
  });

  it('finds no unknown employee, and of two records the one in the enterprise of the acting user', async () => {
    expect((await borrow(FREE_LOCK, ['ast-1002'], 'mem-0')).code).toBe('60026');
    expect((await borrow(FREE_LOCK, ['ast-1002'], 'mem-shared-petra')).code).toBe('33003');
    const elsewhere = await borrow(FREE_LOCK, ['ast-1002'], 'mem-shared-petra', 'admin@longfellow');
    expect(elsewhere.code).toBe('60026');
  });

  it('gives rights back when an order revokes the lock', async () => {
    await borrow(FREE_LOCK, ['ast-1002']);
    await test.order([
      {
        customerId: 'cus-harbour-default',
        orderType: 'delete_asset',
        licenseType: 'normal_recover_usbkey',
        assets: [{ assetNos: [FREE_LOCK] }],
      },
    ]);
    expect(await item('listAssetNums', { assetId: 'ast-1002' })).toMatchObject({ borrowedFlag: false });
    expect(await item('listMembers', { globalId: 'mem-harbour-anna' })).toMatchObject({ borrowNum: null });
    expect(await uris('ast-1002')).toHaveLength(4);
  });

  it('frees the lock when an order revokes its content', async () => {
    await test.order([
      {
        customerId: 'cus-harbour-default',
        orderType: 'delete_asset',
        licenseType: 'cloud_account',
        srcLicenseOrderId: 'lic-1012',
        assets: [{ assetNos: ['8000001012'] }],
      },
    ]);
    expect(await item('listLentLocks', { assetNum: CHENS_LOCK })).toMatchObject({
      borrowedFlag: false,
      cloudAccountGlobalId: null,
    });
  });

  it('fails with 33009 by a fault rule', async () => {
    await test.fault({ operation: 'borrowAssets', times: 1, action: { code: '33009' } });
    expect(await borrow(FREE_LOCK, ['ast-1002'])).toMatchObject({
      code: '33009',
      message: 'borrow request failed',
    });
  });
});
