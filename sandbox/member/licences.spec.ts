import { describe, expect, it } from '@jest/globals';
import { type Envelope, secret, useSandbox } from '../testing.ts';

const visitor = { username: 'visitor', password: secret() };

const test = useSandbox({ users: [visitor] });

const [FREE_LOCK, CHENS_LOCK] = ['8000001006', '8000001007'];
const [ANNA, CHEN, DORA] = ['mem-harbour-anna', 'mem-harbour-chen', 'mem-harbour-dora'];
const harbour = { customerId: 'cus-harbour-default' };

async function products(assetId: string): Promise<any> {
  return (await test.call('listAssetProducts', { parameters: { assetId } })).data;
}

/** Returns each product of an asset with its nodes, including the products in its packages. */
async function uris(assetId: string): Promise<string[]> {
  const all = (node: any): any[] => [
    ...(node.productInstanceList ?? []),
    ...(node.children ?? []).flatMap((child: unknown) => all(child)),
  ];
  return all(await products(assetId)).map(
    ({ productUri, limitConcurrent }) => `${productUri} ${limitConcurrent}`,
  );
}

async function lentLock(assetNum: string): Promise<any> {
  return (await test.call('listLentLocks')).data.find((one: any) => one.assetNum === assetNum);
}

/** Buys an asset that holds these products, and returns its id. */
async function buy(assetNum: string, licenseType: string, part: object): Promise<string> {
  const assets = [{ assetNos: [assetNum], ...part }];
  await test.order([{ ...harbour, orderType: 'new_buy', licenseType, assets }]);
  return (await test.assetNum(assetNum)).assetId;
}

function revoke(licenseType: string, assetNum: string, more: object = {}): Promise<Envelope> {
  const item = { ...harbour, orderType: 'delete_asset', licenseType, assets: [{ assetNos: [assetNum] }] };
  return test.order([{ ...item, ...more }]);
}

function change(
  memberGlobalId: string,
  addAssets: readonly string[],
  deleteAssets: readonly string[] = [],
): Promise<Envelope> {
  const body = { deleteAssets, addAssets };
  return test.call('changePrivileges', { parameters: { memberGlobalId }, body });
}

async function assetNums(memberGlobalId: string): Promise<string[]> {
  return (await test.member(memberGlobalId)).assetNums;
}

function borrow(assetIDs: readonly string[], lock = FREE_LOCK, user = 'admin@harbour'): Promise<Envelope> {
  const body = { borrowedUsbKey: lock, assetIDs };
  return test.call('borrowAssets', { parameters: { memberGlobalId: ANNA }, body, user });
}

describe('the lists of assets', () => {
  it.each(['tidewater', 'visitor'])('are refused to %s, who is bound to no customer', async (user) => {
    await test.memberHeaders('visitor', visitor.password);
    const calls = [
      test.call('listAssetNums', { user }),
      test.call('listLentLocks', { user }),
      test.call('listAssetProducts', { parameters: { assetId: 'ast-1001' }, user }),
    ];
    for (const { status, code } of await Promise.all(calls)) expect([status, code]).toEqual([299, '60017']);
    const query = { pageNum: '1', pageSize: '1' };
    expect((await test.call('listMembers', { query, user })).code).toBe(0);
  });
});

it('a user who sees one enterprise only is refused the assets of another, and finds no employees there', async () => {
  await test.control('PUT', '/profile', { usersSee: 'own' });
  const parameters = {
    enterpriseGlobalId: 'ent-meridian',
    memberGlobalId: 'mem-meridian-noor',
    assetId: 'ast-2001',
  };
  const member = { userName: 'mia', password: secret(), name: 'Mia' };
  for (const [operation, code, body] of [
    ['addMembers', '40006', { userList: [member] }],
    ['editMember', '60002', { userName: 'noor', name: 'Noor' }],
    ['resetPassword', '60002', { password: secret() }],
    ['deleteMember', '60002', undefined],
    ['listAssetNums', '60017', undefined],
    ['listAssetProducts', '60017', undefined],
    ['listLentLocks', '60017', undefined],
    ['changePrivileges', '60026', { addAssets: ['8000002001'], deleteAssets: [] }],
    ['borrowAssets', '60026', { borrowedUsbKey: FREE_LOCK, assetIDs: ['ast-2002'] }],
  ] as const)
    expect([operation, (await test.call(operation, { parameters, body })).code]).toEqual([operation, code]);
  expect(await test.members({}, 'ent-meridian')).toEqual([]);
  expect(await test.members()).not.toEqual([]);
});

