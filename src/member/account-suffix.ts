import { Cache } from '@nestjs/cache-manager';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';

/**
 * The platform appends the code of the enterprise to every account, and its interface does not say whether a separator comes between:
 * `userName` is `anna@acme`, `anna.acme` or `annaacme`. The appended text is the suffix of the enterprise. Accounts are compared in lower
 * case.
 */

/** The time for which a suffix counts that the platform has shown. It is a day, because an enterprise may get another code. */
const KEPT_MS = 24 * 60 * 60 * 1000;
/** The number of members whose user names do not end in the same letters by chance. */
const MIN_MEMBERS = 10;
const ODD = /[^a-z0-9]/;
/** The longest user name (interface section 8). */
const MAX_USER_NAME = 62;

export function sameCase(account: string): string {
  return account.toLowerCase();
}

/** Remembers the suffixes that answers of `addMembers` have shown, by enterprise. All replicas share them. */
@Injectable()
export class AccountSuffixes {
  readonly #prefix: string;

  constructor(
    config: UpstreamConfig,
    private readonly cache: Cache,
  ) {
    this.#prefix = `${environmentName(config.baseUrl)}:account-suffix:`;
  }

  of(enterpriseGlobalId: string): Promise<string | undefined> {
    return this.cache.get(this.#keyOf(enterpriseGlobalId));
  }

  async learn(enterpriseGlobalId: string, suffix: string): Promise<void> {
    await this.cache.set(this.#keyOf(enterpriseGlobalId), suffix, KEPT_MS);
  }

  #keyOf(enterpriseGlobalId: string): string {
    return this.#prefix + sha256(enterpriseGlobalId);
  }
}

/**
 * Finds the suffix that all members of an enterprise have, by their user names in lower case. `accounts` are the ones that a file names.
 *
 * A common ending of all user names may not be the suffix: `anna` and `hanna` end in `anna` too. So it counts only if it begins with a
 * separator, which no account has, or if accounts of the file appear with it and with no other ending. Returns undefined if the suffix is
 * not certain.
 */
export function suffixOfList(
  userNames: readonly string[],
  accounts: ReadonlySet<string>,
): string | undefined {
  const byAt = new Set(
    userNames.flatMap((name) => (name.includes('@') ? [name.slice(name.indexOf('@'))] : [])),
  );
  if (byAt.size > 0) {
    const [suffix = ''] = byAt;
    const ending = userNames.filter((name) => name.endsWith(suffix)).length;
    return byAt.size === 1 && 2 * ending >= userNames.length ? suffix : undefined;
  }
  const common = commonEnding(userNames);
  // No account contains the separator, and the letters before it differ.
  if (userNames.length > 1 && userNames.every((name) => name.search(ODD) === name.length - common.length))
    return common;
  const rests = [...restsOf(userNames, accounts)].toSorted(([, one], [, other]) => other - one);
  const [best, ...others] = rests;
  if (best === undefined || !common.endsWith(best[0])) return undefined;
  const [suffix, times] = best;
  const isSeparated = suffix.search(ODD) === 0;
  const isCommon = suffix === common && userNames.length >= MIN_MEMBERS;
  const isContradicted = others.some(([other, count]) => count === times || common.endsWith(other));
  return (times > 1 || isSeparated || isCommon) && !isContradicted ? suffix : undefined;
}

/** Returns the suffix to use: the one that an answer has shown, as long as the list agrees with it, or else the one that the list shows. */
export function suffixFor(
  userNames: readonly string[],
  accounts: ReadonlySet<string>,
  known: string | undefined,
): string | undefined {
  const agreeing = known === undefined ? 0 : userNames.filter((name) => name.endsWith(known)).length;
  return 2 * agreeing > userNames.length ? known : suffixOfList(userNames, accounts);
}

/**
 * Returns the ending of all user names if there are too many members for a chance, or else an empty text. It may be longer than the suffix, so
 * it serves only to find members.
 */
export function likelySuffix(userNames: readonly string[]): string {
  return userNames.length >= MIN_MEMBERS ? commonEnding(userNames) : '';
}

/** Counts the endings that follow an account in the user names. */
function restsOf(userNames: readonly string[], accounts: ReadonlySet<string>): Map<string, number> {
  const rests = new Map<string, number>();
  for (const name of userNames)
    for (let length = Math.min(name.length, MAX_USER_NAME); length > 0; length--) {
      const rest = name.slice(length);
      if (accounts.has(name.slice(0, length))) rests.set(rest, (rests.get(rest) ?? 0) + 1);
    }
  return rests;
}

function commonEnding([first = '', ...others]: readonly string[]): string {
  let common = first;
  for (const name of others) while (!name.endsWith(common)) common = common.slice(1);
  return common;
}
