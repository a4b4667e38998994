import type { UpstreamOperation } from '../operations.ts';

/** The location of a wire field in the gateway's requests, below its object. Fields that are not listed have the same name. */
const OURS: ReadonlyMap<string, string> = new Map([
  ['orderList', 'items'],
  ...['customerId', 'crmCustomerId', 'customerName', 'channelCustomerId', 'address'].map(ofCustomer),
  ...['enterpriseGlobalId', 'passwordMobile'].map(ofCustomer),
  ['adminName', 'admin/name'],
  ['adminAccount', 'admin/account'],
  ['adminEmail', 'admin/email'],
  ['adminCellNumber', 'admin/cellNumber'],
  ['branchCode', 'branch/code'],
  ['branchName', 'branch/name'],
  ['assetNos', 'assetNums'],
  ['assetExtendList', 'extensions'],
  ['extendCode', 'code'],
  ['extendValue', 'value'],
  ['limitStartDate', 'startsAt'],
  ['limitEndDate', 'endsAt'],
  ['trialEndDate', 'trialEndsAt'],
  ['borrowedUsbKey', 'lentLock'],
  ['transferedAssetNum', 'transferred'],
  ['productFeatures', 'features'],
  ['featureCode', 'code'],
  ['featureName', 'name'],
  ['featureValue', 'value'],
  ['featureValueType', 'valueType'],
  ['licenseOrderProductList', 'products'],
  ['userList', 'members'],
  ['userName', 'account'],
  ['addAssets', 'assign'],
  ['deleteAssets', 'withdraw'],
  ['assetIDs', 'assetIds'],
  ['defaultCustomer', 'defaultOnly'],
  ['pageNum', 'page'],
]);

/** The fields of an order beside its list of items. In the requests of other operations every field is at the top. */
const TOP_OF_ORDER: ReadonlySet<string> = new Set(['channelCode', 'channelOrderId', 'syncMode', 'orderList']);
/** Names of fields in a text. Without an index or a dot a word may also be plain language, such as `size` and `address`. */
const NAME = /\b[a-z]\w*(?:\[\d+\])?(?:\.[A-Za-z]\w*(?:\[\d+\])?)*/g;
const STARTS_LIKE_A_NAME = /^[a-z]+[A-Z]|[[.]/;

export interface InOurWords {
  readonly text: string;
  /** Pointers to the fields of the request's body that the text names. */
  readonly pointers: readonly string[];
}

/** A text of the platform for its user, with the gateway's names of the fields. The platform's names never reach a caller. */
export function inOurWords(operation: UpstreamOperation, message: string): InOurWords {
  const pointers = new Set<string>();
  const isOrder = operation.placesOrders === true;
  const text = message.replaceAll(NAME, (path) => {
    if (!STARTS_LIKE_A_NAME.test(path)) return path;
    const [top = ''] = path.split(/[.[]/);
    if (isOrder ? !TOP_OF_ORDER.has(top) : path.includes('.')) return nameOf(path, isOrder);
    const pointer = pointerOf(path, isOrder);
    if (operation.method !== 'GET') pointers.add(pointer);
    return pointer.lastIndexOf('/') === 0 ? pointer.slice(1) : pointer;
  });
  return { text, pointers: [...pointers] };
}

function ofCustomer(name: string): [string, string] {
  return [name, `customer/${name}`];
}

function pointerOf(path: string, isOrder: boolean): string {
  return path
    .split('.')
    .map((part) => {
      const [name = '', index] = part.split(/[[\]]/);
      return `/${ours(name, isOrder)}${index === undefined ? '' : `/${index}`}`;
    })
    .join('');
}

/** The name of a field; for a field whose location is not known, the last part of its path. */
function nameOf(path: string, isOrder: boolean): string {
  return (
    pointerOf(path, isOrder)
      .split('/')
      .findLast((part) => !/^\d*$/.test(part)) ?? path
  );
}

/** Only orders have a separate object for the parts of a customer. In a loan `borrowedUsbKey` is a number. */
function ours(name: string, isOrder: boolean): string {
  if (!isOrder && name === 'borrowedUsbKey') return 'lentLockNum';
  const own = OURS.get(name) ?? name;
  return isOrder ? own : own.replace(/^(customer|admin|branch)\/.*/, name);
}
