import type { Type } from '@nestjs/common';
import { pointerToken } from '../shared/json-syntax.ts';
import { declaredFields } from '../validation/declared-fields.ts';
import { type Name, namesOf } from './names.ts';

/** The location of a value in a request, from the outermost object to the innermost. It is made a text only when a fault needs it. */
export interface IdLocation {
  readonly of: IdLocation | undefined;
  readonly key: string | number;
}

export interface NamedId {
  readonly id: string;
  /** The location in the body. Undefined for the path and the query. */
  readonly location: IdLocation | undefined;
}

/** A part of a request that names an enterprise, with all ids in it: the whole request, or one item of an order. */
export interface EnterpriseScope {
  readonly enterprise: NamedId | undefined;
  /** Returns the location of the enterprise or the customer, or the place where it is missing. */
  readonly locationOf: (name: Name) => IdLocation | undefined;
  readonly ids: ReadonlyMap<Name, readonly NamedId[]>;
}

interface OpenScope extends EnterpriseScope {
  enterprise: NamedId | undefined;
  readonly ids: Map<Name, NamedId[]>;
}

interface Shape {
  readonly names: readonly (readonly [string, Name])[];
  readonly nested: readonly string[];
  /** True if an object of the class, or one in its fields, names its enterprise. */
  readonly isScope: boolean;
}

const NOT_LOOKED_UP: ReadonlySet<Name> = new Set(['ownNumber', 'newAccount', 'label', 'filter', 'unbounded']);
const shapes = new WeakMap<Type, Shape>();

/** Collects the ids in the parts of a request: validated instances of DTO classes, path and query first. */
export function scopesOf(
  parameters: readonly object[],
  body: object | undefined,
): readonly EnterpriseScope[] {
  const request = openScope(undefined, [...parameters, ...(body ? [body] : [])]);
  const found: OpenScope[] = [request];
  for (const part of parameters) {
    const given = part as Record<string, unknown>;
    for (const [field, name] of shapeOf(part.constructor as Type).names) {
      const id = given[field];
      if (typeof id === 'string') add(request, name, { id, location: undefined });
    }
  }
  if (body) collect(body, undefined, request, found);
  return found;
}

export function pointerOf({ of, key }: IdLocation): string {
  return (of ? pointerOf(of) : '') + pointerToken(key);
}

function collect(value: object, at: IdLocation | undefined, outer: OpenScope, found: OpenScope[]): void {
  const { names, nested, isScope } = shapeOf(value.constructor as Type);
  const fields = value as Record<string, unknown>;
  let scope = outer;
  // The customer in an order item names the enterprise for the whole item.
  if (isScope && at && outer === found[0] && !outer.enterprise) {
    scope = openScope(at, [value]);
    found.push(scope);
  }
  for (const [field, name] of names) {
    const given = fields[field];
    if (given === undefined) continue;
    const location = { of: at, key: field };
    if (typeof given === 'string') add(scope, name, { id: given, location });
    else if (Array.isArray(given))
      for (const [index, id] of (given as string[]).entries())
        add(scope, name, { id, location: { of: location, key: index } });
  }
  for (const field of nested) {
    const inner = fields[field];
    const location = { of: at, key: field };
    if (Array.isArray(inner))
      for (const [index, item] of (inner as object[]).entries())
        collect(item, { of: location, key: index }, scope, found);
    else if (inner) collect(inner, location, scope, found);
  }
}

function add(scope: OpenScope, name: Name, named: NamedId): void {
  if (name === 'enterprise') scope.enterprise = named;
  const known = scope.ids.get(name);
  if (known) known.push(named);
  else scope.ids.set(name, [named]);
}

function openScope(at: IdLocation | undefined, parts: readonly object[]): OpenScope {
  const locationOf = (name: Name) =>
    parts.map((part) => locationIn(part, name, at)).find((location) => location !== undefined);
  return { enterprise: undefined, locationOf, ids: new Map() };
}

/** Returns the field of that name in an object, or in an object in it. */
function locationIn(value: object, name: Name, at: IdLocation | undefined): IdLocation | undefined {
  const { names, nested } = shapeOf(value.constructor as Type);
  const [own] = names.find((each) => each[1] === name) ?? [];
  if (own !== undefined) return { of: at, key: own };
  for (const field of nested) {
    const inner = (value as Record<string, unknown>)[field];
    const location =
      inner && !Array.isArray(inner) ? locationIn(inner, name, { of: at, key: field }) : undefined;
    if (location) return location;
  }
  return undefined;
}

/** Returns the fields of a class. Classes without ids to look up, such as features of products, are skipped. */
function shapeOf(type: Type): Shape {
  const known = shapes.get(type);
  if (known) return known;
  const own = [...namesOf(type.prototype as object)].filter(([, name]) => !NOT_LOOKED_UP.has(name));
  const nested = declaredFields(type).filter(({ isNested }) => isNested);
  const isEnterprise = (each: Type | undefined) =>
    each !== undefined && [...namesOf(each.prototype as object).values()].includes('enterprise');
  const shape = {
    names: own,
    nested: nested
      .filter(({ nestedClass }) => !nestedClass || canHoldIds(nestedClass))
      .map(({ name }) => name),
    isScope: isEnterprise(type) || nested.some(({ nestedClass }) => isEnterprise(nestedClass)),
  };
  shapes.set(type, shape);
  return shape;
}

/** True if a class can contain ids. The classes of mixed lists are not known here, so their items are checked one by one. */
function canHoldIds(type: Type, seen = new Set<Type>()): boolean {
  if (seen.has(type)) return false;
  seen.add(type);
  if ([...namesOf(type.prototype as object).values()].some((name) => !NOT_LOOKED_UP.has(name))) return true;
  return declaredFields(type).some(
    ({ isNested, nestedClass }) => isNested && (!nestedClass || canHoldIds(nestedClass, seen)),
  );
}
