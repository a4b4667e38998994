import { applyDecorators } from '@nestjs/common';
import { type FieldDoc, Identifier, rule } from '../validation/rules.ts';

/**
 * The meaning of an id in a field of a request (docs/api.md, section 2):
 * - `enterprise`, `channel`: must be granted
 * - `enterpriseFilter`: filters a list that shows only granted enterprises; must be granted if it is present; in a list of them `*` stands for
 *   all that are granted
 * - `asset`, `assetNum`, `lentLock`, `member`, `customer`, `channelCustomer`, `order`: looked up in the named enterprise
 * - `newAssetNum`: the same as `assetNum`, or a number that this caller reserved
 * - `lock`: an asset number. If the enterprise does not have it, it is left out and gets the result `not_found`
 * - `crmCustomer`: the platform has no list of it, so a bound caller cannot name it
 * - `ownNumber`: the caller's own number of an order: it grants no access, and identifies the order
 * - `newAccount`: the login name of a member who is added
 * - `label`: the caller's own name, or an id of the product catalogue: it grants no access to data of an enterprise
 * - `filter`: filters a list of the enterprise, so it finds nothing of another one
 * - `unbounded`: used in an operation whose scope is not limited by enterprises
 */
export const names = [
  'enterprise',
  'enterpriseFilter',
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
  'ownNumber',
  'newAccount',
  'label',
  'filter',
  'unbounded',
] as const;
export type Name = (typeof names)[number];

const DECLARED = 'tenancy:names';

/**
 * Declares the meaning of the id, or of each id of the list, in a field of a request. The audit names the object of a write by it. A test
 * fails if a field with an id lacks it.
 */
export function Names(name: Name): PropertyDecorator {
  return (target, field) => {
    Reflect.defineMetadata(DECLARED, new Map([...namesOf(target), [String(field), name]]), target);
  };
}

/** Returns the declared fields of a DTO class, including inherited ones, by its prototype. */
export function namesOf(prototype: object): ReadonlyMap<string, Name> {
  return (Reflect.getMetadata(DECLARED, prototype) as ReadonlyMap<string, Name> | undefined) ?? new Map();
}

/** Refuses `*`, which stands for all enterprises in the callers file and is the id of none. */
export function NotAll(): PropertyDecorator {
  const isAll = (value: unknown) => value === '*' || (Array.isArray(value) && value.includes('*'));
  return rule(
    'notAll',
    (value) => !isAll(value),
    'must name enterprises: * stands for all of them in the callers file only',
  );
}

export function Label(doc: FieldDoc = {}): PropertyDecorator {
  return applyDecorators(Identifier(doc), Names('label'));
}
