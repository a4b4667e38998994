import { isDeepStrictEqual } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ArgumentMetadata, Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { ModulesContainer } from '@nestjs/core';
import fc from 'fast-check';
import { OPERATION_POLICY, type OperationPolicy } from '../../src/caller/operation-policy.ts';
import { ProblemException } from '../../src/problem/problem.exception.ts';
import { readRequestBody } from '../../src/validation/request-body.ts';
import { RequestValidationPipe } from '../../src/validation/validation.pipe.ts';
import { fitting, type Schema } from '../fuzz/generate.ts';
import { textOfChanged } from '../support/changed-json.ts';
import { routes } from '../support/contract.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { validatedByReference } from '../support/reference-validation.ts';
import { TestSandbox } from '../support/sandbox.ts';

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

const argumentTypes = {
  body: RouteParamtypes.BODY,
  query: RouteParamtypes.QUERY,
  param: RouteParamtypes.PARAM,
};

let sandbox: TestSandbox;
let gateway: GatewayInProcess;
/** The DTO classes of the handlers, by the name of their part. */
const classes = new Map<string, Type>();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  gateway = await startInProcess(sandbox);
  const modules = [...gateway.app.get(ModulesContainer).values()];
  for (const { metatype } of modules.flatMap((module) => [...module.controllers.values()])) {
    const controller = metatype as Type;
    const prototype = controller.prototype as Record<string, object>;
    for (const name of Object.getOwnPropertyNames(prototype)) {
      const policy = Reflect.getMetadata(OPERATION_POLICY, prototype[name] ?? {}) as
        OperationPolicy | undefined;
      const args = (Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, name) ?? {}) as Record<
        string,
        { index: number }
      >;
      const types = (Reflect.getMetadata('design:paramtypes', prototype, name) ?? []) as Type[];
      for (const [type, argument] of Object.entries(argumentTypes))
        for (const [key, { index }] of Object.entries(args))
          if (policy && key.startsWith(`${argument}:`))
            classes.set(`${type} of ${policy.operationId}`, types[index] as Type);
    }
  }
});
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
});

type Validate = (value: unknown, metadata: ArgumentMetadata) => unknown;

/** The handler's argument, or the caller's error. */
function outcomeOf(
  validate: Validate,
  value: unknown,
  metadata: ArgumentMetadata,
): { given: unknown } | { told: unknown } {
  try {
    return { given: validate(value, metadata) };
  } catch (error) {
    if (error instanceof ProblemException) return { told: error.body };
    throw error;
  }
}

/** As the HTTP server parses it: text stays text, and a repeated parameter is an array. */
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

const pipe = new RequestValidationPipe();
const compiled: Validate = (value, metadata) => pipe.transform(value, metadata);

it('knows the class of every part of a request', () => {
  expect([...classes.keys()].sort()).toEqual(parts.map(({ name }) => name).sort());
});

it.each(parts)('compiled validation and class-validator agree on the $name', ({ name, type, schema }) => {
  const metadata: ArgumentMetadata = { type, metatype: classes.get(name) as Type };
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
    { numRuns: type === 'body' ? 500 : 150 },
  );
  expect({ accepted: accepted > 0, refused: refused > 0 }).toEqual({ accepted: true, refused: true });
});

it.each([
  ['orders that lack everything', { items: Array.from({ length: 300 }, () => ({ orderType: 'new_buy' })) }],
  ['orders of no kind', { items: Array.from({ length: 300 }, () => ({})) }],
  ['orders that are none', { items: Array.from({ length: 1_001 }, () => 'a') }],
  ['unknown fields', Object.fromEntries(Array.from({ length: 300 }, (_, index) => [`k${index}`, index]))],
])('both stop at the same error of hundreds: %s', (_, body) => {
  const metadata: ArgumentMetadata = { type: 'body', metatype: classes.get('body of placeOrder') as Type };
  const outcome = outcomeOf(compiled, body, metadata);
  expect(outcome).toStrictEqual(outcomeOf(validatedByReference, body, metadata));
  expect(outcome).toMatchObject({ told: { errors: { length: 100 } } });
});
