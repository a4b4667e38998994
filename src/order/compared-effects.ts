import type { DryRunEffect } from '../request/dry-run.ts';

export type Effects = readonly DryRunEffect[];

/**
 * Compares the effects that a deletion has now with those that it had before. Only effects that the platform showed both times count, because a
 * missing answer proves nothing. `hidden` means that nothing differs, but that the platform no longer shows the products of an asset. A number
 * that has disappeared from the platform's list is a change.
 */
export function comparedEffects(before: Effects, now: Effects): 'same' | 'changed' | 'hidden' {
  const unread = before.filter(({ readable }) => !readable);
  // The list of these enterprises may have been unreadable, because none of their assets was shown.
  const unlisted = enterprisesIn(unread).difference(
    enterprisesIn(before.filter(({ assetId }) => assetId !== null)),
  );
  const hidden = now.filter(({ readable, assetId }) => !readable && assetId !== null);
  const known = (effects: Effects, unknown: Effects) => {
    const numbers = new Set(unknown.map(({ assetNum }) => assetNum));
    return effects.filter(
      ({ assetNum, enterpriseGlobalId }) => !numbers.has(assetNum) && !unlisted.has(enterpriseGlobalId),
    );
  };
  const unknown = [...unread, ...hidden];
  if (textOf(known(before, unknown)) !== textOf(known(now, unknown))) return 'changed';
  return known(hidden, unread).length === 0 ? 'same' : 'hidden';
}

function enterprisesIn(effects: Effects): ReadonlySet<string | null> {
  return new Set(effects.map(({ enterpriseGlobalId }) => enterpriseGlobalId));
}

/** The longest text of one list of effects. The reason of a record has space for two lists. */
const MAX_TEXT = 900;

/** Returns the effects for a caller: a list that is too long is cut, and says how many effects it has. */
export function shortTextOf(effects: Effects): string {
  const text = textOf(effects);
  return text.length <= MAX_TEXT ? text : `${text.slice(0, MAX_TEXT)}… (${effects.length} in all)]`;
}

/** Returns the same text for two lists with the same effects. */
function textOf(effects: Effects): string {
  const told = effects.map(({ kind, assetNum, productUri, readable }) =>
    [kind, assetNum, productUri, readable ? null : 'unreadable'].filter((part) => part !== null).join(' '),
  );
  return `[${told.toSorted().join(', ')}]`;
}
