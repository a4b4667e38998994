import type { KnownReadings } from '../config/platform-profile.ts';
import { type ReadingName, readingNames, type Readings } from '../config/readings.ts';
import { isJsonText, numberText } from '../shared/json.ts';
import { readTime, type TimestampUnit } from '../upstream/wire/scalars.ts';
import type { Findings } from './findings.ts';
import type { Answer } from './platform.ts';
import { type Answers, MAX_PAGE_SIZE } from './answers.ts';
import { assetList, emptyForms, emptyLists, extendCode, flags } from './list-questions.ts';
import {
  accountSuffix,
  contradictsKeyword,
  deletedMembers,
  firstPage,
  keyword,
  mobiles,
} from './member-questions.ts';
import { tokenEnvelope, tokenRefusals, tokenStatus, tokenType } from './token-questions.ts';
import { countOf, hasList, idOf, objectOf, rowsOf } from './values.ts';

/** Finds the value in the answers. Undefined if no answer shows it, because the platform refused or a list was empty. */
type Question<Name extends ReadingName> = (answers: Answers) => KnownReadings[Name];

/** The readings that `firstRead` and `findTokenScope` try before any other question. */
export const triedFirst: readonly ReadingName[] = ['nonceForm', 'clientToken', 'userToken', 'tokenScope'];

/** The questions for the other readings that are found by reading. Some readings that are found by writing appear without it too. */
export const questions: { readonly [Name in ReadingName]?: Question<Name> } = {
  maxPageSize: ({ member }) => (member ? pageLimit(member) : undefined),
  largerPages: ({ member }) => {
    if (!member?.firstPage) return undefined;
    const large = member.pages.get(MAX_PAGE_SIZE);
    if (member.largestSize !== undefined) return 'refuse';
    return large && cutTo(large, member.nextPage) !== undefined ? 'cut' : undefined;
  },
  pageNumbers: ({ member }) => {
    const page = objectOf(member?.firstPage);
    const given = ['pageNum', 'pageSize', 'size', 'total'].flatMap((name) => page[name] ?? []);
    if (given.length === 0) return undefined;
    return given.some((value) => isJsonText(value)) ? 'text' : 'number';
  },
  pageTotal: ({ member }) => {
    if ((objectOf(member?.firstPage)['total'] ?? null) !== null) return 'given';
    return hasMembers(member?.firstPage) ? 'absent' : undefined;
  },
  pageFlags: ({ member }) => {
    const page = objectOf(member?.firstPage);
    if ('isLastPage' in page) return 'all';
    if ('hasNextPage' in page) return 'next';
    return hasMembers(member?.firstPage) ? 'none' : undefined;
  },
  pagesBeyond: ({ member }) => {
    if (member?.pageBeyond?.kind !== 'success') return undefined;
    if (hasMembers(member.pageBeyond)) return 'last';
    const isShown = objectOf(member.pageBeyond)['list'] !== undefined;
    return isShown && hasMembers(member.firstPage) ? 'empty' : undefined;
  },
  timestampUnit: ({ assets, member }) => {
    const rows = [...rowsOf(assets), ...rowsOf(member?.firstPage)];
    const times = rows.flatMap(({ createTime, updateTime }) => [createTime, updateTime]);
    const [unit, ...others] = new Set(times.flatMap((time) => unitOf(time) ?? []));
    return others.length === 0 ? unit : undefined;
  },
  refusalStatus: ({ refusals }) => {
    const statuses = new Set(refusals.map(({ status }) => status));
    if (statuses.has(200)) return statuses.has(299) ? 'both' : '200';
    return statuses.has(299) ? '299' : undefined;
  },
  refusalCode: ({ refusals }) => {
    if (refusals.length === 0) return undefined;
    return refusals.some(({ codeIs }) => codeIs === 'number') ? 'number' : 'text';
  },
  unknownEnterprise: ({ assets, assetsOfNobody }) => {
    if (hasList(assetsOfNobody) && rowsOf(assetsOfNobody).length === 0) return 'empty';
    // If a platform refuses the assets of every enterprise, its answer shows nothing about one that does not exist.
    if (assetsOfNobody.kind !== 'refused' || assets.kind !== 'success') return undefined;
    return assetsOfNobody.code === '13004' ? 'code' : 'other-code';
  },
  refreshTokens: ({ member }) => {
    if (member?.refreshTokens === undefined) return undefined;
    return member.refreshTokens === 'absent' ? 'absent' : 'given';
  },
  firstPage,
  deletedMembers,
  keyword,
  mobiles,
  accountSuffix,
  tokenEnvelope: ({ token }) => tokenEnvelope(token),
  tokenStatus: ({ token }) => tokenStatus(token),
  tokenType: ({ token }) => tokenType(token),
  tokenRefusals: ({ member }) => tokenRefusals(member?.unknownUser),
  emptyLists,
  flags,
  assetList,
  extendCode,
  memberIds: ({ member }) => {
    const ids = rowsOf(member?.firstPage).map(({ id }) => id);
    if (ids.some((id) => numberText(id) !== undefined)) return 'number';
    return ids.some((id) => idOf(id) !== undefined) ? 'text' : undefined;
  },
  otherIds: ({ assets }) => {
    const ids = rowsOf(assets).flatMap(({ id, customerId }) => [id, customerId]);
    if (ids.some((id) => numberText(id) !== undefined)) return 'number';
    // An id with letters is a text on every platform, so only ids of digits show the type.
    return ids.some((id) => /^\d+$/.test(idOf(id) ?? '')) ? 'text' : undefined;
  },
};

