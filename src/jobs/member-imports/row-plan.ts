import { sameCase } from '../../member/account-suffix.ts';
import { CLEARABLE } from '../../member/dto/member.dto.ts';
import { isMasked, MASKED, mayBe } from '../../member/mobile-number.ts';
import type { ProblemSlug } from '../../problem/catalogue.ts';
import type { ImportOptions, RowResult, WaitingMember, WaitingRow } from '../store/job-record.ts';
import { accountOf, isAccount } from './account-of.ts';
import type { KnownMember, KnownMembers, MeantMember } from './known-members.ts';
import { hasValues, type RowOutcome } from './row-outcomes.ts';

const EXISTS = 'A member with this account exists already.';
const OTHER = 'The account is there under another user name: the file may be of another enterprise.';
const TWO = 'The account and the user name of this row are of two members. Leave one of them out.';
const FOREIGN =
  'The user name does not end in the code of this enterprise: the file may be of another enterprise. Name the account if it is not.';
const NO_ACCOUNT =
  'The row names its member by the user name, and the gateway cannot tell the account in it from the code that the platform appends to accounts. Name the account.';
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
  return !shown.isMobilePart || !mayBe(passwordMobile, shown.passwordMobile ?? '');
}

/** Returns a text as it returns in a file: in normal form C, without blanks around it, and with uniform line ends. */
function comparable(text: string | null): string {
  return (text ?? '').normalize('NFC').trim().replaceAll(/\r\n?/g, '\n');
}

/** Returns why it is not certain whom a row names. A whole user name means one member, and no other one with the same account. */
function strangeness(
  row: WaitingMember,
  members: KnownMembers,
  member: MeantMember | undefined,
): string | undefined {
  const { userName } = row;
  const isWholeName = userName !== undefined && !isAccount(userName);
  if (members.namesTwo(row)) return TWO;
  if (isWholeName && member && sameCase(userName) !== sameCase(member.userName)) return OTHER;
  return members.isForeign(row) ? FOREIGN : undefined;
}

/** Returns why a file cannot add or change the member of a row. Undefined if it can. */
function impossible(
  row: WaitingMember,
  members: KnownMembers,
  member: MeantMember | undefined,
): string | undefined {
  const account = members.accountOf(row);
  if (account === undefined) return NO_ACCOUNT;
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
  const result = resultOf(row, members, mode);
  const inFile = row.userName === undefined ? row.account : accountOf(row.userName);
  return inFile === result.account ? result : { ...result, inFile };
}

function resultOf(row: WaitingMember, members: KnownMembers, mode: ImportOptions['mode']): RowResult {
  const [member, twin] = members.meantBy(row);
  if (twin)
    return failed(
      member?.account ?? row.account,
      'member-ambiguous',
      `The platform has two members with this account, which differ in the case of letters only: ${member?.userName} and ${twin.userName}.`,
    );
  const strange = strangeness(row, members, member);
  if (strange !== undefined)
    return {
      ...failed(row.account, 'validation-failed', strange),
      ...(member && { memberGlobalId: member.memberGlobalId }),
    };
  const account = members.accountOf(row) ?? (member && row.userName) ?? row.account;
  const reason = impossible(row, members, member);
  if (!member) {
    if (reason !== undefined) return failed(account, 'validation-failed', reason);
    if (isMasked(row.passwordMobile)) return failed(account, 'validation-failed', `passwordMobile ${MASKED}`);
    return { account, status: 'pending', ...(members.mayBegin(account) && { was: 'perhaps' }) };
  }
  const { memberGlobalId } = member;
  if (mode === 'add') return { ...failed(account, 'upstream-rejected', EXISTS), memberGlobalId };
  if (differs(row, member))
    return reason === undefined
      ? { account, status: 'pending', was: 'different', memberGlobalId }
      : { ...failed(account, 'validation-failed', reason), memberGlobalId };
  const open = COMPARED.filter((field) => !isSame(row, member, field));
  const message = `The platform does not show all of ${open.join(', ')}, so it was not compared.`;
  return { account, status: 'unchanged', memberGlobalId, ...(open.length > 0 && { message }) };
}

