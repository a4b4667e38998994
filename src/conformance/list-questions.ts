import type { Answers } from './answers.ts';
import { idOf, type Row, rowsOf } from './values.ts';

/** Which of the assets that the member center knows by number are in the list of the order module. */
export function assetList({ assets, member }: Answers): 'all' | 'virtual' | undefined {
  const numbers = rowsOf(member?.assetNums).map(({ assetNum }) => idOf(assetNum));
  // An empty list of assets may be of an enterprise that has none, so it shows nothing.
  if (numbers.length === 0 || rowsOf(assets).length === 0) return undefined;
  const listed = new Set(rowsOf(assets).map(({ assetNum }) => idOf(assetNum)));
  return numbers.every((number) => listed.has(number)) ? 'all' : 'virtual';
}

/** Whether an asset has one id in the order module and another one in the member center. */
export function hasOtherIds({ assets, member }: Answers): boolean {
  const ids = new Map(rowsOf(assets).map(({ assetNum, id }) => [idOf(assetNum), idOf(id)]));
  return rowsOf(member?.assetNums).some(({ assetNum, assetId }) => {
    const [one, other] = [ids.get(idOf(assetNum)), idOf(assetId)];
    return one !== undefined && other !== undefined && one !== other;
  });
}

const FLAGS = [
  'grantable',
  'locked',
  'freezing',
  'borrowedUsbKey',
  'borrowedFlag',
  'onlineFlag',
  'deleted',
  'isDefault',
];

/** Whether flags are booleans, or 0 and 1. */
export function flags({ assets, customers, member }: Answers): 'boolean' | 'number' | undefined {
  const lists = [assets, customers?.all, member?.assetNums, member?.lentLocks, member?.firstPage];
  const given = lists.flatMap((list) => rowsOf(list).flatMap((row: Row) => FLAGS.map((name) => row[name])));
  if (given.some((value) => value === 0 || value === 1)) return 'number';
  return given.some((value) => typeof value === 'boolean') ? 'boolean' : undefined;
}
