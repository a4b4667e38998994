import 'reflect-metadata';
import { globSync } from 'node:fs';
import { resolve } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { expect, it } from '@jest/globals';
import type { ArgumentMetadata, Type } from '@nestjs/common';
import { METHOD_METADATA, PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import fc from 'fast-check';
import { OPERATION_POLICY, type OperationPolicy } from '../../src/request/operation-policy.ts';
import { isScope } from '../../src/request/scopes.ts';
import { ProblemException, type RequestFault } from '../../src/problem/problem.exception.ts';
import { pointerToken } from '../../src/shared/json-syntax.ts';
import { readRequestBody, UnreadableBody } from '../../src/validation/request-body.ts';
import { isPolluting, OBJECT_RULE } from '../../src/validation/rules.ts';
import { checkedPart } from '../../src/validation/validation.guard.ts';
import { fitting, type Schema } from '../fuzz/generate.ts';
import { textOfChanged } from '../support/changed-json.ts';
import { routes } from '../support/contract.ts';

/** A body, a query or the parameters of a path: each part of a request with a DTO class. */
interface Part {
  readonly name: string;
  readonly operationId: string;
  readonly type: 'body' | 'query' | 'param';
  readonly schema: Schema;
}

const parts: readonly Part[] = routes.flatMap(
  ({ operation: { operationId, requestBody, parameters = [] } }) => {
    const part = (type: Part['type'], schema: Schema): Part => ({
      name: `${type} of ${operationId}`,
      operationId,
      type,
      schema,
    });
    const named = (place: string) => parameters.filter((each) => each.in === place);
    const objectOf = (some: typeof parameters): Schema => ({
      type: 'object',
      properties: Object.fromEntries(some.map(({ name, schema }) => [name, schema as Schema])),
      required: some.filter(({ required }) => required).map(({ name }) => name),
    });
    // Files of rows are read as streams, row by row.
    const { schema: json } = requestBody?.content['application/json'] ?? {};
    const body = json ? [part('body', json as Schema)] : [];
    const query = named('query').length > 0 ? [part('query', objectOf(named('query')))] : [];
    const path = named('path').length > 0 ? [part('param', objectOf(named('path')))] : [];
    return [...body, ...query, ...path];
  },
);

interface Handler {
  readonly policy: OperationPolicy | undefined;
  /** The DTO classes of its arguments, by the kind of part. */
  readonly classes: Readonly<Record<Part['type'], Type | undefined>>;
}

function handlersOf(controller: Type): Handler[] {
  const prototype = controller.prototype as Record<string, object>;
  const isHandler = (name: string) => Reflect.hasMetadata(METHOD_METADATA, prototype[name] ?? {});
  return Object.getOwnPropertyNames(prototype)
    .filter(isHandler)
    .map((name) => {
      const args = Object.entries(
        (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
          string,
          { index: number }
        >,
      );
      const types = (Reflect.getMetadata('design:paramtypes', prototype, name) ?? []) as Type[];
      const classOf = (type: RouteParamtypes) =>
        types[args.find(([key]) => key.startsWith(`${type}:`))?.[1].index ?? -1];
      const { BODY, QUERY, PARAM } = RouteParamtypes;
      return {
        policy: Reflect.getMetadata(OPERATION_POLICY, prototype[name] ?? {}) as OperationPolicy | undefined,
        classes: { body: classOf(BODY), query: classOf(QUERY), param: classOf(PARAM) },
      };
    });
}

const modules = await Promise.all(
  globSync('src/**/*.controller.ts').map(
    async (path) => (await import(resolve(path))) as Record<string, unknown>,
  ),
);
const handlers = modules
  .flatMap((each) => Object.values(each))
  .filter((each): each is Type => typeof each === 'function' && Reflect.hasMetadata(PATH_METADATA, each))
  .flatMap(handlersOf);

/** The DTO classes of the handlers, by the name of their part. */
const classes = new Map(
  handlers.flatMap(({ policy, classes: own }) =>
    Object.entries(own).flatMap(([type, dto]): [string, Type][] =>
      dto ? [[`${type} of ${policy?.operationId}`, dto]] : [],
    ),
  ),
);

/** Frozen: a developer who wants a new public route must add it here. */
const PUBLIC = ['getProblem', 'listProblems', 'live', 'ready'];

it('every handler declares its scope, and is in the document under its operation id', () => {
  const policies = handlers.map(({ policy }) => policy);
  expect(policies).not.toContain(undefined);
  const ids = policies.map((policy) => policy?.operationId);
  expect(ids.sort()).toEqual(routes.map(({ operation }) => operation.operationId).sort());
  const open = policies.filter((policy) => policy?.scope === 'public').map((policy) => policy?.operationId);
  expect(open.sort()).toEqual(PUBLIC);
  const scopes = policies.map((policy) => policy?.scope ?? '');
  expect(scopes.filter((scope) => !['public', 'none'].includes(scope) && !isScope(scope))).toEqual([]);
});

type Argument = ArgumentMetadata & { readonly metatype: Type };
type Validate = (value: unknown, metadata: Argument) => unknown;

/** The handler's argument, or the caller's error. */
function outcomeOf(
  validate: Validate,
  value: unknown,
  metadata: Argument,
): { given: unknown } | { told: unknown } {
  try {
    return { given: validate(value, metadata) };
  } catch (error) {
    if (error instanceof ProblemException) return { told: error.body };
    throw error;
  }
}

const MAX_FAULTS = 100;

/**
 * The result of class-transformer and class-validator for a request. A compiler of their declarations must agree in what is accepted,
 * with which values, and in every error, its path, its words and its order.
 */
function validatedByReference(value: unknown, { type, metatype }: Argument): unknown {
  if (value instanceof UnreadableBody) throw value.problem;
  return type === 'body' ? validBody(value, metatype) : validParameters(value, metatype);
}

function validBody(value: unknown, metatype: Type): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid([{ pointer: '', detail: 'must be a JSON object' }]);
  }
  const { instance, errors } = check(value, metatype);
  if (errors.length > 0) throw invalid(errors.flatMap((error) => bodyFaults(error, '')));
  return instance;
}

