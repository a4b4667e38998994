import { applyDecorators } from '@nestjs/common';
import { ApiProperty, getSchemaPath } from '@nestjs/swagger';
import { plainToInstance, Transform, type TransformFnParams } from 'class-transformer';
import { ValidateNested } from 'class-validator';
import {
  type ClassOf,
  type FieldDoc,
  ListRule,
  OneOf,
  rule,
  type Size,
  sizeDoc,
  type Test,
} from './rules.ts';

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/**
 * Items that repeat the value of an earlier item of their list. They are found when the list is read, and reported by {@link Unrepeated}.
 */
const repeats = new WeakSet<object>();

/**
 * Declares a list whose items differ in `field`, a text that ignores case and has {@link Unrepeated}. The fault points to the second of two
 * equal items.
 */
export function DifferentBy(field: string): PropertyDecorator {
  return Transform(({ value }) => {
    if (!Array.isArray(value)) return value as unknown;
    const seen = new Set<unknown>();
    for (const item of (value as unknown[]).filter(isObject) as Record<string, unknown>[]) {
      const given = item[field];
      const key = typeof given === 'string' ? given.toLowerCase() : given;
      if (seen.has(key)) repeats.add(item);
      seen.add(key);
    }
    return value as unknown;
  });
}

export function Unrepeated(): PropertyDecorator {
  const test: Test = (value, item) => value === undefined || !repeats.has(item);
  return rule('unrepeated', test, 'must not be given twice, in any case of letters');
}

/** The schema that the document makes of all classes together. */
interface Choice {
  readonly name: string;
  readonly description: string;
}
type Classes = Readonly<Record<string, ClassOf<object>>>;
type Instantiate = (type: ClassOf<object>, plain: object) => unknown;

class ItemKinds {
  readonly #classes: ReadonlyMap<unknown, ClassOf<object>>;
  /** The class of an item with an unknown word. Its other fields cannot be checked. */
  readonly #unknown: ClassOf<object>;

  constructor(
    private readonly property: string,
    classes: Classes,
  ) {
    this.#classes = new Map(Object.entries(classes));
    this.#unknown = class UnknownKind {
      [field: string]: unknown;
    };
    OneOf(Object.keys(classes))(this.#unknown.prototype as object, property);
  }

  get classes(): readonly ClassOf<object>[] {
    return [...this.#classes.values()];
  }

  instances(list: unknown, instantiate: Instantiate): unknown {
    return Array.isArray(list) ? list.map((item: unknown) => this.#instance(item, instantiate)) : list;
  }

  #instance(item: unknown, instantiate: Instantiate): unknown {
    if (!isObject(item)) return item;
    // A list instead of an object is refused, and its content is not checked.
    if (Array.isArray(item)) return null;
    const word = (item as Record<string, unknown>)[this.property];
    const known = this.#classes.get(word);
    return known ? instantiate(known, item) : Object.assign(new this.#unknown(), { [this.property]: word });
  }
}

type TransformFn = (params: TransformFnParams) => unknown;
const itemKinds = new WeakMap<TransformFn, ItemKinds>();

/** Returns the kinds of items for compiled validation, which makes the instances itself. */
export function itemKindsOf(transform: TransformFn): ItemKinds | undefined {
  return itemKinds.get(transform);
}

/**
 * Declares a list of objects of several classes, which the word in `property` distinguishes. The class names them with `ApiExtraModels`.
 */
export function ListOfKinds(
  { property, ...choice }: Choice & { readonly property: string },
  classes: Classes,
  size: Size,
  doc: FieldDoc = {},
): PropertyDecorator {
  const kinds = new ItemKinds(property, classes);
  const transform: TransformFn = ({ value }) => kinds.instances(value, plainToInstance);
  itemKinds.set(transform, kinds);
  const paths = Object.entries(classes).map(([word, type]) => [word, getSchemaPath(type)] as const);
  return applyDecorators(
    Transform(transform),
    ValidateNested(),
    ListRule(size),
    ApiProperty({
      type: 'array',
      ...sizeDoc(size),
      items: {
        ...{ 'x-choice': choice },
        oneOf: paths.map(([, $ref]) => ({ $ref })),
        discriminator: { propertyName: property, mapping: Object.fromEntries(paths) },
      },
      ...doc,
    }),
  );
}
