import { randomBytes } from 'node:crypto';
import type { LicenseType } from '../upstream/wire/words.ts';
import type { Asked } from './asked.ts';
import { CannotAsk } from './cannot-ask.ts';
import { MADE, type Made, tellRefused, twice } from './made.ts';
import type { Answer } from './platform.ts';
import { idOf, itemsOf, objectOf, type Row, rowsOf } from './values.ts';

/** The most assets that are searched for something to buy again. */
const MAX_ASSETS = 50;

/** The licence types without a device. An order of another type may have a lock made and sent. */
const VIRTUAL: ReadonlySet<string> = new Set<LicenseType>([
  ...(['cloud_account', 'cloud_customer', 'cloud_personal', 'softkey', 'lan_softkey'] as const),
]);

/** Something that the enterprise has bought before: a package if there is one. */
interface Bought {
  readonly asset: Row;
  readonly product: Row;
  readonly merchandise: Row | undefined;
}

/** Buys an earlier purchase of the enterprise again, on a new asset, and removes it. */
export async function askByOrder(asked: Asked, made: Made[]): Promise<void> {
  const { findings, config } = asked;
  const { enterpriseGlobalId } = asked.target;
  const before = await assetsOf(asked);
  const bought = await somethingBought(asked, before);
  if (!bought) return findings.remark('The enterprise has no product that an order could buy once more.');
  const { asset, product, merchandise } = bought;
  const channelCode = asked.target.channelCode ?? idOf(product['channelCode']);
  if (channelCode === undefined)
    return findings.remark('No order was placed, because the product shows no channel: give --channel.');
  const item = {
    customerId: idOf(asset['customerId']),
    enterpriseGlobalId,
    licenseType: asset['licenseType'],
  };
  const number = `${MADE}-${Date.now()}-${randomBytes(3).toString('hex')}`;
  const place = (what: object, channelOrderId: string) => {
    const orderList = [{ sequence: 1, ...item, ...what }];
    const body = { channelCode, channelOrderId, syncMode: 'sync', orderList };
    return asked.ask('batchOrder', { query: { appKey: config.appKey.reveal() }, body });
  };
  const products = [{ productUri: product['productUri'], limitConcurrent: 1 }];
  const merchandiseNum = merchandise?.['merchandiseNum'];
  const packages = [{ merchandiseNum, children: null, licenseOrderProductList: products }];
  const known = new Set(before.map(({ id }) => idOf(id)));
  /** Returns the assets that this order made. New assets of other orders are left alone. */
  const own = async () => {
    const fresh: Row[] = [];
    for (const each of await assetsOf(asked))
      if (!known.has(idOf(each['id'])) && (await contentsFrom(asked, each, number)).length > 0)
        fresh.push(each);
    return fresh;
  };
  /** True once the platform has refused the order. An order with an open outcome may still appear. */
  let isRefused = false;
  let givesIds = false;
  /** Notes a deletion that was carried out. */
  const noteDeletion = (removed: Answer) => {
    if (isResult(removed) && givesIds) findings.found('orderIds', hasId(removed) ? 'always' : 'purchases');
  };
  const remove = async () => {
    const [only, ...others] = await own();
    if (!only) return isRefused;
    const assetNos = [idOf(only['assetNum'])];
    // A platform may keep the asset when nothing is left on it.
    /** Undefined if the list lacks an earlier asset too, so that it may not have come whole. */
    const isGone = async () => {
      const ids = new Set((await assetsOf(asked)).map(({ id }) => idOf(id)));
      if (ids.has(idOf(only['id']))) return false;
      return known.isSubsetOf(ids) || undefined;
    };
    const isEmpty = async () => {
      const gone = await isGone();
      if (gone !== false) return gone;
      const contents = await contentsOf(asked, only, true);
      return contents?.every((each) => each['channelOrderId'] !== number);
    };
    const srcLicenseOrderId = idOf((await contentsFrom(asked, only, number))[0]?.['licenseOrderId']);
    if (others.length > 0 || assetNos[0] === undefined || srcLicenseOrderId === undefined) return false;
    if (merchandise) {
      const alone = { assetNos, merchandises: [{ merchandiseNum, children: null }] };
      const taken = await place(
        { orderType: 'delete_product', srcLicenseOrderId, assets: [alone] },
        `${number}-package`,
      );
      const isTaken = taken.kind === 'success' && (await twice(isEmpty));
      if (taken.kind === 'refused') findings.found('packagesInDeletion', 'refused');
      else if (isTaken) {
        findings.found('packagesInDeletion', 'taken');
        noteDeletion(taken);
      } else if (taken.kind === 'success' && isTaken === false) findings.contradicted('packagesInDeletion');
    }
    if ((await isGone()) === true) return true;
    const removal = { orderType: 'delete_asset', srcLicenseOrderId, assets: [{ assetNos }] };
    const removed = await place(removal, `${number}-removal`);
    const isRemoved = (await isGone()) === true;
    if (isRemoved) noteDeletion(removed);
    return isRemoved;
  };
  // The order is noted before the call, because the answer may be lost.
  made.push({ what: `the order ${number} of channel ${channelCode}`, remove });
  const content = merchandise ? { merchandises: packages, products: [] } : { products };
  const placed = await place({ orderType: 'new_buy', assets: [content] }, number);
  isRefused = placed.didNothing;
  if (placed.kind !== 'success') return tellRefused(asked, placed);
  givesIds = hasId(placed);
  if ((await own()).length !== 1) {
    made.pop();
    findings.left.push(`the order ${number} of channel ${channelCode}, which shows on no asset of its own`);
  } else if (isResult(placed) && !givesIds) findings.found('orderIds', 'later');
}

