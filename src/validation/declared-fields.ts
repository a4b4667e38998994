import type { Type } from '@nestjs/common';
import { TransformationType, type TransformFnParams, type TypeMetadata } from 'class-transformer';
import { defaultMetadataStorage as transformations } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, ValidationTypes } from 'class-validator';
import { isGiven, isSet, type Test } from './rules.ts';

export type TransformFn = (params: TransformFnParams) => unknown;

export interface DeclaredField {
  readonly name: string;
  /** The class of the objects in the field, where they are validated too. */
  readonly nestedClass: Type | undefined;
  readonly isNested: boolean;
  /** In the order in which they are applied. */
  readonly transforms: readonly TransformFn[];
  /** The field is checked only where it is present. */
  readonly isOptional: boolean;
  /** Null is as good as a value. */
  readonly isClearable: boolean;
  readonly rules: readonly { readonly holds: Test; readonly allowed: string }[];
}

type Validation = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

/**
 * The fields of a DTO class, from the metadata of class-validator and class-transformer, in the order in which class-validator
 * checks them. Throws at an unknown decorator, so that none is ignored silently.
 */
export function declaredFields(type: Type): DeclaredField[] {
  const storage = getMetadataStorage();
  const validations = storage.getTargetValidationMetadatas(type, '', false, false);
  if (validations.length === 0) throw new Error(`${type.name} has no rules`);
  const exposed = [
    ...transformations.getExposedMetadatas(type),
    ...transformations.getExcludedMetadatas(type),
  ];
  if (exposed.length > 0 || transformations.getStrategy(type) !== 'none')
    throw unknown(type, '@Expose or @Exclude');
  return Object.entries(storage.groupByPropertyName(validations)).map(([name, own]) =>
    declared(type, name, own),
  );
}

function declared(type: Type, name: string, validations: readonly Validation[]): DeclaredField {
  const of = (kind: string) => validations.filter((each) => each.type === kind);
  const customs = of(ValidationTypes.CUSTOM_VALIDATION);
  const conditionals = of(ValidationTypes.CONDITIONAL_VALIDATION);
  const nested = of(ValidationTypes.NESTED_VALIDATION);
  const known = [...customs, ...conditionals, ...nested];
  const isStrange = known.length < validations.length || nested.length > 1 || known.some(hasOptions);
  const conditions = conditionals.map(({ constraints }) => constraints[0] as unknown);
  if (isStrange || conditions.some((condition) => condition !== isGiven && condition !== isSet))
    throw unknown(type, `a rule of ${name}`);
  return {
    name,
    nestedClass: nestedClassOf(type, name),
    isNested: nested.length > 0,
    transforms: transformsOf(type, name),
    isOptional: conditions.length > 0,
    isClearable: conditions.includes(isSet),
    rules: customs.map((custom) => ruleOf(type, custom)),
  };
}

function hasOptions({ each, groups, always, context, validateIf }: Partial<Validation>): boolean {
  return Boolean(each ?? always ?? context ?? validateIf) || (groups ?? []).length > 0;
}

/** Only rules made by {@link rule} have a test to call. */
function ruleOf(type: Type, { propertyName, constraints }: Validation): DeclaredField['rules'][number] {
  const [holds, allowed] = (constraints ?? []) as [unknown, unknown];
  if (typeof holds !== 'function' || typeof allowed !== 'string')
    throw unknown(type, `a rule of ${propertyName}`);
  return { holds: holds as Test, allowed };
}

function nestedClassOf(type: Type, name: string): Type | undefined {
  const nested = transformations.findTypeMetadata(type, name) as TypeMetadata | undefined;
  if (nested?.options.discriminator) throw unknown(type, `a discriminator of ${name}`);
  return nested?.typeFunction() as Type | undefined;
}

function transformsOf(type: Type, name: string): TransformFn[] {
  const transforms = transformations.findTransformMetadatas(type, name, TransformationType.PLAIN_TO_CLASS);
  if (transforms.some(({ options }) => Object.keys(options).length > 0))
    throw unknown(type, `a transformation of ${name}`);
  return transforms.map(({ transformFn }) => transformFn);
}

function unknown(type: Type, what: string): Error {
  return new Error(`${type.name} has ${what} that compiled validation does not know`);
}
