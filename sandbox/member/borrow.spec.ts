import { describe, expect, it } from '@jest/globals';
import { type Envelope, useSandbox } from '../testing.ts';

const test = useSandbox();

const [FREE_LOCK, CHENS_LOCK] = ['8000001006', '8000001007'];
const ANNA = 'mem-harbour-anna';

function borrow(assetIDs: readonly string[], lock = FREE_LOCK, user = 'admin@harbour'): Promise<Envelope> {
  const body = { borrowedUsbKey: lock, assetIDs };
  return test.call('borrowAssets', { parameters: { memberGlobalId: ANNA }, body, user });
}

async function uris(assetId: string): Promise<string[]> {
  const { data } = await test.call('listAssetProducts', { parameters: { assetId } });
  const all = (node: any): any[] => [
    ...(node.productInstanceList ?? []),
    ...(node.children ?? []).flatMap((child: unknown) => all(child)),
  ];
  return all(data).map(({ productUri, limitConcurrent }) => `${productUri} ${limitConcurrent}`);
}

async function lentLock(assetNum: string): Promise<any> {
  return (await test.call('listLentLocks')).data.find((one: any) => one.assetNum === assetNum);
}

const harbour = { customerId: 'cus-harbour-default' };
/** Buys an asset that holds these products; returns its id. */
async function buy(assetNum: string, licenseType: string, part: object): Promise<string> {
  const assets = [{ assetNos: [assetNum], ...part }];
  await test.order([{ ...harbour, orderType: 'new_buy', licenseType, assets }]);
  return (await test.assetNum(assetNum)).assetId;
}

async function assignToAnna(...addAssets: string[]): Promise<void> {
  const body = { deleteAssets: [], addAssets };
  await test.call('changePrivileges', { parameters: { memberGlobalId: ANNA }, body });
}

describe('borrowAssets', () => {
  it('moves a node of each product into the lent lock, as every list then shows', async () => {
    const before = ['cloud.model 1', 'cloud.model 5', 'cloud.render 2', 'cloud.share 2'];
    const lent = ['draft.pro 3', 'cloud.model 1', 'cloud.render 1', 'cloud.share 1'];
    expect(await uris('ast-1002')).toEqual(before);
    expect(await borrow(['ast-1002'])).toMatchObject({ status: 200, code: 0, data: null });
    expect(await uris('ast-1002')).toEqual(['cloud.model 5', 'cloud.render 1', 'cloud.share 1']);
    expect(await uris('ast-1006')).toEqual(lent);
    expect(await test.member(ANNA)).toMatchObject({ borrowNum: FREE_LOCK, assetNums: ['8000001002'] });
    expect(await test.assetNum('8000001002')).toMatchObject({ borrowedFlag: true });
    expect(await lentLock(FREE_LOCK)).toMatchObject({ borrowedFlag: true, cloudAccountGlobalId: ANNA });
  });

  it('shows moved rights under the lock, with the asset that they came from', async () => {
    const { data } = await test.call('listAssetProducts', { parameters: { assetId: 'ast-1007' } });
    expect(data.productInstanceList[1]).toMatchObject({
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
    for (const ids of [['ast-1002', 'ast-1002'], ['ast-1002', 'ast-1009'], ['ast-1002']])
      expect((await borrow(ids)).code).toBe(0);
    expect(await uris('ast-1006')).toHaveLength(5);
    const entries = await test.journal('?operation=borrowAssets');
    expect(entries.map(({ committed }) => committed)).toEqual([true, true, false]);
  });

  it.each([
    ['bo@harbour', '33003'],
    ['admin@meridian', '33003'],
    ['anna@harbour', 0],
  ])('for Anna answers %s with %j: the employee and an administrator may', async (user, code) => {
    expect((await borrow(['ast-1002'], FREE_LOCK, user)).code).toBe(code);
  });

  it('refuses a disabled and an expired lock as abnormal', async () => {
    const body = { assetNums: [FREE_LOCK], operatorIdentity: 'ops' };
    await test.call('disableLocks', { body });
    expect((await borrow(['ast-1002'])).code).toBe('33008');
    await test.call('enableLocks', { body });
    expect((await borrow(['ast-1002'])).code).toBe(0);
    const over = { borrowedUsbKey: true, limitEndDate: 1767600000000, products: [{ productUri: 'a.b' }] };
    await buy('8700000001', 'normal_recover_usbkey', over);
    expect((await borrow(['ast-1002'], '8700000001')).code).toBe('33008');
  });

  it('counts nodes over all orders, and online use takes one', async () => {
    const model = { assetNos: ['8000001002'], products: [{ productUri: 'cloud.model' }] };
    const removal = { orderType: 'delete_product', licenseType: 'cloud_account', assets: [model] };
    await test.order([{ ...harbour, ...removal, srcLicenseOrderId: 'lic-5003' }]);
    expect((await borrow(['ast-1002'])).code).toBe('33006');
    const none = { productUri: 'a.b', limitConcurrent: 0 };
    const second = await buy('8700000002', 'cloud_account', { products: [none, { productUri: 'c.d' }] });
    const third = await buy('8700000003', 'cloud_account', { products: [{ productUri: 'c.d' }] });
    await assignToAnna('8700000002', '8700000003');
    expect([(await borrow([second])).code, (await borrow([third])).code]).toEqual(['33006', 0]);
    expect(await uris(third)).toEqual([]);
  });

  it('lends no product whose time is over', async () => {
    const products = [{ productUri: 'a.b', limitEndDate: Date.now() + 3_600_000, limitConcurrent: 2 }];
    const id = await buy('8700000004', 'cloud_account', { products });
    await assignToAnna('8700000004');
    await test.advance(3_600_000);
    expect((await borrow([id])).code).toBe('33006');
  });

  it('of two records of an employee looks at the one in the enterprise of the acting user', async () => {
    const body = { borrowedUsbKey: FREE_LOCK, assetIDs: ['ast-1002'] };
    const parameters = { memberGlobalId: 'mem-shared-petra' };
    const elsewhere = await test.call('borrowAssets', { parameters, body, user: 'admin@longfellow' });
    expect(elsewhere.code).toBe('60026');
  });

  it('ends when an order revokes the lock, and then the rights are back', async () => {
    await borrow(['ast-1002']);
    const revoking = { ...harbour, orderType: 'delete_asset', licenseType: 'normal_recover_usbkey' };
    await test.order([{ ...revoking, assets: [{ assetNos: [FREE_LOCK] }] }]);
    expect(await test.assetNum('8000001002')).toMatchObject({ borrowedFlag: false });
    expect(await test.member(ANNA)).toMatchObject({ borrowNum: null });
    expect(await uris('ast-1002')).toHaveLength(4);
  });

  it('ends when an order revokes the content of the lock', async () => {
    const revoking = { ...harbour, orderType: 'delete_asset', licenseType: 'cloud_account' };
    const assets = [{ assetNos: ['8000001012'] }];
    await test.order([{ ...revoking, srcLicenseOrderId: 'lic-1012', assets }]);
    expect(await lentLock(CHENS_LOCK)).toMatchObject({ borrowedFlag: false, cloudAccountGlobalId: null });
  });
});
