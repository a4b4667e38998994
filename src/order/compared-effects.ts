import type { DryRunEffect } from '../request/dry-run.ts';

export type Effects = readonly DryRunEffect[];

/**
 * Compares the effects that a deletion has now with those that it had before. Only effects that the platform showed both times count, because a
 * missing answer proves nothing. `hidden` means that nothing differs, but that the platform no longer shows the products of an asset, whether the
 * deletion means one of them, or what a deletion takes away from one of the enterprises `unshown`. A number that has disappeared from a list that
 * the platform shows is a change.
 */
export function comparedEffects(
  before: Effects,
  now: Effects,
  unshown: ReadonlySet<string | null> = new Set(),
): 'same' | 'changed' | 'hidden' {
  const unread = hiddenIn(before);
  // The list of these enterprises may have been unreadable, because none of their assets was shown.
  const unlisted = enterprisesIn(unread).difference(
    enterprisesIn(before.filter(({ assetId }) => assetId !== null)),
  );
  const shown = new Set(before.filter(isShownProduct).map(nameOf));
  const hidden = [
    ...hiddenIn(now).filter(
      ({ assetId, assetNum, enterpriseGlobalId }) =>
        assetId !== null || assetNum === null || unshown.has(enterpriseGlobalId),
    ),
    ...now.filter((effect) => !effect.readable && shown.has(nameOf(effect))),
  ];
  const open = new Set(before.filter(({ readable }) => !readable).map(nameOf));
  const known = (effects: Effects, unknown: Effects, without: ReadonlySet<string | null> = new Set()) => {
    const numbers = new Set(unknown.map(({ assetNum }) => assetNum));
    const hiddenOrUnlisted = unlisted.union(without);
    return effects.filter(
      ({ assetNum, enterpriseGlobalId }) =>
        !numbers.has(assetNum) && !hiddenOrUnlisted.has(enterpriseGlobalId),
    );
  };
  const newlyHidden = known(hidden, unread);
  // A deletion may also affect assets that it does not name, so none of the enterprise's effects can be compared.
  const incomparable = unshown.intersection(enterprisesIn(newlyHidden));
  const certain = (effects: Effects) =>
    known(effects, [...unread, ...hidden], incomparable).filter(
      (effect) => (effect.readable || isUnlisted(effect)) && !open.has(nameOf(effect)),
    );
  if (textOf(certain(before)) !== textOf(certain(now))) return 'changed';
  return newlyHidden.length === 0 ? 'same' : 'hidden';
}

/**
 * Returns the effects of assets whose products the platform does not show. Where it shows them, and it is only open which of them the deletion means,
 * an effect names the product.
 */
function hiddenIn(effects: Effects): Effects {
  const isOpen = ({ readable, productUri }: DryRunEffect) => !readable && productUri !== null;
  const open = new Set(effects.filter(isOpen).map(({ assetNum }) => assetNum));
  return effects.filter(({ readable, assetNum }) => !readable && !open.has(assetNum));
}

/** Whether the number is not in the platform's list. */
function isUnlisted({ readable, assetId, assetNum }: DryRunEffect): boolean {
  return !readable && assetId === null && assetNum !== null;
}

function isShownProduct({ readable, productUri }: DryRunEffect): boolean {
  return readable && productUri !== null;
}

function nameOf({ kind, assetNum, productUri }: DryRunEffect): string {
  return JSON.stringify([kind, assetNum, productUri]);
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
