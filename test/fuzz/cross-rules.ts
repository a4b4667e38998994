/** The rules of requests (config/openapi.json) between several fields, which JSON Schema does not express. By schema. */

type Members = Record<string, unknown>;

interface Broken {
  readonly rule: string;
  /** Below the object. */
  readonly place: string;
  readonly value: Members;
}

interface CrossRules {
  /** Changes a value that fits the schema so that it keeps these rules too. */
  readonly mend: (value: Members) => Members;
  /** Values that break exactly one of them. */
  readonly broken: (value: Members) => Broken[];
}

const CLOUD = new Set<unknown>(['cloud_account', 'cloud_customer', 'cloud_personal']);
const PRODUCT = { productUri: 'draft.pro' };

const at = (place: string, rule: string, value: Members): Broken => ({ rule, place, value });
const listOf = (value: unknown) => (Array.isArray(value) ? (value as Members[]) : []);

function without(value: Members, ...fields: readonly string[]): Members {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));
}

const deletion: CrossRules = {
  mend: (value) =>
    value['allOrders'] === true && !CLOUD.has(value['licenseType'])
      ? without(value, 'srcLicenseOrderId')
      : { ...without(value, 'allOrders'), srcLicenseOrderId: value['srcLicenseOrderId'] ?? 'lic-1009' },
  broken: (value) => {
    const bare = without(value, 'allOrders', 'srcLicenseOrderId');
    return [
      at('', 'neither order nor allOrders', bare),
      at('', 'neither order nor allOrders', { ...bare, allOrders: false }),
      at('', 'order and allOrders', {
        ...bare,
        licenseType: 'softkey',
        allOrders: true,
        srcLicenseOrderId: 'lic-1',
      }),
      at('', 'allOrders in the cloud', { ...bare, licenseType: 'cloud_account', allOrders: true }),
    ];
  },
};

/** An asset of an order has something in it: what is bought, or what is deleted. */
const notEmpty: CrossRules = {
  mend: (value) =>
    listOf(value['products']).length + listOf(value['merchandises']).length > 0
      ? value
      : { ...value, products: [PRODUCT] },
  broken: (value) => [
    at('', 'neither product nor merchandise', without(value, 'products', 'merchandises')),
    at('', 'neither product nor merchandise', { ...value, products: [], merchandises: [] }),
  ],
};

/** No URL can name a record by one or two dots. */
const notDots = (id: unknown) => (id === '.' || id === '..' ? 'SO-dots' : id);

/** With strictMatchWhenDelete: true the platform matches these. */
const TERMS = {
  startsAt: '2026-01-01T00:00:00.000Z',
  endsAt: '2027-01-01T00:00:00.000Z',
  limitConcurrent: 5,
};

export const crossRules: Readonly<Record<string, CrossRules>> = {
  UpdateCustomer: {
    mend: (value) => (Object.keys(value).length > 0 ? value : { address: '2 Quay Street' }),
    broken: () => [at('', 'nothing to change', {})],
  },
  NewBuy: {
    mend: (value) =>
      Object.keys(value['customer'] as Members).length > 0
        ? value
        : { ...value, customer: { customerId: 'cus-harbour-default' } },
    broken: (value) => [at('', 'without a customer', { ...value, customer: {} })],
  },
  BoughtAsset: notEmpty,
  ReducedAsset: notEmpty,
  RevokedProduct: {
    mend: (value) => (value['strictMatchWhenDelete'] === true ? { ...TERMS, ...value } : value),
    broken: (value) =>
      Object.keys(TERMS).map((term) =>
        at('', `strict without ${term}`, without({ ...TERMS, ...value, strictMatchWhenDelete: true }, term)),
      ),
  },
  DeleteAsset: deletion,
  DeleteProduct: deletion,
  PlaceOrder: {
    mend: (value) => ({
      ...value,
      channelCode: notDots(value['channelCode']),
      channelOrderId: notDots(value['channelOrderId']),
      items: listOf(value['items']).map((item, index) =>
        item['sequence'] === undefined ? item : { ...item, sequence: index + 1 },
      ),
    }),
    broken: (value) => {
      const [first = {}] = listOf(value['items']);
      const twice = [
        { ...first, sequence: 2 },
        { ...first, sequence: 2 },
      ];
      return [
        at('', 'a sequence twice', { ...value, items: twice }),
        at('', 'a sequence twice', {
          ...value,
          items: [{ ...first, sequence: 2 }, without(first, 'sequence')],
        }),
        at('/channelOrderId', 'dots', { ...value, channelOrderId: '..' }),
      ];
    },
  },
  AddMembers: {
    mend: (value) => ({
      members: [...new Map(listOf(value['members']).map((member) => [member['account'], member])).values()],
    }),
    broken: (value) => {
      const [first = {}] = listOf(value['members']);
      return [
        at('/members/1/account', 'an account twice', { members: [first, { ...first, name: 'Other' }] }),
      ];
    },
  },
  ChangeAssetNums: {
    mend: (value) => {
      const assign = new Set(value['assign'] as string[] | undefined);
      const withdraw = new Set(value['withdraw'] as string[] | undefined).difference(assign);
      if (assign.size + withdraw.size === 0) return { ...value, assign: ['8000001009'] };
      return { ...value, ...(value['withdraw'] !== undefined && { withdraw: [...withdraw] }) };
    },
    broken: () => [
      at('', 'nothing to change', {}),
      at('', 'nothing to change', { assign: [], withdraw: [] }),
      at('', 'in both', { assign: ['8000001009', '8000001002'], withdraw: ['8000001009'] }),
    ],
  },
  SettleOrder: {
    mend: (value) => {
      if (value['as'] === 'not_placed') return without(value, 'items');
      const items = listOf(value['items']).map((item, index) => ({ ...item, sequence: index + 1 }));
      return items.length > 0 ? { ...value, items } : without(value, 'items');
    },
    broken: (value) => {
      const item = { sequence: 1, licenseOrderId: 'lic-1' };
      return [
        at('', 'items of nothing', { ...value, as: 'not_placed', items: [item] }),
        at('', 'a sequence twice', {
          ...value,
          as: 'succeeded',
          items: [item, { ...item, licenseOrderId: 'lic-2' }],
        }),
      ];
    },
  },
};
