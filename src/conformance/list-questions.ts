import type { Answers, Filtered } from './answers.ts';
import type { Answer } from './platform.ts';
import { countOf, hasList, idOf, itemsOf, objectOf, type Row, rowsOf } from './values.ts';

/** Compares the numbers that the member center knows with the order module's list of assets. */
export function assetList({ assets, member }: Answers): 'all' | 'virtual' | undefined {
  const numbers = rowsOf(member?.assetNums).map(({ assetNum }) => idOf(assetNum));
  // An empty list of assets shows nothing, because the enterprise may have none.
  if (numbers.length === 0 || rowsOf(assets).length === 0) return undefined;
  const listed = new Map(rowsOf(assets).map(({ assetNum, licenseType }) => [idOf(assetNum), licenseType]));
  if (!numbers.every((number) => listed.has(number))) return 'virtual';
  // Without a lock in both lists, the list of assets may be one that leaves out locks.
  return numbers.some((number) => String(listed.get(number)).endsWith('usbkey')) ? 'all' : undefined;
}

/** True if an asset has different ids in the order module and in the member center. */
export function hasOtherIds({ assets, member }: Answers): boolean {
  const ids = new Map(rowsOf(assets).map(({ assetNum, id }) => [idOf(assetNum), idOf(id)]));
  return rowsOf(member?.assetNums).some(({ assetNum, assetId }) => {
    const [one, other] = [ids.get(idOf(assetNum)), idOf(assetId)];
    return one !== undefined && other !== undefined && one !== other;
  });
}

/** The names of all flags in lists and pages. */
export const FLAGS = [
  'grantable',
  'locked',
  'freezing',
  'borrowedUsbKey',
  'borrowedFlag',
  'onlineFlag',
  'deleted',
  'isDefault',
  'activateFlag',
  'prodDefExtend',
  'isFirstPage',
  'isLastPage',
  'hasPreviousPage',
  'hasNextPage',
];

/** Tells whether flags are booleans, or 0 and 1. */
export function flags({ assets, customers, member }: Answers): 'boolean' | 'number' | undefined {
  const lists = [assets, customers?.all, member?.assetNums, member?.lentLocks, member?.firstPage];
  const given = lists.flatMap((list) =>
    [objectOf(list), ...rowsOf(list)].flatMap((row: Row) => FLAGS.map((name) => row[name])),
  );
  if (given.some((value) => value === 0 || value === 1)) return 'number';
  return given.some((value) => typeof value === 'boolean') ? 'boolean' : undefined;
}

/** Finds out what the filter `extendCode` leaves out. Only assets that lack the extension show it. */
export function extendCode({ assets, assetsExtended, assetsOfNothing }: Answers) {
  const codesOf = ({ assetExtends }: Row) => itemsOf(assetExtends).map((each) => idOf(each['extendCode']));
  const valueOf = ({ value, answer }: Filtered) => {
    const lacking = rowsOf(assets).filter((asset) => !codesOf(asset).includes(value));
    if (!hasList(answer) || lacking.length === 0) return undefined;
    const shown = new Map(rowsOf(answer).map((asset) => [idOf(asset['id']), asset]));
    const kept = lacking.map((asset) => shown.get(idOf(asset['id']))).filter((asset) => asset !== undefined);
    if (kept.length === 0) return 'assets';
    if (kept.some((asset) => codesOf(asset).length > 0)) return 'nothing';
    const hadOthers = lacking.some((asset) => codesOf(asset).length > 0 && shown.has(idOf(asset['id'])));
    return hadOthers ? 'properties' : undefined;
  };
  return valueOf(assetsOfNothing) ?? (assetsExtended && valueOf(assetsExtended));
}

/** Finds the forms of empty lists. Null counts only if the same list has items without its filter. */
export function emptyForms({ assets, assetsOfNothing, member }: Answers): ReadonlySet<'list' | 'null'> {
  const forms = new Set<'list' | 'null'>();
  const found = objectOf(member?.membersOfNothing);
  const plain = [assetsOfNothing.answer, member?.assetNums, member?.lentLocks].map(dataOf);
  if ([...plain, found['list']].some((list) => Array.isArray(list) && list.length === 0)) forms.add('list');
  const hasAssets = rowsOf(assets).length > 0;
  const hasMembers = rowsOf(member?.firstPage).length > 0;
  if (hasAssets && dataOf(assetsOfNothing.answer) === null) forms.add('null');
  const countsNone = countOf(found['total']) === 0 || countOf(found['size']) === 0;
  if (hasMembers && found['list'] === null && countsNone) forms.add('null');
  return forms;
}

/**
 * Undefined if the platform sends both forms, because null may then have another meaning. A null of assets alone may be an accident, but a
 * page of members also counts its items.
 */
export function emptyLists(answers: Answers): 'list' | 'null' | undefined {
  const [form, ...others] = emptyForms(answers);
  if (others.length > 0) return undefined;
  const members = objectOf(answers.member?.membersOfNothing)['list'];
  return form === 'null' && members !== null ? undefined : form;
}

function dataOf(answer: Answer | undefined): unknown {
  return answer?.kind === 'success' ? answer.data : undefined;
}
