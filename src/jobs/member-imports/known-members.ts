import { ProblemException } from '../../problem/problem.exception.ts';
import { listViolation } from '../../upstream/member-pages.ts';
import { sameCase, suffixFor } from '../../member/account-suffix.ts';
import { CLEARABLE, type ClearableField } from '../../member/dto/member.dto.ts';
import { type ListedMember, stillHidden } from '../../member/member.mapper.ts';
import type { WaitingMember } from '../store/job-record.ts';
import { isAccount } from './account-of.ts';

/** A member whom a row of a file can name by its account. */
export interface KnownMember extends Pick<
  ListedMember,
  'memberGlobalId' | 'name' | ClearableField | 'isMobilePart' | 'hidden' | 'unreadable'
> {
  /** The account on the platform, without the suffix. */
  readonly account: string;
  readonly userName: string;
}

/** A member whom a row names by its user name. Its account is null if the suffix is not known. */
export type MeantMember = Omit<KnownMember, 'account'> & { readonly account: string | null };

/**
 * The members of an enterprise by their accounts, ignoring case. While the suffix of the accounts is not known, a member may have any
 * account with which its user name begins.
 */
export class KnownMembers {
  /** The optional fields that no member of the list shows. */
  readonly hidden: readonly ClearableField[];
  readonly #byAccount = new Map<string, KnownMember[]>();
  readonly #byUserName = new Map<string, MeantMember[]>();
  readonly #ids = new Set<string>();
  readonly #suffix: string | undefined;
  /** The number of members without a user name, who may have any account. Those without an id are among them. */
  readonly #unnamed: number;
  /** User names in lower case, sorted. */
  readonly #open: string[] = [];