it.each(['admin@harbour', 'admin@meridian'])(
  'a user who sees one enterprise only finds a person there whom another one employs too: %s',
  async (user) => {
    await test.control('PUT', '/profile', { usersSee: 'own' });
    const parameters = { memberGlobalId: 'mem-shared-petra' };
    const body = { addAssets: [], deleteAssets: [] };
    const { code } = await test.call('changePrivileges', { parameters, body, user });
    // Both records have this id, so the operation cannot tell which one is meant.
    expect(code).toBe('60023');
  },
);

it('the ids of an employee are numbers where the profile says so, if they are all digits', async () => {
  const globalId = '9007199254740993';
  const { employees } = await test.state();
  const { id } = employees.find((one: any) => one.globalId === DORA);
  await test.control('PATCH', `/state/employees/${id}`, { globalId });
  await change(globalId, ['8000001009']);
  await test.control('PUT', '/profile', { otherIds: 'number' });
  for (const [operation, field] of [
    ['listMembers', 'globalId'],
    ['listAssetNums', 'cloudAccountGlobalId'],
    ['listAssets', 'assignMemberId'],
  ] as const) {
    const { text } = await test.call(operation, { query: { pageNum: '1', pageSize: '100' } });
    expect(text).toContain(`"${field}":${globalId},`);
  }
});

it('the record ids of an employee stay texts where the profile says so, although other ids are numbers', async () => {
  await test.control('PUT', '/profile', { memberIds: 'text', otherIds: 'number' });
  const { text } = await test.call('listMembers', { query: { pageNum: '1', pageSize: '1' } });
  expect(text).toContain('"id":"3001","userId":"4001",');
});

describe('listAssetProducts', () => {
  it('shows a name of everything that was bought, also where the order named none', async () => {
    const merchandises = [{ merchandiseNum: 'M1', licenseOrderProductList: [{ appKey: 'k' }] }];
    const part = { products: [{ productUri: 'a.b' }, { productUri: 'c.d', productName: 'C' }], merchandises };
    const { productInstanceList, children } = await products(await buy('8700000005', 'softkey', part));
    expect(productInstanceList.map(({ productName }: any) => productName)).toEqual(['Product a.b', 'C']);
    expect(children).toMatchObject([
      { merchandiseName: 'Package M1', productInstanceList: [{ productName: 'Product k' }] },
    ]);
  });

  it('shows the features of an order as extensions, and a package without products of its own', async () => {
    const productFeatures = [{ featureCode: 'f', featureValue: '1' }];
    const inner = { merchandiseNum: 'M2', licenseOrderProductList: [{ appKey: 'k' }] };
    const assetId = await buy('8700000003', 'normal_recover_usbkey', {
      products: [{ productUri: 'a.b', productFeatures }],
      merchandises: [{ merchandiseNum: 'M1', children: [inner] }],
    });
    expect(await products(assetId)).toMatchObject({
      productInstanceList: [
        { limitType: 'feature', prodDefExtend: true, productExtendInstanceList: productFeatures },
      ],
      children: [{ merchandiseNum: 'M1', productInstanceList: null, children: [{ merchandiseNum: 'M2' }] }],
    });
  });
});

describe('changePrivileges', () => {
  it('refuses to assign what is frozen or has expired, and names the reason', async () => {
    const refusedWith = async (changes: object): Promise<unknown> => {
      await test.control('PATCH', '/state/assets/ast-1009', changes);
      const { code, text } = await change(DORA, ['8000001001', '8000001009']);
      return [code, JSON.parse(text).cause];
    };
    expect(await refusedWith({ freezing: true })).toEqual(['60024', 'asset 8000001009 is frozen']);
    const over = { freezing: false, limitEndTime: Date.now() - 1 };
    expect(await refusedWith(over)).toEqual(['60024', 'asset 8000001009 has expired']);
    expect(await assetNums(DORA)).toEqual([]);
    expect(await refusedWith({ limitEndTime: Date.now() + 3_600_000 })).toEqual([0, undefined]);
    expect(await assetNums(DORA)).toEqual(['8000001001', '8000001009']);
    await revoke('softkey', '8000001001');
    expect(await assetNums(DORA)).toEqual(['8000001009']);
    expect((await change(DORA, [])).code).toBe(0);
  });

  it('brings lent rights back when it withdraws their asset, and frees the lock', async () => {
    expect((await change(CHEN, [], ['8000001012'])).code).toBe(0);
    expect((await change(DORA, ['8000001012'])).code).toBe(0);
    expect([await assetNums(DORA), await assetNums(CHEN)]).toEqual([['8000001012'], []]);
    const locks = (await test.call('listLentLocks')).data;
    expect(locks).toMatchObject([{ borrowedFlag: false }, { borrowedFlag: false }]);
  });

  it('finds an employee of two enterprises once one of them is left, and a deleted one no more', async () => {
    const petra = { enterpriseGlobalId: 'ent-meridian', memberGlobalId: 'mem-shared-petra' };
    await test.call('deleteMember', { parameters: petra });
    expect((await change('mem-shared-petra', ['8000001009'])).code).toBe(0);
    await test.call('deleteMember', { parameters: { ...petra, enterpriseGlobalId: 'ent-harbour' } });
    expect((await change('mem-shared-petra', ['8000001001'])).code).toBe('60026');
  });
});

