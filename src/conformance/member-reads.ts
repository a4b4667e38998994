import { toAssetProducts } from '../member/asset-products.mapper.ts';
import { toAssetNums, toLentLocks, toMemberPage } from '../member/member.mapper.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import { codeModules } from '../config/taught-codes.ts';
import { accessToken } from '../token/principal.ts';
import type { ContractNotes } from '../upstream/gaps.ts';
import { type Keyword, type Keywords, MAX_PAGE_SIZE, type MemberAnswers } from './answers.ts';
import { type Asked, UNKNOWN_ID } from './asked.ts';
import { impersonal } from './impersonal.ts';
import { firstOf } from './member-questions.ts';
import type { Answer } from './platform.ts';
import type { TokenLook } from './token-questions.ts';
import { countOf, idOf, itemsOf, largest, objectOf, type Row, rowsOf } from './values.ts';

/** The headers of the member center, in each form. */
const HEADERS: readonly KnownReadings[] = (['bare', 'bearer'] as const).flatMap((userToken) =>
  (['bare', 'bearer'] as const).map((clientToken) => ({ clientToken, userToken })),
);

/** The most assets whose products the command reads. It reads fewer once it has seen a product and a package. */
const MAX_ASSETS = 10;

export async function memberReads(asked: Asked, assets: readonly Row[]): Promise<MemberAnswers> {
  const assetNums = await asked.firstRead('listAssetNums', HEADERS, toAssetNums);
  const ids = [...assets.map(({ id }) => id), ...rowsOf(assetNums).map(({ assetId }) => assetId)];
  await asked.ask('listAssetProducts', { ids: { assetId: UNKNOWN_ID } });
  const wrong = accessToken(UNKNOWN_ID, undefined);
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
    unknownUser: await unknownUser(asked),
  };
}

async function unknownUser({ platform, findings, config }: Asked): Promise<TokenLook | undefined> {
  const look = await platform.logIn(UNKNOWN_ID);
  const { code = '0', message } = look ?? {};
  const isTaught = codeModules.some((module) => config.profile.taught(module, code) !== undefined);
  if (code !== '0' && !isTaught)
    findings.metAtTokenEndpoint(code, impersonal(message ?? '', { username: UNKNOWN_ID }));
  return look;
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

/** Reads the first page in several sizes, page 0 and a page beyond the end, and the results of keywords. */
async function pagesOfMembers(asked: Asked) {
  const { config, findings } = asked;
  const pages = new Map<number, Answer>();
  const decode = (data: unknown, notes: ContractNotes) => toMemberPage(data, config.timestampUnit, notes);
  const ask = (pageNum: string, size: number) =>
    asked.ask('listMembers', { query: { pageNum, pageSize: String(size) } });
  const inSize = async (pageNum: string, size: number) => {
    const answer = await ask(pageNum, size);
    if (answer.kind === 'success' || !pages.has(size)) pages.set(size, answer);
    return answer;
  };
  /**
   * Reads a page in the largest size, or in size 1 if that is refused: a platform with smaller pages refuses nothing that the gateway
   * needs.
   */
  const inAnySize = async (pageNum: string) => {
    const large = await inSize(pageNum, MAX_PAGE_SIZE);
    return large.kind === 'refused' ? inSize(pageNum, 1) : large;
  };
  const usual = await inAnySize('1');
  const pageZero = await ask('0', 1);
  // The page has the same size, because a platform may return its only large page for any number.
  const pageOne = rowsOf(pageZero).length > 0 ? await ask('1', 1) : usual;
  const isFromZero = firstOf(pageZero, pageOne) === 0;
  if (isFromZero) pages.clear();
  const first = isFromZero ? await inAnySize('0') : usual;
  findings.read(first);
  if (first.kind !== 'success') return { pages, pageOne, pageZero };
  const number = isFromZero ? '0' : '1';
  const isRefused = pages.get(MAX_PAGE_SIZE)?.kind === 'refused';
  const isTaken = async (size: number) => {
    const { kind } = await inSize(number, size);
    return kind === 'failed' ? undefined : kind === 'success';
  };
  const largestSize = isRefused ? await largest(MAX_PAGE_SIZE, isTaken) : undefined;
  const sizes = [...pages].flatMap(([size, { kind }]) => (kind === 'success' ? [size] : []));
  const size = Math.max(...sizes);
  const firstPage = pages.get(size) ?? first;
  asked.decode(firstPage, decode);
  const query = { pageNum: number, pageSize: String(size) };
  const find = (keyword: string) => asked.read('listMembers', { query: { ...query, keyword } }, decode);
  return {
    ...{ pages, largestSize, pageOne, pageZero },
    firstPage,
    nextPage:
      size === MAX_PAGE_SIZE && mayBeCut(firstPage)
        ? await ask(String(Number(number) + 1), MAX_PAGE_SIZE)
        : undefined,
    pageBeyond: await ask('9999', 1),
    keywords: await keywords(rowsOf(firstPage), find),
    membersOfNothing: await asked.ask('listMembers', { query: { ...query, keyword: UNKNOWN_ID } }),
  };
}

/** True if the platform may have cut a page of the largest size. The next page shows it. */
function mayBeCut(page: Answer): boolean {
  const { total, pageSize } = objectOf(page);
  const came = rowsOf(page).length;
  const isAll = countOf(total) === came && (countOf(pageSize) ?? MAX_PAGE_SIZE) === MAX_PAGE_SIZE;
  return came < MAX_PAGE_SIZE && !isAll;
}

/**
 * Sends the parts of a member as keywords. It is the member with the longest name that is no part of the account, so that the results show
 * which of the two a keyword matches.
 */
async function keywords(
  members: readonly Row[],
  find: (keyword: string) => Promise<Answer>,
): Promise<Keywords | undefined> {
  const known = members.flatMap((of) => {
    const [name, account, globalId] = [of['name'], of['userName'], of['globalId']].map((each) => idOf(each));
    const isSuitable = name && account && globalId && !account.toLowerCase().includes(name.toLowerCase());
    return isSuitable ? [{ of, account, globalId, letters: [...name] }] : [];
  });
  const [chosen] = known.toSorted((one, other) => other.letters.length - one.letters.length);
  if (!chosen || chosen.letters.length < 3) return undefined;
  const { of, account, globalId, letters } = chosen;
  const asked = new Map<Keyword, Answer>();
  const isFound = async (as: Keyword, keyword: string) => {
    const answer = await find(keyword.trim());
    asked.set(as, answer);
    return rowsOf(answer).some((row) => idOf(row['globalId']) === globalId);
  };
  if (!(await isFound('name', letters.join('')))) await isFound('account', account);
  else if (!(await isFound('inner', letters.slice(1, -1).join(''))))
    await isFound('beginning', letters.slice(0, -1).join(''));
  return { of, asked };
}
