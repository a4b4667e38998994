import { toAssetProducts } from '../member/asset-products.mapper.ts';
import { toAssetNums, toLentLocks, toMemberPage } from '../member/member.mapper.ts';
import { toAssets, toCustomers } from '../order/order.mapper.ts';
import { freshHex } from '../shared/random-bytes.ts';
import { accessToken } from '../token/principal.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { operations } from '../upstream/operations.ts';
import type { Asked } from './asked.ts';
import type { Answer } from './platform.ts';
import { idOf, itemsOf, largest, objectOf, type Row, rowsOf } from './values.ts';

/** No id of a platform begins so. */
const UNKNOWN = `conformance-unknown-${freshHex(4)}`;
/** The gateway asks for no larger pages. */
export const LARGEST_PAGE = 200;
/** The command reads the products of so many assets, or of fewer once it has seen a product and a package. */
const MAX_ASSETS = 10;

/** The same list with a filter, and the value that the filter had. */
interface Filtered {
  readonly value: string;
  readonly answer: Answer;
}

interface Customers {
  readonly all: Answer;
  readonly onlyDefault: Answer;
  /** The customers of the enterprise `of` by the number of one of them; undefined where no customer has a number. */
  readonly ofOne: (Filtered & { readonly of: string | undefined }) | undefined;
}

interface MemberAnswers {
  readonly refreshTokens: 'taken' | 'refused' | 'absent' | undefined;
  readonly assetNums: Answer;
  readonly lentLocks: Answer;
  readonly products: readonly Answer[];
  /** The first page of members, by the size that was asked for. */
  readonly pages: ReadonlyMap<number, Answer>;
  /** The first page that came; undefined where none did. */
  readonly firstPage: Answer | undefined;
  readonly pageBeyond: Answer | undefined;
  readonly wrongUser: Answer;
  readonly withoutUser: Answer;
}

/** All that was read of the platform. A question looks only at these. */
export interface Answers {
  readonly assets: Answer;
  readonly assetsOfNobody: Answer;
  /** The assets that have an extension; undefined where no asset has one. */
  readonly assetsExtended: Filtered | undefined;
  /** A call with a nonce that an earlier call had. */
  readonly nonceAgain: Answer;
  readonly customersWithoutChannel: Answer;
  /** Undefined without `--channel`. */
  readonly customers: Customers | undefined;
  /** Undefined without a user. */
  readonly member: MemberAnswers | undefined;
  readonly refusals: readonly Answer[];
}

/** Reads all of the enterprise that the gateway reads for callers, and what cannot be right, for the form of refusals. */
export async function readAll(asked: Asked): Promise<Answers> {
  const assets = await asked.read('listAssets', {}, assetsIn(asked));
  const answers = {
    assets,
    assetsExtended: await extended(asked, assets),
    assetsOfNobody: await asked.ask('listAssets', { ids: { enterpriseGlobalId: UNKNOWN } }),
    customersWithoutChannel: await asked.ask('queryCustomers', { query: {} }),
    customers: await customers(asked),
    member: asked.platform.hasUser ? await memberReads(asked, rowsOf(assets)) : undefined,
    nonceAgain: await nonceAgain(asked),
    refusals: asked.refusals,
  };
  noteEmpty(asked, answers);
  return answers;
}

const assetsIn = (asked: Asked) => (data: unknown, notes: ContractNotes) =>
  toAssets(data, asked.config.timestampUnit, notes);

async function extended(asked: Asked, assets: Answer): Promise<Filtered | undefined> {
  const extensions = rowsOf(assets).flatMap(({ assetExtends }) => itemsOf(assetExtends));
  const value = extensions.map(({ extendCode }) => idOf(extendCode)).find((code) => code !== undefined);
  if (value === undefined) return undefined;
  return { value, answer: await asked.read('listAssets', { query: { extendCode: value } }, assetsIn(asked)) };
}

/** With each value of the filters that the gateway sends. */
async function customers(asked: Asked): Promise<Customers | undefined> {
  const { channelCode } = asked.target;
  if (channelCode === undefined) return undefined;
  const of = (defaultCustomer: 'Y' | 'N', channelCustomerId?: string) =>
    asked.read('queryCustomers', { query: { channelCode, channelCustomerId, defaultCustomer } }, toCustomers);
  const all = await of('N');
  const onlyDefault = await of('Y');
  const one = rowsOf(all).find(({ channelCustomerId }) => idOf(channelCustomerId) !== undefined);
  const value = idOf(one?.['channelCustomerId']);
  if (value === undefined) return { all, onlyDefault, ofOne: undefined };
  const ofOne = { value, of: idOf(one?.['enterpriseGlobalId']), answer: await of('N', value) };
  return { all, onlyDefault, ofOne };
}

