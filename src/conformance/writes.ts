import { randomBytes } from 'node:crypto';
import type { Answer } from './platform.ts';
import { type Asked, dataOf, idOf, itemsOf, largest } from './questions.ts';

const MADE = 'conformance';
const MOST_LOCKS = 1_000;
const PAGE = 50;

type Row = Readonly<Record<string, unknown>>;
/** Something that was made; `remove` resolves with whether it is gone. */
interface Made {
  readonly what: string;
  readonly remove: () => Promise<boolean>;
}

/** How many members the enterprise has that no run of this command has made. */
export async function foreignMembers({ platform, enterpriseGlobalId }: Asked): Promise<number> {
  const query = { pageNum: '1', pageSize: '1' };
  const answer = await platform.ask('listMembers', { ids: { enterpriseGlobalId }, query });
  if (answer.kind !== 'success') return 1;
  const members = itemsOf((answer.data as Row)['list']);
  return members.filter(({ userName }) => !String(userName).startsWith(MADE)).length;
}

/** What can only be asked by making something: each is removed again, and what could not be removed is told. */
export async function askByWriting(asked: Asked, withOrder: boolean, over: AbortSignal): Promise<void> {
  const made: Made[] = [];
  try {
    await locks(asked);
    await numbers(asked);
    if (!over.aborted) await member(asked, made);
    if (withOrder && !over.aborted) await order(asked, made);
  } finally {
    for (const { what, remove } of made.toReversed())
      if (!(await remove().catch(() => false))) asked.findings.left.push(what);
  }
}

/** Of locks that are not there, so nothing is locked. */
async function locks({ platform, findings }: Asked): Promise<void> {
  const isTaken = async (count: number) => {
    const assetNums = Array.from({ length: count }, (_, index) => `${MADE}-${index}`);
    const body = { assetNums, operatorIdentity: MADE };
    return (await platform.ask('disableLocks', { body })).kind === 'success';
  };
  if (!(await isTaken(1)))
    return findings.remark('The platform refuses to disable a lock that is not there.');
  findings.found(
    'maxLocksPerCall',
    (await isTaken(MOST_LOCKS)) ? MOST_LOCKS : await largest(MOST_LOCKS, isTaken),
  );
}

async function numbers({ platform, findings }: Asked): Promise<void> {
  const answer = await platform.ask('obtainAssetNums', { body: { size: 1 } });
  if (answer.kind !== 'success')
    return findings.remark(`The platform refuses an asset number (${reasonOf(answer)}).`);
  const [number] = answer.data as unknown[];
  if (!/^\d{10}$/.test(idOf(number))) findings.remark('An asset number has another form than ten digits.');
}

async function member({ platform, findings, enterpriseGlobalId }: Asked, made: Made[]): Promise<void> {
  if (!platform.hasUser) return;
  const userName = MADE + randomBytes(4).toString('hex');
  const name = `${MADE}-${userName.slice(-8)}`;
  const given = { userName, name, password: `Aa1${randomBytes(9).toString('hex')}`, remark: MADE };
  const ids = { enterpriseGlobalId };
  const added = await platform.ask('addMembers', { ids, body: { userList: [given] } });
  if (added.kind !== 'success') return findings.remark(`The platform refuses a member (${reasonOf(added)}).`);
  const pageSize = String(Math.min(PAGE, findings.readings.maxPageSize ?? PAGE));
  const find = async () => {
    const found = await platform.ask('listMembers', {
      ids,
      query: { keyword: userName, pageNum: '1', pageSize },
    });
    if (found.kind !== 'success') throw new Error('the list of members cannot be read');
    const list = itemsOf((found.data as Row)['list']);
    return list.find((each) => String(each['userName']).startsWith(userName));
  };
  const [row] = itemsOf((added.data as Row)['succeeded']);
  const memberGlobalId = idOf(row?.['globalId']);
  const own = { ...ids, memberGlobalId };
  made.push({
    what: `the member ${name}`,
    remove: async () => {
      const gone = await platform.ask('deleteMember', { ids: own });
      const again = await platform.ask('deleteMember', { ids: own });
      if (gone.kind === 'success')
        findings.found('deletedTwice', again.kind === 'success' ? 'success' : 'code');
      return (await find()) === undefined;
    },
  });
  const edited = await platform.ask('editMember', { ids: own, body: { userName, name } });
  if (edited.kind !== 'success')
    return findings.remark(`The platform refuses an edit of a member (${reasonOf(edited)}).`);
  findings.found('memberEdit', (await find())?.['remark'] === MADE ? 'keeps' : 'clears');
}