/** Tells whether the answers contradict the value that the earlier profile has. It is called if they show no value. */
type Contradiction<Name extends ReadingName> = (
  answers: Answers,
  value: Readings[Name],
  before: KnownReadings,
) => boolean;

const contradictions: { readonly [Name in ReadingName]?: Contradiction<Name> } = {
  maxPageSize: ({ member }, most, { largerPages }) =>
    [...(member?.pages ?? [])].some(
      ([size, page]) =>
        rowsOf(page).length > most || (largerPages === 'refuse' && size > most && page.kind === 'success'),
    ),
  keyword: contradictsKeyword,
  mobiles: ({ member }, value) =>
    value === 'absent' && rowsOf(member?.firstPage).some((row) => 'passwordMobile' in row),
  emptyLists: (answers) => emptyForms(answers).size > 1,
  refusalStatus: ({ refusals }) => refusals.length > 0,
  tokenStatus: ({ token }) => token?.tokenIn !== undefined,
  tokenType: ({ token }) => token?.tokenIn !== undefined,
};

/** `before` has the readings of the earlier profile. */
export function answerQuestions(answers: Answers, findings: Findings, before: KnownReadings): void {
  for (const name of readingNames) answer(name, answers, findings, before);
}

function answer<Name extends ReadingName>(
  name: Name,
  answers: Answers,
  findings: Findings,
  before: KnownReadings,
): void {
  const value = questions[name]?.(answers);
  const earlier = before[name];
  if (value !== undefined) findings.found(name, value);
  else if (earlier !== undefined && contradictions[name]?.(answers, earlier, before) === true)
    findings.contradicted(name);
}

/** Undefined if a time is not plausible in either unit, such as the smallest time of a database. */
function unitOf(time: unknown): TimestampUnit | undefined {
  return (['ms', 's'] as const).find((unit) => {
    const read = readTime(time, unit === 'ms' ? 's' : 'ms');
    return typeof read === 'object' && read.isOtherUnit;
  });
}

function hasMembers(page: Answer | undefined): boolean {
  return rowsOf(page).length > 0;
}

/** Returns the largest size that is not refused, or to which the platform cuts its pages. */
function pageLimit({ pages, largestSize, nextPage }: NonNullable<Answers['member']>): number | undefined {
  const large = pages.get(MAX_PAGE_SIZE);
  return largestSize ?? (large && cutTo(large, nextPage));
}

/**
 * Returns the size to which the platform has cut the largest page: the next page has other members, or both pages name a smaller size.
 * Undefined if it did not cut the page, or if the answers do not show it. A total alone does not show it, because it may be wrong.
 */
function cutTo(page: Answer, next: Answer | undefined): number | undefined {
  const shown = objectOf(page);
  const came = rowsOf(page).length;
  const size = countOf(shown['pageSize']) ?? MAX_PAGE_SIZE;
  const ids = new Set(rowsOf(page).map(({ globalId }) => idOf(globalId)));
  const others = rowsOf(next);
  // A platform may repeat its last page, and the page may have one more member by then.
  const hasMore = others.length > 0 && !others.some(({ globalId }) => ids.has(idOf(globalId)));
  const isNamed = size < MAX_PAGE_SIZE && size > came && countOf(objectOf(next)['pageSize']) === size;
  if (came === 0 || came >= MAX_PAGE_SIZE || !(hasMore || isNamed)) return undefined;
  return Math.max(size < MAX_PAGE_SIZE ? size : 1, came);
}
