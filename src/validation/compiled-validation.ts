import type { Type } from '@nestjs/common';
import { TransformationType } from 'class-transformer';
import { type DeclaredField, declaredFields, type TransformFn } from './declared-fields.ts';
import { itemKindsOf } from './list-rules.ts';
import { OBJECT_RULE } from './rules.ts';

/**
 * Compiles each DTO class once from the metadata of class-transformer and class-validator. Those packages look up all metadata again for
 * every value, which takes eight times as long as the rest of a batch order. The results are those of `plainToInstance` and `validateSync`
 * (whitelisting).
 */

/** The most faults. More do not help a caller, and would make a large response to a small request. */
export const MAX_FAULTS = 100;

export interface Fault {
  /** Keys and indices, from the outermost object to the innermost. */
  readonly path: readonly (string | number)[];
  /** The allowed values. Undefined if the class has no such field. */
  readonly allowed: string | undefined;
}

type Plain = Record<string, unknown>;

/** Returns an instance of the class with every conversion made, and the first {@link MAX_FAULTS} faults. */
export function validated<T extends object>(type: Type<T>, plain: object): { instance: T; faults: Fault[] } {
  const walk = new Walk();
  const compiled = compiledClass(type);
  const instance = compiled.instantiate(plain as Plain, walk);
  compiled.check(instance, walk);
  return { instance: instance as T, faults: walk.faults };
}

/** A running validation: its location and the faults found so far. */
class Walk {
  readonly path: (string | number)[] = [];
  readonly faults: Fault[] = [];
  /** Keys that are no fields of their instance, by instance. It is rarely present. */
  unknown: Map<object, string[]> | undefined;

  get isOver(): boolean {
    return this.faults.length >= MAX_FAULTS;
  }

  /** Adds a fault. The location becomes a text only here, because few requests have a fault. */
  addFault(key: string | undefined, allowed: string | undefined): void {
    if (!this.isOver)
      this.faults.push({ path: key === undefined ? [...this.path] : [...this.path, key], allowed });
  }

  addUnknown(instance: object, key: string): void {
    this.unknown ??= new Map();
    const keys = this.unknown.get(instance);
    if (keys) keys.push(key);
    else this.unknown.set(instance, [key]);
  }
}

type Conversion = (value: unknown, source: Plain, walk: Walk) => unknown;

interface Field extends DeclaredField {
  readonly conversions: readonly Conversion[];
}

const compiledClasses = new Map<unknown, CompiledClass>();

/** The conversions that class-transformer makes if `@Type` names a built-in class. */
const PLAIN_TYPES = new Map<unknown, (value: unknown) => unknown>([
  [String, String],
  [Number, Number],
  [Boolean, Boolean],
  [Date, (value) => new Date(value as string)],
]);

/** Compiles a class and every class within it. Throws at a decorator that cannot work. */
export function compile(type: Type): void {
  if (compiledClasses.has(type) || PLAIN_TYPES.has(type)) return;
  compiledClass(type);
  for (const { name, isNested, nestedClass, transforms } of declaredFields(type)) {
    if (isNested && !nestedClass && !transforms.some(itemKindsOf))
      throw new Error(
        `${type.name}: @ValidateNested() of ${name} needs @Type(() => …), the class of its objects`,
      );
    if (nestedClass) compile(nestedClass);
    for (const transform of transforms) itemKindsOf(transform)?.classes.forEach(compile);
  }
}

function compiledClass(type: Type): CompiledClass {
  let compiled = compiledClasses.get(type);
  if (!compiled) {
    compiled = new CompiledClass(type);
    compiledClasses.set(type, compiled);
  }
  return compiled;
}

class CompiledClass {
  readonly #fields: readonly Field[];
  readonly #byName: ReadonlyMap<string, Field>;

  constructor(private readonly type: Type) {
    this.#fields = declaredFields(type).map((field) => ({ ...field, conversions: conversionsOf(field) }));
    this.#byName = new Map(this.#fields.map((field) => [field.name, field]));
  }

  instantiate(source: Plain, walk: Walk): Plain {
    const instance = new this.type() as Plain;
    for (const key of Object.keys(source)) {
      const field = this.#byName.get(key);
      if (field) {
        let value = source[key];
        for (const convert of field.conversions) value = convert(value, source, walk);
        instance[key] = value;
      } else {
        walk.addUnknown(instance, key);
        // The value is copied for rules over a whole object. A name that would reach a prototype is left out.
        if (!(key in Object.prototype)) instance[key] = source[key];
      }
    }
    return instance;
  }

  check(instance: Plain, walk: Walk): void {
    if (walk.unknown) for (const key of walk.unknown.get(instance) ?? []) walk.addFault(key, undefined);
    for (const field of this.#fields) {
      if (walk.isOver) return;
      checkField(field, instance, walk);
    }
  }
}

/** Returns the conversions in class-transformer's order: nested objects first, then those of {@link Transform}. */
function conversionsOf({ name, nestedClass, transforms }: DeclaredField): Conversion[] {
  const conversions: Conversion[] = transforms.map((transform) => converting(name, transform));
  if (nestedClass) conversions.unshift((value, _, walk) => instances(value, nestedClass, walk));
  return conversions;
}

function converting(key: string, transform: TransformFn): Conversion {
  const kinds = itemKindsOf(transform);
  if (kinds) return (value, _, walk) => kinds.instances(value, (type, plain) => instances(plain, type, walk));
  // All values of the field share one object. No transform keeps it, and a new one for each value was a twentieth of the allocations of an
  // order.
  const given = {
    value: undefined as unknown,
    key,
    obj: {},
    type: TransformationType.PLAIN_TO_CLASS,
    options: {},
  };
  return (value, obj) => {
    given.value = value;
    given.obj = obj;
    return transform(given);
  };
}

function instances(value: unknown, type: Type, walk: Walk): unknown {
  if (Array.isArray(value)) return value.map((item) => instances(item, type, walk));
  const plain = PLAIN_TYPES.get(type);
  if (plain) return value === null || value === undefined ? value : plain(value);
  return typeof value === 'object' && value !== null
    ? compiledClass(type).instantiate(value as Plain, walk)
    : value;
}

function checkField(field: Field, instance: Plain, walk: Walk): void {
  const { name, conditions, rules, isNested } = field;
  const value = instance[name];
  for (const isMet of conditions) if (!isMet(instance, value)) return;
  let broken: string[] | undefined;
  for (const { holds, allowed } of rules)
    if (!holds(value, instance))
      (broken ??= []).push(typeof allowed === 'string' ? allowed : allowed(value, instance));
  if (broken) {
    const allowed = broken.join('; ');
    if (name === OBJECT_RULE) walk.addFault(undefined, allowed);
    else walk.addFault(name, value === undefined ? `is required: ${allowed}` : allowed);
    // If a value has the wrong type, faults of its parts are not reported.
    if (!Array.isArray(value)) return;
  }
  if (isNested) checkNested(name, value, walk);
}

function checkNested(key: string | number, value: unknown, walk: Walk): void {
  if (value === undefined) return;
  walk.path.push(key);
  if (Array.isArray(value)) {
    for (let index = 0; index < value.length && !walk.isOver; index++) checkNested(index, value[index], walk);
  } else if (typeof value === 'object' && value !== null) {
    compiledClass(value.constructor as Type).check(value as Plain, walk);
  } else {
    walk.addFault(undefined, 'must be an object');
  }
  walk.path.pop();
}
