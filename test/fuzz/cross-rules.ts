type Members = Record<string, unknown>;

const CLOUD = new Set<unknown>(['cloud_account', 'cloud_customer', 'cloud_personal']);
/** The platform matches these with strictMatchWhenDelete: true. */
const TERMS = {
  startsAt: '2026-01-01T00:00:00.000Z',
  endsAt: '2027-01-01T00:00:00.000Z',
  limitConcurrent: 5,
};

const listOf = (value: unknown) => (Array.isArray(value) ? (value as Members[]) : []);

function without(value: Members, ...fields: readonly string[]): Members {
  return Object.fromEntries(Object.entries(value).filter(([field]) => !fields.includes(field)));
}

const isAll = (types: unknown) => Array.isArray(types) && types.includes('*');

const DAY_MS = 24 * 3_600_000;
const inDays = (days: number) => new Date(Date.now() + days * DAY_MS).toISOString();

/** No URL can name a record by one or two dots. */
const notDots = (id: unknown) => (id === '.' || id === '..' ? 'SO-dots' : id);

const counted = (items: readonly Members[]) => items.map((item, index) => ({ ...item, sequence: index + 1 }));

function deletion(value: Members): Members {
  return value['allOrders'] === true && !CLOUD.has(value['licenseType'])
    ? without(value, 'srcLicenseOrderId')
    : { ...without(value, 'allOrders'), srcLicenseOrderId: value['srcLicenseOrderId'] ?? 'lic-1009' };
}

/** A platform that is not known to delete packages gets products only. */
function productsOnly(asset: Members): Members {
  return notEmpty(without(asset, 'merchandises'));
}

/** A number that has masked digits, as platforms show them, is refused. */
function unmasked(value: Members): Members {
  const { passwordMobile } = value;
  const isMasked =
    typeof passwordMobile === 'string' && /[*＊•●∗]|x{2,}|#{2,}|\.{2,}|-{2,}/i.test(passwordMobile);
  return isMasked ? { ...value, passwordMobile: '13800000001' } : value;
}

/** What ends, or whose trial ends, has begun before. */
function inOrder(value: Members): Members {
  const from = Date.parse(String(value['startsAt']));
  const ends = [value['endsAt'], value['trialEndsAt']].map((time) => Date.parse(String(time)));
  return ends.some((end) => from >= end) ? without(value, 'startsAt') : value;
}

/** An asset of an order has something in it: what is bought, or what is deleted. */
function notEmpty(value: Members): Members {
  const isEmpty = listOf(value['products']).length + listOf(value['merchandises']).length === 0;
  return isEmpty ? { ...value, products: [{ productUri: 'draft.pro' }] } : value;
}

/**
 * Requests have rules between several fields (config/openapi.json), which JSON Schema does not express. By schema: changes a value that
 * fits the schema so that it keeps these rules too.
 */
export const mends: Readonly<Record<string, (value: Members) => Members>> = {
  // Which hosts may be called is the operator's list.
  UpdateWebhook: (value) => ({ ...without(value, 'url'), ...(isAll(value['types']) && { types: ['*'] }) }),
  CreateWebhook: (value) => ({
    ...value,
    url: 'https://receiver.example/hook',
    ...(isAll(value['types']) && { types: ['*'] }),
  }),
  // The maintenance begins long after the test, so nothing is stopped.
  SetMaintenance: (value) => ({ ...value, from: inDays(5), until: inDays(6) }),
  UpdateCustomer: (value) => (Object.keys(value).length > 0 ? value : { address: '2 Quay Street' }),
  NewBuy: (value) =>
    Object.keys(value['customer'] as Members).length > 0
      ? value
      : { ...value, customer: { customerId: 'cus-harbour-default' } },
  BoughtAsset: (value) => inOrder(notEmpty(value)),
  RevokedAsset: inOrder,
  ReducedAsset: (value) => inOrder(notEmpty(value)),
  OrderProduct: inOrder,
  RevokedProduct: (value) =>
    value['strictMatchWhenDelete'] === true ? { ...without(value, 'trialEndsAt'), ...TERMS } : inOrder(value),
  DeleteAsset: deletion,
  DeleteProduct: (value) => ({ ...deletion(value), assets: listOf(value['assets']).map(productsOnly) }),
  PlaceOrder: (value) => ({
    ...value,
    channelCode: notDots(value['channelCode']),
    channelOrderId: notDots(value['channelOrderId']),
    // Within 400 days.
    ...(value['notBefore'] !== undefined && { notBefore: inDays(5) }),
    items: listOf(value['items']).map((item, index) =>
      item['sequence'] === undefined ? item : { ...item, sequence: index + 1 },
    ),
  }),
  NewMember: unmasked,
  UpdateMember: unmasked,
  AddMembers: (value) => ({
    members: [...new Map(listOf(value['members']).map((member) => [member['account'], member])).values()],
  }),
  ChangeAssetNums: (value) => {
    const assign = new Set(value['assign'] as string[] | undefined);
    const withdraw = new Set(value['withdraw'] as string[] | undefined).difference(assign);
    if (assign.size + withdraw.size === 0) return { ...value, assign: ['8000001009'] };
    return { ...value, ...(value['withdraw'] !== undefined && { withdraw: [...withdraw] }) };
  },
  SettleOrder: (value) => {
    const items = counted(listOf(value['items']));
    return value['as'] === 'not_placed' || items.length === 0 ? without(value, 'items') : { ...value, items };
  },
};