/** True if a row was to add a member, and a member with its account is there. */
export function existsAlready({ status, message }: RowResult): boolean {
  return status === 'failed' && message === EXISTS;
}

function isStrange({ status, message }: RowResult): boolean {
  return status === 'failed' && (message === OTHER || message === TWO || message === FOREIGN);
}

function failed(account: string, code: ProblemSlug, message: string): RowResult {
  return { account, status: 'failed', code, message };
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
    (isMasked(passwordMobile) || (known.isMobilePart && passwordMobile === known.passwordMobile));
  const isSent = passwordMobile !== undefined && !isPart;
  return { ...row, member: { ...rest, account, ...(isSent && { passwordMobile }) } };
}

/**
 * Returns the result of a row whose call may have been carried out, as the list of members shows it. A deletion that is sent again has none
 * yet, because its response is more certain than a list without the member.
 */
export function foundOutcome(
  row: WaitingMember,
  { was, memberGlobalId = '' }: RowResult,
  members: KnownMembers,
  isSentAgain: boolean,
): RowOutcome {
  const [member] = members.meantBy(row);
  switch (was) {
    case undefined:
      return member && { status: 'added', memberGlobalId: member.memberGlobalId };
    case 'perhaps':
      return undefined;
    case 'surplus':
      return !isSentAgain && members.lacks(memberGlobalId) ? { status: 'deleted' } : undefined;
    case 'different':
      return member && hasValues(row) && !differs(row, member)
        ? { status: 'updated', memberGlobalId: member.memberGlobalId }
        : undefined;
  }
}

/**
 * Plans the rows of a file in their order. Two rows may name the same account, one of them by a user name: that is known only together with
 * the code of the enterprise, so the check of the file cannot find it.
 */
export class RowPlanner {
  /** The number of the first row of each account. */
  readonly #rowOf = new Map<string, number>();
  /** The accounts and user names that the rows name, in lower case. */
  readonly #names = new Set<string>();
  /** The ids of the members whom the rows mean. */
  readonly #meant = new Set<string>();
  #isOfAnother = false;

  constructor(
    private readonly members: KnownMembers,
    private readonly mode: ImportOptions['mode'],
  ) {}

  /** True if a row so far seems to be of another enterprise, or names two members. */
  get isOfAnother(): boolean {
    return this.#isOfAnother;
  }

  /**
   * True if a row so far names the member in any form. A name that differs only in case names its member too: the platform does not say
   * whether it distinguishes case, and a deleted member cannot be restored.
   */
  names({ memberGlobalId, account, userName }: KnownMember): boolean {
    return (
      this.#meant.has(memberGlobalId) || [account, userName].some((name) => this.#names.has(sameCase(name)))
    );
  }

  /** `row` is the number of the row in the file. */
  plan(row: number, member: WaitingMember): RowResult {
    const planned = plannedRow(member, this.members, this.mode);
    for (const { memberGlobalId } of this.members.meantBy(member)) this.#meant.add(memberGlobalId);
    this.#add(member.account, member.userName, member.besideAccount, planned.account);
    if (isStrange(planned)) {
      this.#isOfAnother = true;
      return planned;
    }
    const first = this.#firstWith(planned.account, row);
    if (first === row) return planned;
    const { account, inFile } = planned;
    return {
      ...failed(account, 'validation-failed', twice(first)),
      ...(inFile !== undefined && { inFile }),
    };
  }

  /** Returns the result that a row has already. */
  keep(row: number, result: RowResult): RowResult {
    const { account, inFile, memberGlobalId } = result;
    this.#add(account, inFile);
    if (memberGlobalId !== undefined) this.#meant.add(memberGlobalId);
    if (isStrange(result)) this.#isOfAnother = true;
    else this.#firstWith(account, row);
    return result;
  }

  #add(...names: readonly (string | undefined)[]): void {
    for (const name of names) if (name !== undefined) this.#names.add(sameCase(name));
  }

  #firstWith(account: string, row: number): number {
    const name = sameCase(account);
    const first = this.#rowOf.get(name) ?? row;
    this.#rowOf.set(name, first);
    return first;
  }
}

function twice(row: number): string {
  return `The file names this account twice, in any case of letters: row ${row} has it too.`;
}