describe('borrowAssets', () => {
  it('moves a node of each product into the lent lock, until an order revokes the lock', async () => {
    const before = ['cloud.model 1', 'cloud.model 5', 'cloud.render 2', 'cloud.share 2'];
    const lent = ['draft.pro 3', 'cloud.model 1', 'cloud.render 1', 'cloud.share 1'];
    expect(await uris('ast-1002')).toEqual(before);
    expect(await borrow(['ast-1002'])).toMatchObject({ status: 200, code: 0, data: null });
    expect(await uris('ast-1002')).toEqual(['cloud.model 5', 'cloud.render 1', 'cloud.share 1']);
    expect(await uris('ast-1006')).toEqual(lent);
    expect(await test.member(ANNA)).toMatchObject({ borrowNum: FREE_LOCK, assetNums: ['8000001002'] });
    expect(await lentLock(FREE_LOCK)).toMatchObject({ borrowedFlag: true, cloudAccountGlobalId: ANNA });
    await revoke('normal_recover_usbkey', FREE_LOCK);
    expect(await test.assetNum('8000001002')).toMatchObject({ borrowedFlag: false });
    expect(await test.member(ANNA)).toMatchObject({ borrowNum: null });
    expect((await uris('ast-1002')).toSorted()).toEqual(before);
  });

  it('shows moved rights under the lock, with the asset that they came from, until an order revokes them', async () => {
    expect((await products('ast-1007')).productInstanceList[1]).toMatchObject({
      id: 'prd-1012-1',
      assetId: 'ast-1007',
      assetNum: CHENS_LOCK,
      licenseType: 'normal_recover_usbkey',
      assetInsId: 'ast-1012',
      limitConcurrent: 1,
    });
    await revoke('cloud_account', '8000001012', { srcLicenseOrderId: 'lic-1012' });
    expect(await lentLock(CHENS_LOCK)).toMatchObject({ borrowedFlag: false, cloudAccountGlobalId: null });
  });

  it('moves more into a lock of the same employee, and a repetition changes nothing', async () => {
    await change(ANNA, ['8000001009']);
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
    await test.call('disableLocks', { body: { assetNums: [FREE_LOCK], operatorIdentity: 'ops' } });
    expect((await borrow(['ast-1002'])).code).toBe('33008');
    const over = { borrowedUsbKey: true, limitEndDate: 1767600000000, products: [{ productUri: 'a.b' }] };
    await buy('8700000001', 'normal_recover_usbkey', over);
    expect((await borrow(['ast-1002'], '8700000001')).code).toBe('33008');
  });

  it('counts the nodes of products whose time is not over, of all orders, and online use takes one', async () => {
    const model = { assetNos: ['8000001002'], products: [{ productUri: 'cloud.model' }] };
    const removal = { orderType: 'delete_product', licenseType: 'cloud_account', assets: [model] };
    await test.order([{ ...harbour, ...removal, srcLicenseOrderId: 'lic-5003' }]);
    expect((await borrow(['ast-1002'])).code).toBe('33006');
    const over = { productUri: 'a.b', limitEndDate: Date.now() - 1, limitConcurrent: 2 };
    for (const [place, product, code] of [
      [2, { productUri: 'a.b', limitConcurrent: 0 }, '33006'],
      [3, over, '33006'],
      [4, { productUri: 'c.d' }, 0],
    ] as const) {
      const id = await buy(`870000000${place}`, 'cloud_account', { products: [product] });
      await change(ANNA, [`870000000${place}`]);
      expect([product, (await borrow([id])).code]).toEqual([product, code]);
    }
  });

  it('of two records of an employee looks at the one in the enterprise of the acting user', async () => {
    const body = { borrowedUsbKey: FREE_LOCK, assetIDs: ['ast-1002'] };
    const parameters = { memberGlobalId: 'mem-shared-petra' };
    const elsewhere = await test.call('borrowAssets', { parameters, body, user: 'admin@longfellow' });
    expect(elsewhere.code).toBe('60026');
  });
});
