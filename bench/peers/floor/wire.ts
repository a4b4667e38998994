/** Maps an asset and an order between the public words and the platform's, and checks an order. */

const textIn = (value: unknown) => (typeof value === 'string' ? value : null);
const flagIn = (value: unknown) => (typeof value === 'boolean' ? value : null);
function idIn(value: unknown): string | null {
  if (typeof value === 'string') return value === '' ? null : value;
  return Number.isInteger(value) ? String(value) : null;
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 4_096;
const days = new Map<number, string>();
const two = Array.from({ length: 60 }, (_, number) => String(number).padStart(2, '0'));

function timeIn(value: unknown): string | null {
  const ms = Number(value ?? 0);
  if (!Number.isSafeInteger(ms) || ms === 0) return null;
  const day = Math.floor(ms / DAY_MS);
  let date = days.get(day);
  if (date === undefined) {
    if (days.size >= MAX_DAYS) days.clear();
    days.set(day, (date = new Date(day * DAY_MS).toISOString().slice(0, 11)));
  }
  const rest = ms - day * DAY_MS;
  const minutes = Math.floor(rest / 60_000);
  const seconds = Math.floor(rest / 1_000) % 60;
  const thousandths = String(rest % 1_000).padStart(3, '0');
  return `${date}${two[Math.floor(minutes / 60)]}:${two[minutes % 60]}:${two[seconds]}.${thousandths}Z`;
}

type Wire = Readonly<Record<string, unknown>>;

export function toAssets(data: unknown): object[] {
  if (!Array.isArray(data)) throw new TypeError('no list of assets');
  return (data as Wire[]).map(toAsset);
}

function toAsset(wire: Wire): object {
  const assetId = idIn(wire['id']);
  if (assetId === null) throw new TypeError('an asset without an id');
  const generation = wire['keyChipType'];
  const assignment = wire['assignStatus'] as Wire | null;
  return {
    assetId,
    licenseType: textIn(wire['licenseType']),
    assetNum: idIn(wire['assetNum']),
    grantable: flagIn(wire['grantable']),
    customerId: idIn(wire['customerId']),
    keyShellNumber: idIn(wire['keyShellNumber']),
    keyGeneration: generation === 1 ? 4 : generation === 2 ? 5 : null,
    locked: flagIn(wire['locked']),
    frozen: flagIn(wire['freezing']),
    createdAt: timeIn(wire['createTime']),
    updatedAt: timeIn(wire['updateTime']),
    startsAt: timeIn(wire['limitStartTime']),
    endsAt: timeIn(wire['limitEndTime']),
    assignment: assignment && {
      status: textIn(assignment['assignStatus']),
      memberGlobalId: idIn(assignment['assignMemberId']),
      createdAt: timeIn(assignment['createTime']),
      updatedAt: timeIn(assignment['updateTime']),
    },
    assetLimits: wire['assetLimits'] ?? null,
    extensions: ((wire['assetExtends'] ?? []) as Wire[]).map((extension) => ({
      code: textIn(extension['extendCode']),
      value: textIn(extension['extendValue']),
    })),
    lentLock: flagIn(wire['borrowedUsbKey']),
  };
}

/** A product of the bench's orders, in the public words. */
interface Product {
  readonly crmProductId?: string;
  readonly productUri?: string;
  readonly productName?: string;
  readonly limitConcurrent?: number;
  readonly features?: readonly Feature[];
}
interface Feature {
  readonly code?: string;
  readonly name?: string;
  readonly value?: string;
  readonly valueType?: string;
  readonly trial?: boolean;
}
interface Item {
  readonly orderType: 'new_buy';
  readonly sequence: number;
  readonly licenseType: string;
  readonly customerType?: string;
  readonly customer: Partial<
    Record<'customerId' | 'customerName' | 'enterpriseGlobalId' | 'address', string>
  >;
  readonly admin?: Partial<Record<'name' | 'account' | 'email', string>>;
  readonly assets: readonly {
    readonly extensions?: readonly { readonly code: string; readonly value: string }[];
    readonly startsAt?: string;
    readonly endsAt?: string;
    readonly products?: readonly Product[];
  }[];
}
export interface Order {
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly syncMode: 'sync';
  readonly items: readonly Item[];
}

/** Returns the pointer of the first fault, or '' for the value itself. Undefined if there is none. */
type Check = (value: unknown) => string | undefined;
const when =
  (isRight: (value: unknown) => boolean): Check =>
  (value) =>
    isRight(value) ? undefined : '';

const SIMPLE = /^[!-~](?:[ -~]*[!-~])?$/;
const UNFIT = /\p{Cc}|^\s|\s$/u;
const TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,9})?(?:Z|[+-]\d\d:\d\d)$/;
const isText = (value: unknown) =>
  typeof value === 'string' && (SIMPLE.test(value) || (value !== '' && !UNFIT.test(value)));
