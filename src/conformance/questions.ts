import { randomBytes } from 'node:crypto';
import type { UpstreamConfig } from '../config/app-config.ts';
import type { KnownReadings } from '../config/platform-profile.ts';
import { toAssetProducts } from '../member/asset-products.mapper.ts';
import { toAssetNums, toLentLocks, toMemberPage } from '../member/member.mapper.ts';
import { toAssets, toCustomers } from '../order/order.mapper.ts';
import { isJsonText, numberText } from '../shared/json.ts';
import { freshNonce } from '../upstream/credential-forms.ts';
import { ContractNotes } from '../upstream/gaps.ts';
import type { OperationName } from '../upstream/operations.ts';
import { ContractViolation } from '../upstream/upstream-failure.ts';
import type { UpstreamRequest } from '../upstream/upstream.exchange.ts';
import type { Findings } from './findings.ts';
import { type Answer, CannotAsk, type Platform } from './platform.ts';

/** No id of a platform begins so. */
const UNKNOWN = `conformance-unknown-${randomBytes(4).toString('hex')}`;
/** The gateway asks for no larger pages. */
const LARGEST_PAGE = 200;
/** Times after 1973 in ms are larger, and times before the year 5138 in s are not. */
const FIRST_MS = 100_000_000_000;
const MAX_SKEW_MS = 60_000;

type Record_ = Readonly<Record<string, unknown>>;

export interface Asked {
  readonly platform: Platform;
  readonly findings: Findings;
  readonly config: UpstreamConfig;
  readonly enterpriseGlobalId: string;
  readonly channelCode: string | undefined;
}

/** All that can be asked by reading: tokens, clock, nonce, every read of the enterprise, the forms of refusals, pages. */
export async function askByReading(asked: Asked): Promise<void> {
  const { platform, findings } = asked;
  const refusals: Answer[] = [];
  const assets = await readAll(asked, 'listAssets', {}, (data, notes) =>
    toAssets(data, asked.config.timestampUnit, notes),
  );
  if (assets.kind === 'refused')
    throw new CannotAsk(
      `The platform refuses the assets of ${asked.enterpriseGlobalId} (code ${assets.details.code}): check --enterprise, and what the application may read.`,
    );
  clock(assets, findings);
  refusals.push(...(await refusalsOfOrders(asked)));
  const unknown = await platform.ask('listAssets', { ids: { enterpriseGlobalId: UNKNOWN } });
  if (unknown.kind === 'refused') refusals.push(unknown);
  findings.found('unknownEnterprise', unknown.kind === 'refused' ? 'code' : 'empty');
  if (asked.channelCode !== undefined)
    await readAll(asked, 'queryCustomers', { query: { channelCode: asked.channelCode } }, toCustomers);
  if (platform.hasUser) refusals.push(...(await memberReads(asked, dataOf(assets))));
  else
    findings.remark('UPSTREAM_USERS_FILE has no user `default`, so nothing of the member center was asked.');
  const nonce = freshNonce(asked.config.profile.of('nonceForm'));
  const ids = { enterpriseGlobalId: asked.enterpriseGlobalId };
  await platform.ask('listAssets', { ids, nonce });
  const again = await platform.ask('listAssets', { ids, nonce });
  if (again.kind === 'refused') refusals.push(again);
  else findings.remark('The platform takes a nonce twice, so it does not protect against replays.');
  forms(refusals, findings);
  units([assets], findings);
}

async function readAll(
  { platform, findings, enterpriseGlobalId }: Asked,
  name: OperationName,
  question: Pick<UpstreamRequest, 'ids' | 'query'>,
  decode: (data: unknown, notes: ContractNotes) => unknown,
): Promise<Answer> {
  const answer = await platform.ask(name, { ids: { enterpriseGlobalId }, ...question });
  if (answer.kind !== 'success') return answer;
  const notes = new ContractNotes();
  try {
    decode(answer.data, notes);
    findings.note(name, notes);
  } catch (error) {
    if (!(error instanceof ContractViolation)) throw error;
    findings.remark(`${name}: the gateway cannot read the answer: ${error.message}.`, true);
  }
  return answer;
}