function validParameters(value: unknown, metatype: Type): unknown {
  const parameters = value as Record<string, unknown>;
  const repeated = Object.keys(parameters).filter((name) => Array.isArray(parameters[name]));
  const unknown = Object.keys(parameters).filter(isPolluting);
  const given = Object.entries(parameters).filter(([name]) => !isPolluting(name));
  const once = given.map(([name, each]) => [name, Array.isArray(each) ? (each as unknown[])[0] : each]);
  const plain = Object.assign(Object.create(null) as object, Object.fromEntries(once));
  const { instance, errors } = check(plain, metatype);
  const faults = [
    ...repeated.map((parameter) => ({ parameter, detail: 'must be given once' })),
    ...unknown.map((parameter) => ({ parameter, detail: 'is not a known parameter' })),
    ...errors
      .filter(({ property }) => !repeated.includes(property))
      .map((error) => ({ parameter: error.property, detail: detailOf(error, 'parameter') })),
  ];
  if (faults.length > 0) throw invalid(faults);
  return instance;
}

function check(value: object, metatype: Type): { instance: object; errors: ValidationError[] } {
  const instance = plainToInstance(metatype, value) as object;
  const errors = validateSync(instance, { whitelist: true, forbidNonWhitelisted: true });
  return { instance, errors };
}

function bodyFaults(error: ValidationError, parent: string): RequestFault[] {
  const pointer = error.property === OBJECT_RULE ? parent : parent + pointerToken(error.property);
  const own = error.constraints ? [{ pointer, detail: detailOf(error, 'field') }] : [];
  // When a value is not even a list or an object, errors of its parts say nothing new.
  if (own.length > 0 && !Array.isArray(error.value)) return own;
  return [...own, ...(error.children ?? []).flatMap((child) => bodyFaults(child, pointer))];
}

function detailOf(
  { constraints = {}, value, property }: ValidationError,
  what: 'field' | 'parameter',
): string {
  if ('whitelistValidation' in constraints) return `is not a known ${what}`;
  if ('nestedValidation' in constraints && Object.keys(constraints).length === 1) return 'must be an object';
  const { nestedValidation: _, ...rules } = constraints;
  const allowed = Object.values(rules).join('; ');
  return value === undefined && property !== OBJECT_RULE ? `is required: ${allowed}` : allowed;
}

function invalid(errors: readonly RequestFault[]): ProblemException {
  return new ProblemException('validation-failed', { errors: errors.slice(0, MAX_FAULTS) });
}

/** Returns the parameters as the HTTP server parses them: text stays text, and a repeated parameter is an array. */
function parametersOf(json: string): unknown {
  const value: unknown = JSON.parse(json);
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value);
  const asText = (each: unknown) => (typeof each === 'string' ? each : JSON.stringify(each));
  const entries = Object.entries(isObject ? value : {}).map(([name, each]) => [
    name,
    Array.isArray(each) ? each.map(asText) : asText(each),
  ]);
  return Object.assign(Object.create(null) as object, Object.fromEntries(entries));
}

const compiled: Validate = (value, { type, metatype }) => {
  const faults: RequestFault[] = [];
  const instance = checkedPart(type === 'body' ? 'body' : 'query', value, metatype, faults);
  if (faults.length > 0) throw invalid(faults);
  return instance;
};

it('knows the class of every part of a request', () => {
  expect([...classes.keys()].sort()).toEqual(parts.map(({ name }) => name).sort());
});

it.each(parts)('compiled validation and class-validator agree on the $name', ({ name, type, schema }) => {
  const metadata: Argument = { type, metatype: classes.get(name) as Type };
  const read = (json: string) => (type === 'body' ? readRequestBody(Buffer.from(json)) : parametersOf(json));
  let accepted = 0;
  let refused = 0;
  fc.assert(
    fc.property(textOfChanged(fitting(schema)), (json) => {
      const outcome = outcomeOf(compiled, read(json), metadata);
      const expected = outcomeOf(validatedByReference, read(json), metadata);
      if ('given' in outcome) accepted++;
      else refused++;
      // Much faster than `expect`, and as strict: classes count.
      if (!isDeepStrictEqual(outcome, expected)) expect(outcome).toStrictEqual(expected);
    }),
    { numRuns: type === 'body' ? 200 : 60 },
  );
  expect({ accepted: accepted > 0, refused: refused > 0 }).toEqual({ accepted: true, refused: true });
});

it.each([
  ['orders that lack everything', { items: Array.from({ length: 300 }, () => ({ orderType: 'new_buy' })) }],
  ['orders of no kind', { items: Array.from({ length: 300 }, () => ({})) }],
  ['orders that are none', { items: Array.from({ length: 1_001 }, () => 'a') }],
  ['unknown fields', Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, index]))],
])('both stop at the same error of hundreds: %s', (_, body) => {
  const metadata: Argument = { type: 'body', metatype: classes.get('body of placeOrder') as Type };
  const outcome = outcomeOf(compiled, body, metadata);
  expect(outcome).toStrictEqual(outcomeOf(validatedByReference, body, metadata));
  expect(outcome).toMatchObject({ told: { errors: { length: 100 } } });
});
