import type { UpstreamOperation } from '../operations.ts';

/** Where a field of the wire stands in our requests, below the object that it stands in there; absent: under the same name. */
const OURS: ReadonlyMap<string, string> = new Map([
  ['orderList', 'items'],
  ...['customerId', 'crmCustomerId', 'customerName', 'channelCustomerId', 'enterpriseGlobalId'].map(
    ofCustomer,
  ),
  ...['address', 'passwordMobile'].map(ofCustomer),
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

/** Of orders, what stands beside the list of items; in the requests of other operations every field stands at the top. */
const TOP_OF_ORDER: ReadonlySet<string> = new Set(['channelCode', 'channelOrderId', 'syncMode', 'orderList']);
/** Without an index or a dot only such a word is a name for sure: `size` and `address` are words for people too. */
const NAME = /\b[a-z]\w*(?:\[\d+\])?(?:\.[A-Za-z]\w*(?:\[\d+\])?)*/g;
const STARTS_LIKE_A_NAME = /^[a-z]+[A-Z]|[[.]/;

export interface InOurWords {
  readonly text: string;
  /** Of the fields of the request's body that the text names. */
  readonly pointers: readonly string[];
}

/** A text of the platform for its user, with the names that its fields have here: the platform's own never reach a caller. */
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

/** Of a field whose place is not known: its last name. */
function nameOf(path: string, isOrder: boolean): string {
  return (
    pointerOf(path, isOrder)
      .split('/')
      .findLast((part) => !/^\d*$/.test(part)) ?? path
  );
}

/** The parts of a customer stand in an object of their own in orders only; `borrowedUsbKey` is a number in a loan. */
function ours(name: string, isOrder: boolean): string {
  if (!isOrder && name === 'borrowedUsbKey') return 'lentLockNum';
  const own = OURS.get(name) ?? name;
  return isOrder ? own : own.replace(/^(customer|admin|branch)\/.*/, name);
}