/** Of reads that cannot be right. */
async function refusalsOfOrders({ platform, findings }: Asked): Promise<Answer[]> {
  const answer = await platform.ask('queryCustomers', { query: {} });
  if (answer.kind === 'refused') return [answer];
  findings.remark('The platform lists customers without a channel.');
  return [];
}

async function memberReads(asked: Asked, assets: readonly Record_[]): Promise<Answer[]> {
  const { platform, findings, config } = asked;
  const unit = config.timestampUnit;
  findings.found('refreshTokens', (await platform.refreshes()) ? 'given' : 'absent');
  await readAll(asked, 'listAssetNums', {}, toAssetNums);
  await readAll(asked, 'listLentLocks', {}, toLentLocks);
  const assetId = idOf(assets[0]?.['id']);
  if (assetId !== undefined)
    await readAll(asked, 'listAssetProducts', { ids: { assetId } }, (data, notes) =>
      toAssetProducts(data, unit, notes),
    );
  await pages(asked);
  const ids = { enterpriseGlobalId: asked.enterpriseGlobalId };
  const answers = [await platform.ask('listAssetProducts', { ids: { assetId: UNKNOWN } })];
  for (const userToken of [UNKNOWN, null]) {
    const answer = await platform.ask('listLentLocks', { ids, userToken });
    if (answer.kind === 'success')
      findings.remark(
        `The platform answers ${userToken === null ? 'without a' : 'to a wrong'} userToken.`,
        true,
      );
    answers.push(answer);
  }
  if (assets.some((each) => [each['id'], each['customerId']].some((id) => numberText(id) !== undefined)))
    findings.found('otherIds', 'number');
  else if (assets.some((each) => /^\d+$/.test(String(each['id'])))) findings.found('otherIds', 'text');
  return answers.filter(({ kind }) => kind === 'refused');
}

/** The first page in several sizes. */
async function pages(asked: Asked): Promise<void> {
  const { findings, config } = asked;
  const decode = (data: unknown, notes: ContractNotes) => toMemberPage(data, config.timestampUnit, notes);
  const page = (size: number) =>
    readAll(asked, 'listMembers', { query: { pageNum: '1', pageSize: String(size) } }, decode);
  const large = await page(LARGEST_PAGE);
  const small = large.kind === 'success' ? large : await page(1);
  if (small.kind !== 'success')
    return findings.remark(`The platform refuses a page of members (code ${small.details.code}).`, true);
  const shown = (small.data ?? {}) as Record_;
  const members = itemsOf(shown['list']);
  const numbers = ['pageNum', 'pageSize', 'size', 'total'].map((name) => shown[name]);
  findings.found('pageNumbers', numbers.some((value) => isJsonText(value)) ? 'text' : 'number');
  findings.found('pageTotal', 'total' in shown ? 'given' : 'absent');
  findings.found('pageFlags', 'isLastPage' in shown ? 'all' : 'hasNextPage' in shown ? 'next' : 'none');
  const [member] = members;
  if (member) findings.found('memberIds', numberText(member['id']) === undefined ? 'text' : 'number');
  units([small], findings);
  if (large.kind !== 'success') {
    findings.found('largerPages', 'refuse');
    findings.found(
      'maxPageSize',
      await largest(LARGEST_PAGE, async (size) => (await page(size)).kind === 'success'),
    );
    return;
  }
  const total = countOf(shown['total']) ?? 0;
  const size = countOf(shown['pageSize']) ?? LARGEST_PAGE;
  const isCut =
    members.length < Math.min(total, LARGEST_PAGE) || (size < LARGEST_PAGE && size > members.length);
  if (members.length > 0 && isCut) {
    findings.found('largerPages', 'cut');
    findings.found('maxPageSize', Math.max(size < LARGEST_PAGE ? size : 1, members.length));
  }
  await askBeyond(asked);
}