const text = when(isText);
const id = when((value) => isText(value) && (value as string).length <= 128);
const flag = when((value) => typeof value === 'boolean');
const int32 = when((value) => Number.isInteger(value) && Math.abs(value as number) < 2 ** 31);
const time = when(
  (value) => typeof value === 'string' && TIME.test(value) && !Number.isNaN(Date.parse(value)),
);
const word = (...words: string[]) => when((value) => words.includes(value as string));

function list(check: Check, max: number): Check {
  return (value) => {
    if (!Array.isArray(value) || value.length === 0 || value.length > max) return '';
    for (const [at, item] of value.entries()) {
      const fault = check(item);
      if (fault !== undefined) return `/${at}${fault}`;
    }
    return undefined;
  };
}

function object(needed: Record<string, Check>, optional: Record<string, Check> = {}): Check {
  const checks = new Map(Object.entries({ ...needed, ...optional }));
  const names = Object.keys(needed);
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return '';
    for (const name of names) if (!Object.hasOwn(value, name)) return `/${name}`;
    for (const name in value) {
      const check = checks.get(name);
      const fault = check ? check((value as Wire)[name]) : '';
      if (fault !== undefined) return `/${name}${fault}`;
    }
    return undefined;
  };
}

const feature = object({}, { code: id, name: text, value: text, valueType: text, trial: flag });
const product = object(
  {},
  {
    ...{ crmProductId: id, productUri: id, productName: text, limitConcurrent: int32 },
    features: list(feature, 1_000),
  },
);
const extension = object({ code: id, value: text });
const times = { startsAt: time, endsAt: time };
const asset = object({}, { extensions: list(extension, 100), ...times, products: list(product, 1_000) });
const customer = object({}, { customerId: id, customerName: text, enterpriseGlobalId: id, address: text });
const item = object(
  {
    ...{ orderType: word('new_buy'), sequence: int32, customer },
    ...{ licenseType: word('cloud_account', 'softkey'), assets: list(asset, 1_000) },
  },
  {
    customerType: word('company', 'personal'),
    admin: object({}, { name: text, account: text, email: text }),
  },
);
const shape = object({
  channelCode: id,
  channelOrderId: id,
  syncMode: word('sync'),
  items: list(item, 1_000),
});

/** Returns the pointer of the order's fault. Undefined if it has none. */
export function faultOf(order: unknown): string | undefined {
  const fault = shape(order);
  if (fault !== undefined) return fault;
  const { items } = order as Order;
  if (new Set(items.map(({ sequence }) => sequence)).size < items.length) return '/items';
  for (const [at, { assets }] of items.entries())
    for (const [place, { startsAt, endsAt }] of assets.entries())
      if (startsAt !== undefined && endsAt !== undefined && Date.parse(endsAt) <= Date.parse(startsAt))
        return `/items/${at}/assets/${place}/endsAt`;
  return undefined;
}

const longIn = (given: string | undefined) => (given === undefined ? undefined : Date.parse(given));
const bitIn = (given: boolean | undefined) => (given === undefined ? undefined : Number(given));

export function toBatch({ channelCode, channelOrderId, syncMode, items }: Order): object {
  const orderList = items.map(({ customer: buyer, admin, assets, ...same }) => ({
    ...buyer,
    adminAccount: admin?.account,
    adminEmail: admin?.email,
    adminName: admin?.name,
    assets: assets.map(({ extensions, startsAt, endsAt, products }) => ({
      assetExtendList: extensions?.map(({ code, value }) => ({ extendCode: code, extendValue: value })),
      limitEndDate: longIn(endsAt),
      limitStartDate: longIn(startsAt),
      products: products?.map(({ features, ...others }) => ({
        ...others,
        productFeatures: features?.map(({ code, name, value, valueType, trial }) => ({
          featureCode: code,
          featureName: name,
          featureValue: value,
          featureValueType: valueType,
          trial: bitIn(trial),
        })),
      })),
    })),
    ...same,
  }));
  return { channelCode, channelOrderId, orderList, syncMode };
}

/** Returns the placed orders: each item of the order once, of the customer that it names. */
export function toPlaced(data: unknown, { items }: Order): object[] {
  const placed = new Map((data as Wire[]).map((each) => [each['sequence'], each]));
  if (placed.size !== items.length || (data as Wire[]).length !== items.length)
    throw new TypeError('not one result for each item');
  return items.map(({ sequence, orderType, customer: { enterpriseGlobalId = null, customerId } }) => {
    const result = placed.get(sequence);
    const licenseOrderId = idIn(result?.['licenseOrderId']);
    const ofCustomer = idIn(result?.['customerId']);
    if (licenseOrderId === null || (customerId !== undefined && ofCustomer !== customerId))
      throw new TypeError('the result of another order');
    return { sequence, orderType, enterpriseGlobalId, licenseOrderId, customerId: ofCustomer };
  });
}
