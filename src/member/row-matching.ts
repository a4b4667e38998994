import { sameCase } from './account-suffix.ts';

interface Named {
  readonly userName: string;
}

/** The results of a response by the accounts that were sent. An account in neither map has an unknown outcome, and so has one in both. */
interface MatchedRows<Added, Failed> {
  readonly added: ReadonlyMap<string, Added>;
  readonly failed: ReadonlyMap<string, Failed>;
  /** The suffix that the platform has appended to each account. Undefined if the response does not show it for certain. */
  readonly suffix: string | undefined;
}

/** A response read with one suffix. */
interface Reading<Added, Failed> extends MatchedRows<Added, Failed> {
  /** The number of user names that mean an account. */
  readonly explained: number;
  /** The number of accounts in both lists. */
  readonly conflicts: number;
}

/**
 * Matches both lists of a response of `addMembers` with the accounts of the request, ignoring case. The user name of an added member has
 * the suffix, and that of a failed row may have it (interface section 2.9). One suffix counts for the whole response: the one with which
 * most user names mean accounts, and fewest accounts are in both lists. If several suffixes explain the response equally well, an account
 * has a result only if it has the same one with each of them.
 */
export function matchRows<Added extends Named, Failed extends Named>(
  accounts: readonly string[],
  members: readonly Added[],
  failures: readonly Failed[],
): MatchedRows<Added, Failed> {
  const sent = new Map(accounts.map((account) => [sameCase(account), account]));
  const suffixes = new Set(
    [...members, ...failures].flatMap(({ userName }) => suffixesIn(sameCase(userName), sent)),
  );
  const readings = [...suffixes].map((suffix) => readWith(suffix, sent, members, failures));
  const explained = Math.max(...readings.map((each) => each.explained));
  const likely = readings.filter((each) => each.explained === explained);
  const conflicts = Math.min(...likely.map((each) => each.conflicts));
  const [best, ...others] = likely.filter((each) => each.conflicts === conflicts);
  if (!best) return { added: new Map(), failed: new Map(), suffix: undefined };
  const isCertain = ([account]: readonly [string, unknown]) =>
    others.every(
      ({ added, failed }) =>
        added.get(account) === best.added.get(account) && failed.get(account) === best.failed.get(account),
    );
  // A failed row need not have the suffix, so only added members show it.
  const isShown = members.length > 0 && explained === members.length + failures.length && conflicts === 0;
  return {
    added: new Map([...best.added].filter(isCertain)),
    failed: new Map([...best.failed].filter(isCertain)),
    suffix: isShown && others.length === 0 ? best.suffix : undefined,
  };
}

/** Returns what follows an account in a user name, for each account with which the user name begins. */
function suffixesIn(userName: string, sent: ReadonlyMap<string, string>): string[] {
  return [...sent.keys()].flatMap((account) =>
    userName.startsWith(account) ? [userName.slice(account.length)] : [],
  );
}

function readWith<Added extends Named, Failed extends Named>(
  suffix: string,
  sent: ReadonlyMap<string, string>,
  members: readonly Added[],
  failures: readonly Failed[],
): Reading<Added, Failed> {
  const withSuffix = ({ userName }: Named) => {
    const name = sameCase(userName);
    return name.endsWith(suffix) ? sent.get(name.slice(0, name.length - suffix.length)) : undefined;
  };
  const added = new Map<string, Added>();
  for (const member of members) {
    const account = withSuffix(member);
    if (account !== undefined && !added.has(account)) added.set(account, member);
  }
  const failed = new Map<string, Failed>();
  /** Returns the accounts that a failure may mean. An account that was added is meant only if there is no other. */
  const openAccountsOf = (failure: Failed): string[] => {
    const named = new Set([sent.get(sameCase(failure.userName)), withSuffix(failure)]);
    const accounts = [...named].filter((account) => account !== undefined);
    const others = accounts.filter((account) => !added.has(account));
    return (others.length > 0 ? others : accounts).filter((account) => !failed.has(account));
  };
  let left = failures;
  for (let before = Infinity; left.length < before;) {
    before = left.length;
    left = left.filter((failure) => {
      const [account, other] = openAccountsOf(failure);
      if (account === undefined || other !== undefined) return true;
      failed.set(account, failure);
      return false;
    });
  }
  const ambiguous = left.filter((failure) => openAccountsOf(failure).length > 0);
  return {
    ...{ added, failed, suffix },
    explained: added.size + failed.size + ambiguous.length,
    conflicts: [...failed.keys()].filter((account) => added.has(account)).length,
  };
}
