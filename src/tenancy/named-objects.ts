import type { Type } from '@nestjs/common';
import type { ObjectField } from '../request/operation-policy.ts';
import { declaredFields } from '../validation/declared-fields.ts';
import { type Name, namesOf } from './names.ts';

/** Names of body fields that identify no object: plain values such as a telephone number, or search words. */
const VALUES: ReadonlySet<Name> = new Set(['label', 'filter']);

/**
 * Returns the fields that identify the object of a request, from the outermost to the innermost: all ids in its path, and the ids that its
 * body names (see `Names`).
 */
export function namedObjects(path: readonly Type[], body: readonly Type[]): readonly ObjectField[] {
  return [
    ...path.flatMap((type) => fieldsOf(type, () => true)),
    ...body.flatMap((type) => fieldsOf(type, (name) => !VALUES.has(name))),
  ];
}

function fieldsOf(type: Type, isTold: (name: Name) => boolean): ObjectField[] {
  const declared = new Map(declaredFields(type).map((field) => [field.name, field]));
  const isOptional = (name: string) => declared.get(name)?.isOptional === true;
  // Inherited fields are first, because they belong to the outer object.
  const own = [...namesOf(type.prototype as object)].flatMap(([name, means]) =>
    isTold(means) ? [{ name, of: undefined, isOptional: isOptional(name) }] : [],
  );
  const lists = [...declared.values()].flatMap(({ name, nestedClass }) => {
    const inner = nestedClass ? [...namesOf(nestedClass.prototype as object)] : [];
    const [account] = inner.find(([, means]) => means === 'newAccount') ?? [];
    return account === undefined ? [] : [{ name, of: account, isOptional: isOptional(name) }];
  });
  return [...own, ...lists];
}
