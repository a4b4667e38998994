import type { KeptEffect, KeptInstance } from '../order-ledger/ledger-record.ts';
import type { DryRunEffect } from '../request/dry-run.ts';

export type Effects = readonly KeptEffect[];

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
  if (!isSame(certain(before), certain(now))) return 'changed';
  return newlyHidden.length === 0 ? 'same' : 'hidden';
}

function isSame(before: Effects, now: Effects): boolean {
  const present = now.filter((effect) => !isJointLossOfOlder(before, effect));
  if (namesIn(before).symmetricDifference(namesIn(present)).size > 0) return false;
  const found = new Map(present.map((effect) => [nameOf(effect), effect.instances]));
  return before.every(({ instances, ...effect }) => {
    const today = found.get(nameOf(effect));
    return !instances || !today || takesNoMore(instances, today);
  });
}

/**
 * Whether only several deletions together remove the asset, and the effects before are of an older version. It looked at each deletion alone, so it
 * kept no such effect, kept some effects twice, and kept no instances.
 */
function isJointLossOfOlder(before: Effects, { kind, enterpriseGlobalId, assetNum }: KeptEffect): boolean {
  if (kind !== 'asset-removed') return false;
  const onAsset = before.filter(
    (each) => each.assetNum === assetNum && each.enterpriseGlobalId === enterpriseGlobalId,
  );
  const products = onAsset.filter(isShownProduct);
  return (
    products.length > 1 && products.length === onAsset.length && products.every((each) => !each.instances)
  );
}

/** Whether every instance was there before, and none has more nodes or a later end. Nodes are fewer, or an instance is gone, where they are lent. */
function takesNoMore(before: readonly KeptInstance[], now: readonly KeptInstance[]): boolean {
  const isAsBefore = (then: KeptInstance, today: KeptInstance) =>
    isSameId(then.productId, today.productId) &&
    isSameId(then.licenseOrderId, today.licenseOrderId) &&
    (today.nodes === null || nodesOf(today) <= nodesOf(then)) &&
    endOf(today) <= endOf(then);
  return now.length <= before.length && now.every((today) => before.some((then) => isAsBefore(then, today)));
}

function isSameId(then: string | null, today: string | null): boolean {
  return then === null || today === null || then === today;
}

/** A number below 0 stands for "no limit". A number that was not shown may have been any. */
function nodesOf({ nodes }: KeptInstance): number {
  return nodes === null || nodes < 0 ? Infinity : nodes;
}

function endOf({ endsAt }: KeptInstance): number {
  return endsAt === null ? Infinity : Date.parse(endsAt);
}

/**
 * Returns the effects of assets whose products the platform does not show. It shows them where an effect names a product of which it is open whether
 * the deletion means it. It shows what decides whether an asset goes where an effect has the instances of a product; the lent locks, which may have
 * others, may be hidden all the same.
 */
function hiddenIn(effects: Effects): Effects {
  const numbersOf = (isWanted: (effect: KeptEffect) => boolean) =>
    new Set(effects.filter(isWanted).map(({ assetNum }) => assetNum));
  const open = numbersOf(({ readable, productUri }) => !readable && productUri !== null);
  const shown = numbersOf(({ instances }) => instances !== undefined);
  return effects.filter(
    ({ kind, readable, assetNum }) =>
      !readable && !open.has(assetNum) && !(kind === 'asset-removed' && shown.has(assetNum)),
  );
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

function namesIn(effects: Effects): ReadonlySet<string> {
  return new Set(
    effects.map((effect) => JSON.stringify([nameOf(effect), effect.enterpriseGlobalId, effect.readable])),
  );
}

function enterprisesIn(effects: Effects): ReadonlySet<string | null> {
  return new Set(effects.map(({ enterpriseGlobalId }) => enterpriseGlobalId));
}

/** The longest text of one list of effects. The reason of a record has space for two lists. */
const MAX_TEXT = 900;

/** Returns the effects for a caller: a list that is too long is cut, and says how many effects it has. */
export function shortTextOf(effects: Effects): string {
  const text = textOf(effects);
  return text.length <= MAX_TEXT
    ? text
    : `${text.slice(0, MAX_TEXT).toWellFormed()}… (${effects.length} in all)]`;
}

/** Returns the same text for two lists with the same effects. */
function textOf(effects: Effects): string {
  const told = effects.map(({ kind, assetNum, productUri, readable, instances }) =>
    [kind, assetNum, productUri, readable ? null : 'unreadable', instances ? termsOf(instances) : null]
      .filter((part) => part !== null)
      .join(' '),
  );
  return `[${told.toSorted().join(', ')}]`;
}

function termsOf(instances: readonly KeptInstance[]): string {
  const told = instances.map(({ licenseOrderId, nodes, endsAt }) =>
    [licenseOrderId, nodes === null ? null : `${nodes} nodes`, endsAt === null ? null : `to ${endsAt}`]
      .filter((part) => part !== null)
      .join(' '),
  );
  return `(${told.toSorted().join('; ')})`;
}
