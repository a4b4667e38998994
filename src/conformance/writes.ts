import { randomBytes } from 'node:crypto';
import type { OperationName } from '../upstream/operations.ts';
import { type Answer, CannotAsk } from './platform.ts';
import { type Asked, dataOf, idOf, itemsOf, largest, pageOfMembers } from './questions.ts';

const MADE = 'conformance';
const MOST_LOCKS = 1_000;
/** So many assets are looked at for something to buy once more. */
const MOST_ASSETS = 50;

type Row = Readonly<Record<string, unknown>>;
/** Something that is made; `remove` resolves with whether it is gone, also where it was never there. */
interface Made {
  readonly what: string;
  readonly remove: () => Promise<boolean>;
}

/** Whether the enterprise has members that no run of this command has made, as far as a page shows them. */
export async function hasMembersOfItsOwn(asked: Asked): Promise<boolean> {
  const { members, total } = await pageOfMembers(asked);
  const made = members.filter(({ userName }) => String(userName).startsWith(MADE)).length;
  return made < Math.max(members.length, total ?? 0);
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
  const most = (await isTaken(MOST_LOCKS)) ? MOST_LOCKS : await largest(MOST_LOCKS, isTaken);
  findings.found('maxLocksPerCall', most);
}

async function numbers({ platform, findings }: Asked): Promise<void> {
  const answer = await platform.ask('obtainAssetNums', { body: { size: 1 } });
  if (answer.kind !== 'success') return refused(findings, 'obtainAssetNums', answer);
  const [number] = Array.isArray(answer.data) ? (answer.data as unknown[]) : [];
  if (!/^\d{10}$/.test(idOf(number) ?? ''))
    findings.remark('An asset number has another form than ten digits.');
}

async function member(asked: Asked, made: Made[]): Promise<void> {
  const { platform, findings, enterpriseGlobalId } = asked;
  if (!platform.hasUser) return;
  const userName = MADE + randomBytes(4).toString('hex');
  const name = `${MADE}-${userName.slice(-8)}`;
  const ids = { enterpriseGlobalId };
  const find = async () => {
    const { members } = await pageOfMembers(asked, userName);
    return members.find((each) => String(each['userName']).startsWith(userName));
  };
  // Before the call: its answer may be lost.
  made.push({
    what: `the member ${name}`,
    remove: async () => {
      const memberGlobalId = idOf((await find())?.['globalId']);
      if (memberGlobalId === undefined) return true;
      const own = { ids: { ...ids, memberGlobalId } };
      const gone = await platform.ask('deleteMember', own);
      if (gone.kind !== 'success') return false;
      const again = await platform.ask('deleteMember', own);
      findings.found('deletedTwice', again.kind === 'success' ? 'success' : 'code');
      return (await find()) === undefined;
    },
  });
  const row = { userName, name, password: `Aa1${randomBytes(9).toString('hex')}`, remark: MADE };
  const added = await platform.ask('addMembers', { ids, body: { userList: [row] } });
  if (added.kind !== 'success') return refused(findings, 'addMembers', added);
  const memberGlobalId = idOf((await find())?.['globalId']);
  if (memberGlobalId === undefined)
    return findings.remark('A new member does not show at once in the list of members.');
  const edit = { userName, name: `${name}-2` };
  const edited = await platform.ask('editMember', { ids: { ...ids, memberGlobalId }, body: edit });
  if (edited.kind !== 'success') return refused(findings, 'editMember', edited);
  const shown = await find();
  // A list that does not show the new name does not show what became of the remark.
  if (shown?.['name'] !== edit.name)
    return findings.remark('An edit of a member does not show at once in the list of members.');
  findings.found('memberEdit', shown['remark'] === MADE ? 'keeps' : 'clears');
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
  const number = `${MADE}-${Date.now()}-${randomBytes(3).toString('hex')}`;
  const place = (what: object, channelOrderId: string) => {
    const orderList = [{ sequence: 1, ...item, ...what }];
    const body = { channelCode, channelOrderId, syncMode: 'sync', orderList };
    return platform.ask('batchOrder', { query: { appKey: config.appKey.reveal() }, body });
  };
  const products = [{ productUri: product['productUri'], limitConcurrent: 1 }];
  const merchandiseNum = merchandise?.['merchandiseNum'];
  const packages = [{ merchandiseNum, children: null, licenseOrderProductList: products }];
  const known = new Set(before.map(({ id }) => idOf(id)));
  /** The assets that this order made: those of others that are new, too, are left alone. */
  const own = async () => {
    const fresh: Row[] = [];
    for (const each of await assetsOf(asked))
      if (!known.has(idOf(each['id'])) && (await hasFrom(asked, each, number))) fresh.push(each);
    return fresh;
  };
  const remove = async () => {
    const [only, ...others] = await own();
    if (!only) return true;
    const assetNos = [idOf(only['assetNum'])];
    const srcLicenseOrderId = idOf(await licenseOrderOn(asked, only, number));
    if (others.length > 0 || assetNos[0] === undefined || srcLicenseOrderId === undefined) return false;
    if (merchandise) {
      const alone = { assetNos, merchandises: [{ merchandiseNum, children: null }] };
      const taken = await place(
        { orderType: 'delete_product', srcLicenseOrderId, assets: [alone] },
        `${number}-package`,
      );
      if (taken.kind === 'refused') findings.found('packagesInDeletion', 'refused');
      else if (taken.kind === 'success' && (await own()).length === 0)
        findings.found('packagesInDeletion', 'taken');
    }
    if ((await own()).length > 0)
      await place(
        { orderType: 'delete_asset', srcLicenseOrderId, assets: [{ assetNos }] },
        `${number}-removal`,
      );
    return (await own()).length === 0;
  };
  // Before the call: its answer may be lost.
  made.push({ what: `the order ${number} of channel ${channelCode}`, remove });
  const content = merchandise ? { merchandises: packages, products: [] } : { products };
  const placed = await place({ orderType: 'new_buy', assets: [content] }, number);
  if (placed.kind !== 'success') return refused(findings, 'batchOrder', placed);
  if ((await own()).length !== 1) {
    made.pop();
    findings.left.push(`the order ${number} of channel ${channelCode}, which shows on no asset of its own`);
  }
}