  /**
   * @param members the members of a list that was read to its end
   * @param accounts the accounts that the file names
   * @param suffix the suffix that the platform has shown
   * @param nameless the number of members in the list without an id
   */
  constructor(
    members: readonly ListedMember[],
    accounts: Iterable<string>,
    suffix: string | undefined,
    private readonly nameless = 0,
  ) {
    const names = members.flatMap(({ userName }) => (userName === null ? [] : [sameCase(userName)]));
    this.#unnamed = nameless + members.length - names.length;
    const known = suffixFor(names, new Set([...accounts].map(sameCase)), suffix);
    this.#suffix = known;
    this.hidden = stillHidden(CLEARABLE, members);
    for (const member of members) {
      // Several searches may have found the same member.
      if (this.#ids.has(member.memberGlobalId)) continue;
      this.#ids.add(member.memberGlobalId);
      this.#add({ ...member, hidden: member.hidden.filter((field) => this.hidden.includes(field)) }, known);
    }
    this.#open.sort();
  }

  /** Returns the members with the account. There are several if accounts differ only in case. */
  of(account: string): readonly KnownMember[] {
    return this.#byAccount.get(sameCase(account)) ?? [];
  }

  /**
   * Returns the members whom a row means. If both the row and the platform have the whole user name, it decides. Otherwise the account
   * decides.
   */
  meantBy(row: WaitingMember): readonly MeantMember[] {
    const { userName } = row;
    const named = userName === undefined ? undefined : this.#byUserName.get(sameCase(userName));
    return named ?? this.of(this.accountOf(row) ?? row.account);
  }

  /**
   * Returns the account that a row names. Undefined if the row has only a user name, and its account is not certain: the code of the
   * enterprise is not known, or the user name does not end in it.
   */
  accountOf({ account, userName }: WaitingMember): string | undefined {
    if (userName === undefined) return account;
    const [named] = this.#byUserName.get(sameCase(userName)) ?? [];
    // A row renames no account, so nothing but the account of the member counts.
    const known = named ? named.account : accountBefore(this.#suffix ?? atIn(userName), userName);
    if (known !== null) return isAccount(known) ? known : userName;
    const suffix = this.#suffix;
    if (named || suffix === undefined) return undefined;
    // Without a separator, the code of another enterprise looks like a part of the account.
    const isPlain = isAccount(userName) && (!isAccount(suffix) || this.of(userName).length > 0);
    return isPlain ? userName : undefined;
  }

  /** True if a row names nobody of this enterprise, and its user name does not end in the code of this enterprise. */
  isForeign(row: WaitingMember): boolean {
    const { userName } = row;
    return (
      this.#suffix !== undefined &&
      userName !== undefined &&
      !sameCase(userName).endsWith(this.#suffix) &&
      !this.#byUserName.has(sameCase(userName)) &&
      this.accountOf(row) === undefined
    );
  }

  /** True if the user name that a row has in addition to its account is that of a member with another account. */
  namesTwo({ account, besideAccount: userName }: WaitingMember): boolean {
    if (userName === undefined) return false;
    // A user name with the code of another enterprise names nobody of this one.
    const named = this.#byUserName.get(sameCase(userName)) ?? (isAccount(userName) ? this.of(userName) : []);
    const isMeant = (member: MeantMember) =>
      member.account === null
        ? sameCase(member.userName).startsWith(sameCase(account))
        : sameCase(member.account) === sameCase(account);
    return named.length > 0 && !named.some(isMeant);
  }

  /** True if a member may have the account. It is certain only if {@link of} shows the member. */
  mayHave(account: string): boolean {
    return this.of(account).length > 0 || this.#unnamed > 0 || this.mayBegin(account);
  }

  /** True if the suffix is not known, and the user name of a member begins with the account. */
  mayBegin(account: string): boolean {
    const beginning = sameCase(account);
    let low = 0;
    for (let high = this.#open.length; low < high;) {
      const middle = (low + high) >>> 1;
      if ((this.#open[middle] ?? '') < beginning) low = middle + 1;
      else high = middle;
    }
    return this.#open[low]?.startsWith(beginning) === true;
  }

  has(memberGlobalId: string): boolean {
    return this.#ids.has(memberGlobalId);
  }

  /** True if the list shows for certain that the member is gone. A member without an id may be the one. */
  lacks(memberGlobalId: string): boolean {
    return this.nameless === 0 && !this.has(memberGlobalId);
  }

  /** True if each member has an id and a user name, so that the list also shows who is not there. */
  get isWhole(): boolean {
    return this.#unnamed === 0;
  }

  /** Returns the members whose account is known. */
  all(): readonly KnownMember[] {
    return [...this.#byAccount.values()].flat();
  }

  /** Throws if it is unknown who is missing from a file: some accounts are not shown, or cannot be told without the suffix. */
  assertAccounts(): void {
    if (!this.isWhole)
      throw listViolation(
        `The platform lists ${this.#unnamed} members without an id or a user name, so it is unknown who is missing from the file, and nobody is deleted.`,
      );
    if (this.#open.length > 0)
      throw new ProblemException('suffix-unknown', {
        detail:
          `The accounts of ${this.#open.length} members cannot be told from the code of the enterprise that the platform appends to them, ` +
          'so nobody is deleted. Add one member of this enterprise with addMembers or an import without deleteMissing: its answer shows the code. Then send the request again.',
      });
  }

  #add(member: ListedMember, suffix: string | undefined): void {
    const { userName } = member;
    if (userName === null) return;
    const ending = suffix ?? atIn(userName);
    const account = accountBefore(ending, userName);
    const named = this.#byUserName.get(sameCase(userName)) ?? [];
    this.#byUserName.set(sameCase(userName), [...named, { ...member, account, userName }]);
    if (ending === undefined) {
      this.#open.push(sameCase(userName));
      return;
    }
    // Such a member was not made by addMembers, and no row of a file can mean it by its account.
    if (account === null || !isAccount(account)) return;
    const known = this.#byAccount.get(sameCase(account)) ?? [];
    this.#byAccount.set(sameCase(account), [...known, { ...member, account, userName }]);
  }
}

/** Returns the code of the enterprise that certainly ends a user name, because no account has an `@`. */
function atIn(userName: string): string | undefined {
  return userName.includes('@') ? userName.slice(userName.indexOf('@')) : undefined;
}

/** Returns what stands before the ending in a user name. Null if the user name has another ending, or nothing else. */
function accountBefore(ending: string | undefined, userName: string): string | null {
  const name = sameCase(userName);
  if (ending === undefined || !name.endsWith(sameCase(ending))) return null;
  // The lower case of a letter may be longer than the letter, as that of U+0130 is. So the length is that in lower case.
  const length = name.length - sameCase(ending).length;
  const account = userName.slice(0, length);
  return sameCase(account) === name.slice(0, length) ? account || null : null;
}