/** Something that the enterprise has bought before: a package where there is one. */
interface Bought {
  readonly asset: Row;
  readonly product: Row;
  readonly merchandise: Row | undefined;
}

async function order(asked: Asked, made: Made[]): Promise<void> {
  const { platform, findings, enterpriseGlobalId, config } = asked;
  const before = await assetsOf(asked);
  const bought = await somethingBought(asked, before);
  if (!bought) return findings.remark('The enterprise has no product that an order could buy once more.');
  const { asset, product, merchandise } = bought;
  const channelCode = asked.channelCode ?? String(product['channelCode']);
  const item = {
    customerId: idOf(asset['customerId']),
    enterpriseGlobalId,
    licenseType: asset['licenseType'],
  };
  const place = (what: object) => {
    const body = {
      channelCode,
      channelOrderId: `${MADE}-${Date.now()}-${randomBytes(3).toString('hex')}`,
      syncMode: 'sync',
      orderList: [{ sequence: 1, ...item, ...what }],
    };
    return platform.ask('batchOrder', { query: { appKey: config.appKey.reveal() }, body });
  };
  const products = [{ productUri: product['productUri'], limitConcurrent: 1 }];
  const merchandiseNum = merchandise?.['merchandiseNum'];
  const packages = [{ merchandiseNum, children: null, licenseOrderProductList: products }];
  const content = merchandise ? { merchandises: packages, products: [] } : { products };
  const placed = await place({ orderType: 'new_buy', assets: [{ ...content }] });
  if (placed.kind !== 'success')
    return findings.remark(`The platform refuses an order (${reasonOf(placed)}).`);
  const [result] = dataOf(placed);
  const srcLicenseOrderId = idOf(result?.['licenseOrderId']);
  const known = new Set(before.map(({ id }) => idOf(id)));
  const fresh = async () => (await assetsOf(asked)).filter(({ id }) => !known.has(idOf(id)));
  const assetNos = (await fresh()).map(({ assetNum }) => idOf(assetNum));
  made.push({
    what: `the licence order ${srcLicenseOrderId} of channel ${channelCode}, with the asset ${assetNos.join(', ')}`,
    remove: async () => {
      if (merchandise) {
        const alone = {
          orderType: 'delete_product',
          srcLicenseOrderId,
          assets: [{ assetNos, merchandises: [{ merchandiseNum, children: null }] }],
        };
        const taken = (await place(alone)).kind === 'success' && (await fresh()).length === 0;
        findings.found('packagesInDeletion', taken ? 'taken' : 'refused');
      }
      if ((await fresh()).length > 0)
        await place({ orderType: 'delete_asset', srcLicenseOrderId, assets: [{ assetNos }] });
      return assetNos.length > 0 && (await fresh()).length === 0;
    },
  });
  if (assetNos.length !== 1)
    findings.remark('The asset of an order does not show at once among the assets of the enterprise.');
}

async function assetsOf({ platform, enterpriseGlobalId }: Asked): Promise<readonly Row[]> {
  return dataOf(await platform.ask('listAssets', { ids: { enterpriseGlobalId } }));
}

async function somethingBought({ platform }: Asked, assets: readonly Row[]): Promise<Bought | undefined> {
  let plain: Bought | undefined;
  for (const asset of assets) {
    const answer = await platform.ask('listAssetProducts', { ids: { assetId: idOf(asset['id']) } });
    if (answer.kind !== 'success') continue;
    const { productInstanceList, children } = answer.data as Row;
    const [merchandise] = itemsOf(children);
    const [inside] = itemsOf(merchandise?.['productInstanceList']);
    if (merchandise && inside) return { asset, product: inside, merchandise };
    const [product] = itemsOf(productInstanceList);
    if (product) plain ??= { asset, product, merchandise: undefined };
  }
  return plain;
}

function reasonOf(answer: Answer): string {
  if (answer.kind === 'success') return 'success';
  const { code, message } = answer.details;
  return [code ?? answer.kind, message].filter((each) => each !== undefined).join(': ');
}
