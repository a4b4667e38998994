import type { Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ModulesContainer } from '@nestjs/core';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { getMetadataStorage } from 'class-validator';
import { OPERATION_POLICY, type OperationPolicy } from '../../src/request/operation-policy.ts';
import { type Name, namesOf } from '../../src/tenancy/names.ts';
import { declaredFields } from '../../src/validation/declared-fields.ts';
import { itemKindsOf } from '../../src/validation/list-rules.ts';

type Part = 'param' | 'query' | 'body';

/** One field of a request's part, as its class declares it. */
export interface RequestField {
  readonly operation: string;
  readonly part: Part;
  /** Class and field. An inherited field appears several times, as does one whose class is used in several fields. */
  readonly field: string;
  /** The path, with `[]` for the items of a list. A recursive class is followed once. */
  readonly path: string;
  readonly holdsId: boolean;
  readonly name: Name | undefined;
}

const PARTS: readonly [RouteParamtypes, Part][] = [
  [RouteParamtypes.PARAM, 'param'],
  [RouteParamtypes.QUERY, 'query'],
  [RouteParamtypes.BODY, 'body'],
];
const ID_RULES = new Set(['identifier', 'identifierList']);
const ID_NAME = /(?:Id|Ids|Num|Nums|Code)$/;

/** Every field of every request that the application's routes accept. */
export function requestFields(app: NestFastifyApplication): RequestField[] {
  const controllers = [...app.get(ModulesContainer).values()].flatMap((module) => [
    ...module.controllers.values(),
  ]);
  return controllers.flatMap(({ metatype }) => (metatype ? fieldsOfController(metatype as Type) : []));
}

function fieldsOfController(controller: Type): RequestField[] {
  const prototype = controller.prototype as Record<string, unknown>;
  return Object.getOwnPropertyNames(prototype).flatMap((method) => {
    const policy = Reflect.getMetadata(OPERATION_POLICY, prototype[method] as object) as
      | OperationPolicy
      | undefined;
    if (!policy) return [];
    const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) ?? {}) as Record<
      string,
      { index: number }
    >;
    const types = Reflect.getMetadata('design:paramtypes', prototype, method) as Type[];
    return PARTS.flatMap(([kind, part]) =>
      Object.entries(args)
        .filter(([key]) => key.startsWith(`${kind}:`))
        .flatMap(([, { index }]) =>
          fieldsOf(types[index] as Type, { operation: policy.operationId, part }, '', []),
        ),
    );
  });
}

function fieldsOf(
  type: Type,
  of: { operation: string; part: Part },
  at: string,
  outer: readonly Type[],
): RequestField[] {
  if (outer.filter((each) => each === type).length > 1) return [];
  const names = namesOf(type.prototype as object);
  return declaredFields(type).flatMap(({ name, isNested, nestedClass, transforms }) => {
    const path = `${at}${name}`;
    const classes = nestedClass
      ? [nestedClass]
      : transforms.flatMap((each) => itemKindsOf(each)?.classes ?? []);
    if (isNested)
      return classes.flatMap((each) =>
        fieldsOf(each as Type, of, `${path}${isList(type, name) ? '[]' : ''}.`, [...outer, type]),
      );
    return [
      {
        ...of,
        field: `${type.name}.${name}`,
        path,
        holdsId:
          of.part === 'param' || ID_NAME.test(name) || rulesOf(type, name).some((rule) => ID_RULES.has(rule)),
        name: names.get(name),
      },
    ];
  });
}

function isList(type: Type, field: string): boolean {
  return rulesOf(type, field).includes('list');
}

function rulesOf(type: Type, field: string): string[] {
  return getMetadataStorage()
    .getTargetValidationMetadatas(type, '', false, false)
    .filter(({ propertyName }) => propertyName === field)
    .map(({ name }) => name ?? '');
}