async function nonceAgain(asked: Asked): Promise<Answer> {
  const nonce = freshHex(16);
  await asked.ask('listAssets', { nonce });
  return asked.ask('listAssets', { nonce });
}

async function memberReads(asked: Asked, assets: readonly Row[]): Promise<MemberAnswers> {
  const assetNums = await asked.read('listAssetNums', {}, toAssetNums);
  const ids = [...assets.map(({ id }) => id), ...rowsOf(assetNums).map(({ assetId }) => assetId)];
  await asked.ask('listAssetProducts', { ids: { assetId: UNKNOWN } });
  const wrong = accessToken(UNKNOWN, undefined);
  return {
    assetNums,
    lentLocks: await asked.read('listLentLocks', {}, toLentLocks),
    products: await productsOf(
      asked,
      ids.flatMap((id) => idOf(id) ?? []),
    ),
    ...(await pagesOfMembers(asked)),
    wrongUser: await asked.ask('listLentLocks', { userToken: wrong ?? null }),
    withoutUser: await asked.ask('listLentLocks', { userToken: null }),
    refreshTokens: await asked.platform.refreshTokens(),
  };
}

async function productsOf(asked: Asked, assetIds: readonly string[]): Promise<Answer[]> {
  const { timestampUnit } = asked.config;
  const read: Answer[] = [];
  for (const assetId of [...new Set(assetIds)].slice(0, MAX_ASSETS)) {
    const answer = await asked.read('listAssetProducts', { ids: { assetId } }, (data, notes) =>
      toAssetProducts(data, timestampUnit, notes),
    );
    read.push(answer);
    const hasSeen = (list: string) => read.some((each) => itemsOf(objectOf(each)[list]).length > 0);
    if (answer.kind !== 'success' || (hasSeen('productInstanceList') && hasSeen('children'))) break;
  }
  return read;
}

/** The first page in several sizes, and one after the last. */
async function pagesOfMembers(asked: Asked) {
  const { config, findings } = asked;
  const pages = new Map<number, Answer>();
  const page = async (size: number, pageNum = '1') => {
    const answer = await asked.ask('listMembers', { query: { pageNum, pageSize: String(size) } });
    asked.decode(answer, (data, notes) => toMemberPage(data, config.timestampUnit, notes));
    return answer;
  };
  const first = async (size: number) => {
    const answer = await page(size);
    pages.set(size, answer);
    return answer;
  };
  const large = await first(LARGEST_PAGE);
  const working = large.kind === 'refused' ? await first(1) : large;
  // A platform that gives smaller pages refuses nothing that the gateway needs.
  findings.read(working);
  if (working.kind !== 'success') return { pages, firstPage: undefined, pageBeyond: undefined };
  if (large.kind === 'refused')
    await largest(LARGEST_PAGE, async (size) => {
      const { kind } = await first(size);
      return kind === 'failed' ? undefined : kind === 'success';
    });
  return { pages, firstPage: working, pageBeyond: await page(1, '9999') };
}

/** An empty list says nothing about its items, so it is told. */
function noteEmpty({ findings }: Asked, { assets, customers: of, member }: Answers): void {
  const products = (list: string) => member?.products.flatMap((answer) => itemsOf(objectOf(answer)[list]));
  const lists: [keyof typeof operations, path: string, came: boolean, items: readonly Row[] | undefined][] = [
    ['listAssets', 'data[]', assets.kind === 'success', rowsOf(assets)],
    ['queryCustomers', 'data[]', of?.all.kind === 'success', rowsOf(of?.all)],
    ['listAssetNums', 'data[]', member?.assetNums.kind === 'success', rowsOf(member?.assetNums)],
    ['listLentLocks', 'data[]', member?.lentLocks.kind === 'success', rowsOf(member?.lentLocks)],
    ['listMembers', 'data.list[]', member?.firstPage !== undefined, rowsOf(member?.firstPage)],
    ...['productInstanceList', 'children'].map(
      (list) =>
        [
          'listAssetProducts',
          `data.${list}[]`,
          member !== undefined,
          products(list),
        ] as (typeof lists)[number],
    ),
  ];
  for (const [name, path, came, items] of lists)
    if (came && items?.length === 0) findings.notSeen.push(`${operations[name].operationId} ${path}`);
}
