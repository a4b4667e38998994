/**
 * What the id in a field of a request names (docs/api.md, section 2):
 * - `enterprise`, `channel`: must be granted
 * - `asset`, `assetNum`, `lentLock`, `member`, `customer`, `channelCustomer`, `order`: looked up in the enterprise that is named
 * - `newAssetNum`: the same as `assetNum`, or a number that this caller reserved
 * - `lock`: an asset number that is left out where the enterprise does not have it, and answered as `not_found`
 * - `crmCustomer`: the platform has no list of it, so a bound caller cannot name it
 * - `label`: the caller's own name for a thing, or a word of the catalogue of products: it reaches nothing of an enterprise
 * - `filter`: keeps a part of a list that is the enterprise's own, so it finds nothing of another
 * - `unbounded`: of an operation whose scope is not bounded by enterprises
 */
export const names = [
  'enterprise',
  'channel',
  'asset',
  'assetNum',
  'newAssetNum',
  'lock',
  'lentLock',
  'member',
  'customer',
  'channelCustomer',
  'crmCustomer',
  'order',
  'label',
  'filter',
  'unbounded',
] as const;
export type Name = (typeof names)[number];

const DECLARED = 'tenancy:names';

/** Declares what the id, or each id of the list, in a field of a request names. A field that holds an id and has none fails a test. */
export function Names(name: Name): PropertyDecorator {
  return (target, field) => {
    Reflect.defineMetadata(DECLARED, new Map([...namesOf(target), [String(field), name]]), target);
  };
}

/** The declared fields of a DTO class, inherited ones among them, by its prototype. */
export function namesOf(prototype: object): ReadonlyMap<string, Name> {
  return (Reflect.getMetadata(DECLARED, prototype) as ReadonlyMap<string, Name> | undefined) ?? new Map();
}
