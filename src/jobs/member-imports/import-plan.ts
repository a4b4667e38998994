import { sameCase } from '../../member/account-suffix.ts';
import { CLEARABLE } from '../../member/dto/member.dto.ts';
import { isMasked, isWhole, MASKED, mayBe } from '../../member/mobile-number.ts';
import { inOwnTrace } from '../../observability/tracing.ts';
import type { ProblemSlug } from '../../problem/catalogue.ts';
import { ProblemException } from '../../problem/problem.exception.ts';
import type { ChunkRows, HeldJob } from '../store/held-job.ts';
import {
  type ImportOptions,
  ROWS_PER_CHUNK,
  type RowResult,
  type WaitingMember,
  type WaitingRow,
} from '../store/job-record.ts';
import { accountOf, isAccount } from './account-of.ts';
import type { ImportCalls } from './import-calls.ts';
import type { KnownMember, KnownMembers, MeantMember } from './known-members.ts';
import { callProblem, type RowOutcome } from './row-outcomes.ts';

const PAUSE_MS = 1_000;
const MAX_PAUSE_MS = 30_000;
const EXISTS = 'A member with this account exists already.';
const OTHER = 'The account is there under another user name: the file may be of another enterprise.';
const NO_SUFFIX =
  'The row names its member by the user name, and the code of the enterprise that the platform appends to accounts is not known. Name the account.';
const COMPARED = ['name', ...CLEARABLE] as const;
type Compared = (typeof COMPARED)[number];

/** True if a row changes the member. Fields that the row leaves out do not change. */
function differs(row: WaitingMember, member: MeantMember): boolean {
  return COMPARED.some((field) => !isSame(row, member, field) && isComparable(row, member, field));
}

function isSame(row: WaitingMember, member: MeantMember, field: Compared): boolean {
  return row[field] === undefined || comparable(row[field]) === comparable(member[field]);
}

/** False for a field that the platform hides. A number that the platform shows in part is comparable only if that part differs. */
function isComparable(row: WaitingMember, { hidden, ...shown }: MeantMember, field: Compared): boolean {
  if (field !== 'passwordMobile') return field === 'name' || !hidden.includes(field);
  const { passwordMobile = '' } = row;
  if (hidden.includes(field) || isMasked(passwordMobile)) return false;
  return isWhole(shown.passwordMobile) || !mayBe(passwordMobile, shown.passwordMobile ?? '');
}

/** Returns a text as it returns in a file: in normal form C, without blanks around it, and with uniform line ends. */
function comparable(text: string | null): string {
  return (text ?? '').normalize('NFC').trim().replaceAll(/\r\n?/g, '\n');
}

/**
 * True if the row names another member. A row with a whole user name means exactly that member and no other one with the same account,
 * because the file may come from another enterprise.
 */
function isOther({ userName }: WaitingMember, member: MeantMember): boolean {
  const isWholeName = userName !== undefined && accountOf(userName) !== userName;
  return isWholeName && sameCase(userName) !== sameCase(member.userName);
}

/** Returns why a file cannot add or change the member of a row. Undefined if it can. */
function impossible(
  row: WaitingMember,
  members: KnownMembers,
  member: MeantMember | undefined,
): string | undefined {
  const account = members.accountOf(row);
  if (account === undefined) return NO_SUFFIX;
  if (!isAccount(account))
    return 'The account has other characters than letters and digits: a file can neither add nor change such a member.';
  if (row.name === undefined)
    return `The row has no name, which ${member ? 'a change of a member' : 'a new member'} needs.`;
  return member || row.password !== undefined
    ? undefined
    : 'The row has no password, which a new member needs.';
}

