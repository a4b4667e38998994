import type { Type } from '@nestjs/common';
import { TransformationType, type TransformFnParams, type TypeMetadata } from 'class-transformer';
import { defaultMetadataStorage as transformations } from 'class-transformer/cjs/storage.js';
import { getMetadataStorage, type ValidationArguments, ValidationTypes } from 'class-validator';
import type { Test } from './rules.ts';

export type TransformFn = (params: TransformFnParams) => unknown;

export interface DeclaredRule {
  readonly holds: Test;
  /** The allowed values. The text never contains the value, which may be a secret. */
  readonly allowed: string | ((value: unknown, object: object) => string);
}

type Condition = (object: object, value: unknown) => boolean;

export interface DeclaredField {
  readonly name: string;
  /** The class of the objects in the field, if they are validated too. */
  readonly nestedClass: Type | undefined;
  readonly isNested: boolean;
  /** The conversions in the order in which they are applied. */
  readonly transforms: readonly TransformFn[];
  /** The conditions under which the field is checked. All of them have to hold. */
  readonly conditions: readonly Condition[];
  /** True if the field may be left out. */
  readonly isOptional: boolean;
  readonly rules: readonly DeclaredRule[];
}

type Validation = ReturnType<ReturnType<typeof getMetadataStorage>['getTargetValidationMetadatas']>[number];

/**
 * Reads the fields of a DTO class from the metadata of class-validator and class-transformer, in the order in which class-validator checks
 * them. Every decorator of class-validator works as its documentation says, except for rules that are promises. A decorator that cannot
 * work is refused here, so that none is ignored silently.
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
  if (of(ValidationTypes.PROMISE_VALIDATION).length > 0) throw unknown(type, `a promise in ${name}`);
  const conditions = of(ValidationTypes.CONDITIONAL_VALIDATION).map(
    ({ constraints }) => constraints[0] as Condition,
  );
  return {
    name,
    nestedClass: nestedClassOf(type, name),
    isNested: of(ValidationTypes.NESTED_VALIDATION).length > 0,
    transforms: transformsOf(type, name),
    conditions,
    isOptional: conditions.length > 0,
    rules: [...of(ValidationTypes.IS_DEFINED), ...of(ValidationTypes.CUSTOM_VALIDATION)].map((each) =>
      ruleOf(type, each),
    ),
  };
}

/**
 * Returns a rule. One that {@link rule} made has a test to call. For any other one, the object that class-validator keeps for it does the
 * check.
 */
function ruleOf(type: Type, validation: Validation): DeclaredRule {
  const { propertyName, constraints, constraintCls, each, validateIf, message } = validation;
  const [test, allowed] = (constraints ?? []) as [unknown, unknown];
  if (typeof test === 'function' && typeof allowed === 'string') return { holds: test as Test, allowed };
  const checks = getMetadataStorage().getTargetValidatorConstraints(constraintCls);
  if (checks.some(({ async }) => async)) throw unknown(type, `an asynchronous rule of ${propertyName}`);
  const given = (value: unknown, object: object): ValidationArguments => {
    return { targetName: type.name, property: propertyName, constraints, value, object };
  };
  return {
    holds: (value, object) => {
      if (validateIf && !validateIf(object, value)) return true;
      const items = each && isCollection(value) ? [...value.values()] : [value];
      return checks.every(({ instance }) =>
        items.every((item) => settled(instance.validate(item, given(value, object)), propertyName)),
      );
    },
    allowed: (value, object) => {
      const [text] = checks.map(({ instance }) => message ?? instance.defaultMessage?.(given(value, object)));
      return withoutTokens(typeof text === 'function' ? text(given(value, object)) : text, validation);
    },
  };
}

/** Refuses a promise. A rule that does not declare that it is asynchronous shows it only here, and its promise would count as "holds". */
function settled(holds: boolean | Promise<boolean>, name: string): boolean {
  if (typeof holds === 'object') throw new Error(`A rule of ${name} is asynchronous: validation is not`);
  return holds;
}

function isCollection(value: unknown): value is readonly unknown[] | Set<unknown> | Map<unknown, unknown> {
  return Array.isArray(value) || value instanceof Set || value instanceof Map;
}

/** Fills in the tokens of class-validator's messages. A fault states the location of the field separately, and never its value. */
function withoutTokens(text = 'is not allowed', { propertyName, constraints }: Validation): string {
  return text
    .replace(/^\$property /, '')
    .replaceAll('$property', propertyName)
    .replaceAll('$value', 'the value')
    .replaceAll(/\$constraint(\d+)/g, (_, number: string) => {
      const constraint = (constraints as readonly unknown[] | undefined)?.[Number(number) - 1];
      return Array.isArray(constraint) ? constraint.join(', ') : String(constraint);
    });
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