/** A page after the last one. */
async function askBeyond({ platform, findings, enterpriseGlobalId }: Asked): Promise<void> {
  const query = { pageNum: '9999', pageSize: '1' };
  const answer = await platform.ask('listMembers', { ids: { enterpriseGlobalId }, query });
  if (answer.kind !== 'success') return;
  const { list } = (answer.data ?? {}) as Record_;
  findings.found('pagesBeyond', itemsOf(list).length === 0 ? 'empty' : 'last');
}

/** The first members, or those that a word finds, in a page that the platform gives. */
export async function pageOfMembers(
  { platform, findings, enterpriseGlobalId }: Asked,
  keyword?: string,
): Promise<{ members: readonly Record_[]; total: number | undefined }> {
  const pageSize = String(Math.min(LARGEST_PAGE, findings.readings.maxPageSize ?? LARGEST_PAGE));
  const query = { keyword, pageNum: '1', pageSize };
  const answer = await platform.ask('listMembers', { ids: { enterpriseGlobalId }, query });
  if (answer.kind !== 'success')
    throw new CannotAsk('The members of the enterprise cannot be read any more.');
  const { list, total } = (answer.data ?? {}) as Record_;
  return { members: itemsOf(list), total: countOf(total) };
}

/** The largest number below `refused` that is taken; 1 is. */
export async function largest(
  refused: number,
  isTaken: (number: number) => Promise<boolean>,
): Promise<number> {
  let [taken, beyond] = [1, refused];
  while (beyond - taken > 1) {
    const middle = Math.floor((taken + beyond) / 2);
    if (await isTaken(middle)) taken = middle;
    else beyond = middle;
  }
  return taken;
}

function clock({ sentAt }: Answer, findings: Findings): void {
  const skew = sentAt === undefined ? 0 : Math.abs(sentAt - Date.now());
  if (skew > MAX_SKEW_MS)
    findings.remark(
      `The clocks of the platform and of this machine differ by ${Math.round(skew / 1000)} s: orders in doubt may be mistaken. Set this one by NTP.`,
      true,
    );
}

/** What all refusals have in common. */
function forms(refusals: readonly Answer[], findings: Findings): void {
  const statuses = new Set(refusals.map(({ status }) => status));
  const other = [...statuses].filter((status) => status !== 200 && status !== 299);
  if (other.length > 0) findings.remark(`Refusals come with HTTP ${other.join(', ')} too.`);
  const value: KnownReadings['refusalStatus'] = statuses.has(200)
    ? statuses.has(299)
      ? 'both'
      : '200'
    : '299';
  if (statuses.has(200) || statuses.has(299)) findings.found('refusalStatus', value);
  if (refusals.length > 0)
    findings.found('refusalCode', refusals.some(({ codeIs }) => codeIs === 'number') ? 'number' : 'text');
}

function units(answers: readonly Answer[], findings: Findings): void {
  const rows = answers.flatMap((answer) => (answer.kind === 'success' ? rowsOf(answer.data) : []));
  const times = rows.map((row) => Number(numberText(row['createTime']))).filter((time) => time > 0);
  const [time] = times;
  if (time !== undefined) findings.found('timestampUnit', time < FIRST_MS ? 's' : 'ms');
}

function rowsOf(data: unknown): readonly Record_[] {
  return Array.isArray(data) ? itemsOf(data) : itemsOf((data as Record_ | null)?.['list']);
}

export function itemsOf(list: unknown): readonly Record_[] {
  return Array.isArray(list)
    ? list.filter((item): item is Record_ => typeof item === 'object' && item !== null)
    : [];
}

export function dataOf(answer: Answer): readonly Record_[] {
  return answer.kind === 'success' ? itemsOf(answer.data) : [];
}

/** An id as it was sent, a text or a number of any size; undefined where there is none. */
export function idOf(value: unknown): string | undefined {
  return numberText(value) ?? (isJsonText(value) && value !== '' ? value : undefined);
}

function countOf(value: unknown): number | undefined {
  const text = numberText(value) ?? (isJsonText(value) ? value : undefined);
  return text !== undefined && /^\d{1,9}$/.test(text) ? Number(text) : undefined;
}