/** True for a success in which the ids of licence orders may be missing: it has a list or nothing. */
function isResult({ kind, data }: Answer): boolean {
  return kind === 'success' && Array.isArray(data ?? []);
}

function hasId(placed: Answer): boolean {
  return rowsOf(placed).some((item) => idOf(item['licenseOrderId']) !== undefined);
}

async function assetsOf(asked: Asked): Promise<readonly Row[]> {
  const answer = await asked.ask('listAssets');
  if (answer.kind !== 'success' || !Array.isArray(answer.data))
    throw new CannotAsk('The assets of the enterprise cannot be read any more.');
  return rowsOf(answer);
}

/**
 * Returns the products and packages on an asset, including those in the outer packages. Undefined if neither list of them arrived, or with
 * `isWhole` if one did not.
 */
async function contentsOf(asked: Asked, asset: Row, isWhole = false): Promise<readonly Row[] | undefined> {
  const assetId = idOf(asset['id']);
  if (assetId === undefined) return undefined;
  const answer = await asked.ask('listAssetProducts', { ids: { assetId } });
  const { productInstanceList, children } = objectOf(answer);
  const nullIsEmpty = asked.findings.readings.emptyLists === 'null';
  const came = (list: unknown) => Array.isArray(list) || (nullIsEmpty && list === null);
  const lists = [productInstanceList, children];
  if (!(isWhole ? lists.every(came) : lists.some(came))) return undefined;
  const packages = itemsOf(children);
  const inside = packages.flatMap((each) => itemsOf(each['productInstanceList']));
  return [...itemsOf(productInstanceList), ...packages, ...inside];
}

/** Returns the products and packages that an order has put on an asset. */
async function contentsFrom(asked: Asked, asset: Row, channelOrderId: string): Promise<readonly Row[]> {
  const contents = await contentsOf(asked, asset);
  if (!contents) throw new CannotAsk('The products on an asset of the enterprise cannot be read any more.');
  return contents.filter((each) => each['channelOrderId'] === channelOrderId);
}

async function somethingBought(asked: Asked, assets: readonly Row[]): Promise<Bought | undefined> {
  let plain: Bought | undefined;
  const virtual = assets.filter(({ licenseType }) => VIRTUAL.has(String(licenseType)));
  for (const asset of virtual.slice(0, MAX_ASSETS)) {
    const contents = (await contentsOf(asked, asset)) ?? [];
    const merchandise = contents.find((each) => itemsOf(each['productInstanceList']).length > 0);
    const [inside] = itemsOf(merchandise?.['productInstanceList']);
    if (merchandise && inside) return { asset, product: inside, merchandise };
    const product = contents.find((each) => typeof each['productUri'] === 'string');
    if (product) plain ??= { asset, product, merchandise: undefined };
  }
  return plain;
}