/** Decides what to do with a row before anything is sent. If there is nothing to do, the row gets its result at once. */
export function plannedRow(
  row: WaitingMember,
  members: KnownMembers,
  mode: ImportOptions['mode'],
): RowResult {
  const [member, twin] = members.meantBy(row);
  if (twin)
    return failed(
      row.account,
      'member-ambiguous',
      `The platform has two members with this account, which differ in the case of letters only: ${member?.userName} and ${twin.userName}.`,
    );
  const account = members.accountOf(row) ?? row.account;
  const reason = impossible(row, members, member);
  if (!member) {
    if (reason !== undefined) return failed(account, 'validation-failed', reason);
    if (isMasked(row.passwordMobile)) return failed(account, 'validation-failed', `passwordMobile ${MASKED}`);
    return { account, status: 'pending', ...(members.mayHave(account) && { was: 'perhaps' }) };
  }
  const { memberGlobalId } = member;
  if (mode === 'add') return { ...failed(account, 'upstream-rejected', EXISTS), memberGlobalId };
  if (isOther(row, member)) return { ...failed(account, 'validation-failed', OTHER), memberGlobalId };
  if (differs(row, member))
    return reason === undefined
      ? { account, status: 'pending', was: 'different', memberGlobalId }
      : { ...failed(account, 'validation-failed', reason), memberGlobalId };
  const open = COMPARED.filter((field) => !isSame(row, member, field));
  const message = `The platform does not show all of ${open.join(', ')}, so it was not compared.`;
  return { account, status: 'unchanged', memberGlobalId, ...(open.length > 0 && { message }) };
}

function failed(account: string, code: ProblemSlug, message: string): RowResult {
  return { account, status: 'failed', code, message };
}

/**
 * Returns the members who are missing from the file, without the acting user, the accounts to keep, and members whom no file can add.
 * Throws `too-many-deletes` if there are more than the request allows, and `suffix-unknown`. A name that differs only in case protects its
 * member too: the platform does not say whether it distinguishes case, and a deleted member cannot be restored.
 */
export function surplus(
  members: KnownMembers,
  accounts: Iterable<string>,
  { deletes }: ImportOptions,
  actingUser: string,
): readonly KnownMember[] {
  if (!deletes) return [];
  members.assertSuffix();
  const kept = new Set([...accounts, ...deletes.keep, actingUser].map(sameCase));
  // The user may log in with another form of the name than the list shows.
  const user = lettersOf(actingUser);
  const found = members.all().filter(({ account, userName }) => {
    const isKept = kept.has(sameCase(account)) || kept.has(sameCase(userName));
    return !isKept && lettersOf(userName) !== user;
  });
  if (found.length > deletes.most)
    throw new ProblemException('too-many-deletes', {
      detail: `${found.length} members are not in the file, and maxDeletes allows to delete ${deletes.most}.`,
    });
  return found;
}

function lettersOf(name: string): string {
  return sameCase(name).replace(/[^\p{L}\p{N}]/gu, '');
}

/** Returns the result of a row whose call may have been carried out, as the list of members shows it. */
export function foundOutcome(
  row: WaitingMember,
  { was, memberGlobalId = '' }: RowResult,
  members: KnownMembers,
): RowOutcome {
  const [member] = members.meantBy(row);
  switch (was) {
    case undefined:
      return member && { status: 'added', memberGlobalId: member.memberGlobalId };
    case 'perhaps':
      return undefined;
    case 'surplus':
      return members.has(memberGlobalId) ? undefined : { status: 'deleted' };
    case 'different':
      return member && !differs(row, member)
        ? { status: 'updated', memberGlobalId: member.memberGlobalId }
        : undefined;
  }
}

/** The accounts that a file names. */
export class NamedAccounts {
  readonly all = new Set<string>();
  /** The names that are certainly accounts. An account that was read from a user name may still have the suffix. */
  readonly given = new Set<string>();

  add({ account, userName }: WaitingMember): void {
    this.all.add(account);
    if (userName === undefined) this.given.add(account);
  }
}

/**
 * Adds chunks with the members to delete, and resolves to the number of chunks. It may be repeated as long as nothing was sent. A job that
 * is cancelled meanwhile gets no plan.
 */