async function assetsOf({ platform, enterpriseGlobalId }: Asked): Promise<readonly Row[]> {
  const answer = await platform.ask('listAssets', { ids: { enterpriseGlobalId } });
  if (answer.kind !== 'success') throw new CannotAsk('The assets of the enterprise cannot be read any more.');
  return dataOf(answer);
}

/** The products and packages on an asset, with those in the outer packages. */
async function contentsOf({ platform }: Asked, asset: Row): Promise<readonly Row[]> {
  const assetId = idOf(asset['id']);
  if (assetId === undefined) return [];
  const answer = await platform.ask('listAssetProducts', { ids: { assetId } });
  if (answer.kind !== 'success') return [];
  const { productInstanceList, children } = (answer.data ?? {}) as Row;
  const packages = itemsOf(children);
  const inside = packages.flatMap((each) => itemsOf(each['productInstanceList']));
  return [...itemsOf(productInstanceList), ...packages, ...inside];
}

async function hasFrom(asked: Asked, asset: Row, channelOrderId: string): Promise<boolean> {
  return (await contentsOf(asked, asset)).some((each) => each['channelOrderId'] === channelOrderId);
}

async function licenseOrderOn(asked: Asked, asset: Row, channelOrderId: string): Promise<unknown> {
  const own = (await contentsOf(asked, asset)).find((each) => each['channelOrderId'] === channelOrderId);
  return own?.['licenseOrderId'];
}

async function somethingBought(asked: Asked, assets: readonly Row[]): Promise<Bought | undefined> {
  let plain: Bought | undefined;
  for (const asset of assets.slice(0, MOST_ASSETS)) {
    const contents = await contentsOf(asked, asset);
    const merchandise = contents.find((each) => itemsOf(each['productInstanceList']).length > 0);
    const [inside] = itemsOf(merchandise?.['productInstanceList']);
    if (merchandise && inside) return { asset, product: inside, merchandise };
    const product = contents.find((each) => typeof each['productUri'] === 'string');
    if (product) plain ??= { asset, product, merchandise: undefined };
  }
  return plain;
}

/** Only the code: the platform's words may have anything in them. */
function refused(findings: Asked['findings'], name: OperationName, answer: Answer): void {
  const code = answer.kind === 'success' ? 'success' : (answer.details.code ?? answer.kind);
  findings.remark(`The platform refuses ${name} (${code}).`);
}
