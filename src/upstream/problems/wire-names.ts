import { type OperationName, operations, type UpstreamOperation } from '../operations.ts';

interface Field {
  /** The location of the field in the gateway's request, below the object that has it. */
  readonly at: string;
  /** The name of the field in a sentence. A name such as `code` means nothing alone, so the name of its object precedes it. */
  readonly spoken: string;
  readonly below?: Fields;
}
type Fields = ReadonlyMap<string, Field>;

const same = (...names: readonly string[]) => names.map((name) => renamed(name, name));
const ofCustomer = (...names: readonly string[]) =>
  names.map((name) => renamed(name, `customer/${name}`, name));

function renamed(
  wire: string,
  at: string,
  spoken = at.replaceAll('/', '.'),
  below?: Fields,
): [string, Field] {
  return [wire, { at, spoken, ...(below && { below }) }];
}

function nested(wire: string, at: string, below: Fields): [string, Field] {
  return renamed(wire, at, at, below);
}

const FEATURE: Fields = new Map([
  renamed('featureCode', 'code', 'features.code'),
  renamed('featureName', 'name', 'features.name'),
  renamed('featureValue', 'value', 'features.value'),
  renamed('featureValueType', 'valueType', 'features.valueType'),
  ...same('trial'),
  renamed('trialEndDate', 'trialEndsAt'),
]);
const PRODUCT: Fields = new Map([
  ...same(
    'crmProductId',
    'parentCrmProductId',
    'productUri',
    'productName',
    'gmsPid',
    'appKey',
    'productType',
  ),
  renamed('limitStartDate', 'startsAt'),
  renamed('limitEndDate', 'endsAt'),
  ...same('limitConcurrent', 'limitTimeDuration', 'strictMatchWhenDelete', 'trial'),
  renamed('trialEndDate', 'trialEndsAt'),
  ...same('passwords', 'timeUnit', 'timeUnitQuantity', 'timeDurationExpression', 'srcLicenseOrderId'),
  nested('productFeatures', 'features', FEATURE),
]);
const MERCHANDISE = new Map([
  ...same('crmProductId', 'parentCrmProductId', 'merchandiseNum', 'merchandiseName', 'parentMerchandiseNum'),
  ...same('timeDurationExpression'),
  nested('licenseOrderProductList', 'products', PRODUCT),
]);
MERCHANDISE.set(...nested('children', 'children', MERCHANDISE));
const EXTENSION: Fields = new Map([
  renamed('extendCode', 'code', 'extensions.code'),
  renamed('extendValue', 'value', 'extensions.value'),
]);
const ASSET: Fields = new Map([
  renamed('assetNos', 'assetNums'),
  nested('assetExtendList', 'extensions', EXTENSION),
  renamed('limitStartDate', 'startsAt'),
  renamed('limitEndDate', 'endsAt'),
  renamed('borrowedUsbKey', 'lentLock'),
  renamed('transferedAssetNum', 'transferred'),
  nested('products', 'products', PRODUCT),
  nested('merchandises', 'merchandises', MERCHANDISE),
]);
const ITEM: Fields = new Map([
  ...same('sequence', 'customerType', 'srcLicenseOrderId', 'licenseType', 'orderType'),
  ...ofCustomer('customerId', 'crmCustomerId', 'customerName', 'channelCustomerId', 'address'),
  ...ofCustomer('enterpriseGlobalId', 'passwordMobile'),
  renamed('adminName', 'admin/name'),
  renamed('adminAccount', 'admin/account'),
  renamed('adminEmail', 'admin/email'),
  renamed('adminCellNumber', 'admin/cellNumber'),
  renamed('branchCode', 'branch/code'),
  renamed('branchName', 'branch/name'),
  nested('assets', 'assets', ASSET),
]);
const ENTERPRISE: Fields = new Map(same('crmCustomerId', 'customerName', 'branchName', 'address'));
const LOCKS: Fields = new Map(same('assetNums', 'operatorIdentity'));
const EDIT: Fields = new Map([
  renamed('userName', 'account'),
  ...same('name', 'departmentId', 'remark', 'passwordMobile'),
]);
const NONE: Fields = new Map();

/** The fields of each request on the wire, without the ids in its path. */
const REQUESTS: Readonly<Record<OperationName, Fields>> = {
  bindCustomer: new Map([
    ...same('channelCode', 'channelCustomerId', 'customerName', 'branchName', 'enterpriseName'),
    ...same('passwordMobile'),
  ]),
  createEnterprise: ENTERPRISE,
  queryCustomers: new Map([
    ...same('channelCode', 'channelCustomerId'),
    renamed('defaultCustomer', 'defaultOnly'),
  ]),
  updateCustomer: ENTERPRISE,
  batchOrder: new Map([
    ...same('channelCode', 'channelOrderId', 'syncMode'),
    nested('orderList', 'items', ITEM),
  ]),
  disableLocks: LOCKS,
  enableLocks: LOCKS,
  listAssets: new Map(same('extendCode')),
  obtainAssetNums: new Map(same('size')),
  addMembers: new Map([nested('userList', 'members', new Map([...EDIT, ...same('password')]))]),
  editMember: EDIT,
  resetPassword: new Map(same('password')),
  deleteMember: NONE,
  listMembers: new Map([...same('departmentId', 'keyword', 'pageSize'), renamed('pageNum', 'page')]),
  listAssetNums: NONE,
  listAssetProducts: NONE,
  listLentLocks: NONE,
  changePrivileges: new Map([renamed('addAssets', 'assign'), renamed('deleteAssets', 'withdraw')]),
  borrowAssets: new Map([renamed('borrowedUsbKey', 'lentLockNum'), renamed('assetIDs', 'assetIds')]),
};