export async function makePlan(held: HeldJob, calls: ImportCalls): Promise<number> {
  const { definition, total } = held.job;
  const named = new NamedAccounts();
  let isComplete = true;
  for (let chunk = 0; chunk < held.job.chunks; chunk++) {
    const rows = await held.chunk(chunk);
    for (const { account } of rows?.results ?? []) named.all.add(account);
    for (const { member } of rows?.waiting ?? []) named.add(member);
    isComplete &&= rows !== undefined;
  }
  const members = await readMembers(held, calls, named.given);
  if (!members) return held.job.chunks;
  for (let chunk = 0; chunk < held.job.chunks; chunk++) {
    const rows = await held.chunk(chunk);
    if (rows) await planChunk(held, chunk, rows, members);
    else isComplete = false;
  }
  // Only a complete file shows who is missing from it.
  const deletions = isComplete ? surplus(members, named.all, definition, definition.user.username) : [];
  let { chunks } = held.job;
  for (let from = 0; from < deletions.length; from += ROWS_PER_CHUNK)
    await held.save(chunks++, deletionRows(deletions.slice(from, from + ROWS_PER_CHUNK)));
  await held.prepared(chunks, total + deletions.length);
  return chunks;
}

async function planChunk(
  held: HeldJob,
  chunk: number,
  { results, waiting }: ChunkRows,
  members: KnownMembers,
): Promise<void> {
  const planned = [...results];
  for (const { at, member } of waiting) planned[at] = plannedRow(member, members, held.job.definition.mode);
  // The chunk already marks its rows as new.
  if (planned.every(({ status, was }) => status === 'pending' && was === undefined)) return;
  const open = waiting.filter(({ at }) => planned[at]?.status === 'pending');
  await held.save(chunk, { results: planned, waiting: open.map((row) => asKnown(row, members)) });
}

/**
 * Returns the row with the account in the platform's case of letters, because a row renames no account. A number that is only the part
 * which the platform shows is left out.
 */
export function asKnown(row: WaitingRow, members: KnownMembers): WaitingRow {
  const [known] = members.meantBy(row.member);
  const { passwordMobile, ...rest } = row.member;
  const account = known?.account ?? members.accountOf(row.member) ?? rest.account;
  const isPart =
    known !== undefined &&
    (isMasked(passwordMobile) || (!isWhole(known.passwordMobile) && passwordMobile === known.passwordMobile));
  const isSent = passwordMobile !== undefined && !isPart;
  return { ...row, member: { ...rest, account, ...(isSent && { passwordMobile }) } };
}

function deletionRows(members: readonly KnownMember[]): ChunkRows {
  const results = members.map(({ account, memberGlobalId }): RowResult => {
    return { account, memberGlobalId, status: 'pending', was: 'surplus' };
  });
  return { results, waiting: members.map(({ account }, at) => withoutValues(account, at)) };
}

/** Returns a row without values: of a member to delete, or of a row whose values were deleted. */
export function withoutValues(account: string, at: number): WaitingRow {
  return { at, member: { account } };
}

/** Reads until the platform returns the whole list, or until the job may not go on. Resolves to undefined if the job is cancelled meanwhile. */
async function readMembers(
  held: HeldJob,
  calls: ImportCalls,
  accounts: ReadonlySet<string>,
): Promise<KnownMembers | undefined> {
  for (let pauseMs = PAUSE_MS; ; pauseMs = Math.min(2 * pauseMs, MAX_PAUSE_MS)) {
    held.assertHeld();
    try {
      return await inOwnTrace('import', () => calls.all(accounts), held.job.definition.trace);
    } catch (error) {
      const problem = callProblem(error);
      const { outcome, status } = problem.body;
      if (held.isOverdue || outcome !== 'not_processed' || status < 500) throw problem;
      await held.pause(pauseMs);
      if ((await held.read()).isCancelled) return undefined;
    }
  }
}