/** The objects of each request, the outermost first, because a text may name a field by a path that begins in an inner object. */
const OBJECTS = new Map(
  Object.values(operations).map((operation) => {
    const inPath = [...operation.path.matchAll(/\{(\w+)\}/g)].map(([, name = '']) => name);
    const top: Fields = new Map([...REQUESTS[operation.name], ...same(...inPath)]);
    return [operation, [top, ...objectsIn(top)]];
  }),
);

/**
 * A word, or a path with dots and indexes, that stands alone: not in an address of a person or a page, a host name, a file name, a URN, a
 * query or a word with hyphens. Text of a script without spaces may directly touch it.
 */
const NAME =
  /(?<![\p{Script=Latin}\p{N}_$@/\\.%#?&=+~-]|\w:)[a-z]\w*(?:\[\d+\])?(?:\.[A-Za-z]\w*(?:\[\d+\])?)*(?![\p{Script=Latin}\p{N}_$@/\\%#+~-]|\[\d|\.[\p{L}\p{N}]|:[\w/])/gu;
/** A word that has no index, dot or capital may be plain language, such as `size` and `address`. */
const IS_PLAIN = /^[a-z]+$/;

export interface InOurWords {
  readonly text: string;
  /** Pointers to the fields of the request's body that the text names. */
  readonly pointers: readonly string[];
}

interface Named {
  readonly pointer: string | undefined;
  /** The whole path, such as `items[0].customer.customerId`. */
  readonly path: string;
  readonly spoken: string;
}

/**
 * Converts a text that the platform wrote for its user. The names of the platform's fields are replaced by the gateway's, and nothing else
 * changes. If the text names one field of the body, the pointer has its location and the text only its name.
 */
export function inOurWords(operation: UpstreamOperation, message: string): InOurWords {
  const [top = NONE, ...inner] = OBJECTS.get(operation) ?? [];
  const names = new Map<string, Named>();
  for (const [path] of message.matchAll(NAME)) {
    const named = IS_PLAIN.test(path) ? undefined : (namedIn(top, path, true) ?? firstOf(inner, path));
    if (named) names.set(path, named);
  }
  const pointers = new Set(
    operation.method === 'GET' ? [] : [...names.values()].flatMap(({ pointer }) => pointer ?? []),
  );
  const text = message.replaceAll(NAME, (path) => {
    const named = names.get(path);
    if (!named) return path;
    return named.pointer !== undefined && pointers.size < 2 ? named.spoken : named.path;
  });
  return { text, pointers: [...pointers] };
}

/** Whether the request has the field at its top, by its name at the gateway. */
export function hasField({ name }: UpstreamOperation, field: string): boolean {
  return REQUESTS[name].values().some(({ at }) => at === field);
}

function firstOf(objects: readonly Fields[], path: string): Named | undefined {
  for (const object of objects) {
    const named = namedIn(object, path, false);
    if (named) return named;
  }
  return undefined;
}

/**
 * Returns the field of a path that begins in this object. Undefined if one of its parts is no field. A path that goes through a list without
 * an index has no pointer, because it names no location of the request.
 */
function namedIn(object: Fields, path: string, isTop: boolean): Named | undefined {
  const parts = path.split('.').map((part) => /^(\w+)(\[\d+\])?$/.exec(part));
  let fields: Fields | undefined = object;
  let pointer = '';
  let isLocation = isTop;
  const names: string[] = [];
  let spoken = '';
  for (const [index, part] of parts.entries()) {
    const [, name = '', position = ''] = part ?? [];
    const field: Field | undefined = fields?.get(name);
    if (!field) return undefined;
    pointer += `/${field.at}${position.replace(/\[(\d+)\]/, '/$1')}`;
    // If a path begins in an inner object, its first part is named as in a sentence.
    names.push((isTop || index > 0 ? field.at.replaceAll('/', '.') : field.spoken) + position);
    spoken = field.spoken + position;
    fields = field.below;
    // Every field with fields below it is a list.
    if (fields && position === '' && index < parts.length - 1) isLocation = false;
  }
  return { pointer: isLocation ? pointer : undefined, path: names.join('.'), spoken };
}

function objectsIn(fields: Fields, found: Fields[] = []): Fields[] {
  for (const { below } of fields.values()) {
    if (!below || found.includes(below)) continue;
    found.push(below);
    objectsIn(below, found);
  }
  return found;
}
