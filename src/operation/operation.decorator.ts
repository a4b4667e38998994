import { applyDecorators, HttpCode, RequestMethod, SetMetadata, type Type } from '@nestjs/common';
import { METHOD_METADATA } from '@nestjs/common/constants.js';
import { RouteConfig } from '@nestjs/platform-fastify';
import { FASTIFY_ROUTE_CONFIG_METADATA } from '@nestjs/platform-fastify/constants.js';
import { ApiOperation } from '@nestjs/swagger';
import type { FastifyContextConfig } from 'fastify';
import { DryRunDto } from '../request/dry-run.dto.ts';
import { OPERATION_POLICY, type OperationPolicy } from '../request/operation-policy.ts';
import type { Scope } from '../request/scopes.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { namedObjects } from '../tenancy/named-objects.ts';
import { operations, type UpstreamOperation } from '../upstream/operations.ts';
import { declaredParts } from '../validation/validation.guard.ts';
import { deprecationHeaders } from './deprecation.ts';
import { addDryRunRoute, dryRunOf, type SharedPath } from './dry-run-route.ts';
import { described, type OperationDescription } from './openapi/operation-description.ts';
import { problemResponses } from './openapi/problem-responses.ts';

type Policies = Pick<
  OperationPolicy,
  | ('alsoScopes' | 'idempotency' | 'answersRepeats' | 'looksUpAsUser')
  | ('locationOf' | 'shownOnce' | 'showsEnterprises' | 'stoppedBy' | 'changedNothing')
>;

export interface OperationSpec extends Policies, OperationDescription {
  readonly id: string;
  /**
   * The kind of operation. A read has an `ETag` and may be cached. A write may have an `Idempotency-Key`, and drops cached reads. It
   * determines the policy's `handling`. The `Effect` of the platform's operation differs from it: it tells whether that operation may be
   * repeated.
   */
  readonly effect: 'read' | 'write';
  /** The required scope. `none` allows any caller. */
  readonly scope: Scope | 'none';
  /** True if the platform is called on behalf of a user. By default it is true if the platform's operation is a member operation. */
  readonly actsAsUser?: boolean;
  /** The dry run of a write that changes something at the platform. It has a path of its own: see {@link addDryRunRoute}. */
  readonly dryRun?: true | SharedPath;
  /** True for a read that calls the platform, and whose response must not be cached. */
  readonly isUncached?: boolean;
  /** True for a read whose response must not be stored, not even by the caller. It has no `ETag`. */
  readonly noStore?: boolean;
}

/**
 * Declares everything about a route: the callers that may use it, its part of the OpenAPI document, every problem of its responses, and the
 * platform's operation that it calls.
 */
export function Operation(spec: OperationSpec): MethodDecorator {
  return (controller, method, descriptor) => {
    const handler = descriptor.value as (...parts: unknown[]) => unknown;
    const takesPatch = Reflect.getMetadata(METHOD_METADATA, handler) === RequestMethod.PATCH;
    if (spec.dryRun) {
      const shared = spec.dryRun === true ? undefined : spec.dryRun;
      const route = addDryRunRoute(controller, String(method), handler, shared);
      operation(dryRunSpec(spec), { isDryRun: true }, takesPatch)(controller, route.method, route.descriptor);
      if (shared && takesPatch) alsoTakesPatch(controller, dryRunOf(shared.with));
    }
    operation(spec, { hasDryRun: spec.dryRun !== undefined }, takesPatch)(controller, method, descriptor);
  };
}

function operation(
  spec: OperationSpec,
  kind: Pick<OperationPolicy, 'hasDryRun' | 'isDryRun'>,
  takesPatch: boolean,
): MethodDecorator {
  return (controller, method, descriptor) => {
    const objects = objectsOf(controller.constructor as Type, String(method));
    const policy = { ...policyOf(spec), ...kind, objects };
    applyDecorators(
      SetMetadata(OPERATION_POLICY, policy),
      HttpCode(spec.success[0].status),
      // The hooks have to know this before Nest has found the handler. The body of a file is not read before the handler.
      RouteConfig({
        policy,
        isCached: policy.isCached,
        takesFile: policy.takesFile,
        takesPatch,
        deprecation: spec.deprecated && deprecationHeaders(spec.deprecated),
      }),
      ...described(spec, policy),
    )(controller, method, descriptor);
  };
}

/** The dry run of another write, on whose path a PATCH has its dry run too, takes the body of that PATCH. */
function alsoTakesPatch(controller: object, dryRun: string): void {
  const handler = (controller as Record<string, object>)[dryRun] as object;
  const config = Reflect.getMetadata(FASTIFY_ROUTE_CONFIG_METADATA, handler) as FastifyContextConfig;
  config.takesPatch = true;
}

function dryRunSpec({ id, summary, idempotency, locationOf, ...spec }: OperationSpec): OperationSpec {
  return {
    ...spec,
    id: dryRunOf(id),
    examplesOf: id,
    ofOrder: idempotency === 'order',
    summary: `Dry run: ${summary.charAt(0).toLowerCase()}${summary.slice(1)}`,
    description: `Checks a request of \`${id}\` as that operation does, and says what it would send and change. Nothing is sent but reads, and nothing is recorded.`,
    success: [{ status: 200, description: 'What it would do', type: DryRunDto }],
  };
}

function objectsOf(controller: Type, method: string): OperationPolicy['objects'] {
  const { classes } = declaredParts(controller, method);
  const of = (wanted: string) => classes.flatMap(({ part, type }) => (part === wanted ? [type] : []));
  return namedObjects(of('params'), of('body'));
}

function policyOf(spec: OperationSpec): Omit<OperationPolicy, 'objects'> {
  const upstream = spec.upstream && operations[spec.upstream];
  const { streams, alsoStreams } = spec.success[0];
  const handling = handlingOf(spec);
  return {
    operationId: spec.id,
    scope: spec.scope,
    alsoScopes: spec.alsoScopes,
    handling,
    actsAsUser: spec.actsAsUser ?? upstream?.module === 'member',
    looksUpAsUser: spec.looksUpAsUser,
    isCached: handling === 'read' && upstream !== undefined && !spec.isUncached,
    stoppedBy:
      spec.stoppedBy ?? (handling === 'write' && upstream && changes(upstream) ? 'writes' : undefined),
    idempotency: spec.idempotency,
    answersRepeats: spec.answersRepeats,
    locationOf: spec.locationOf,
    shownOnce: spec.shownOnce,
    showsEnterprises: spec.showsEnterprises,
    changedNothing: spec.changedNothing,
    streams: streams?.map(({ type }) => type),
    alsoStreams: alsoStreams?.map(({ type }) => type),
    takesFile: spec.file !== undefined,
  };
}

/** True if the operation changes something. An order is left out, because it is stopped where it begins. */
function changes({ effect, placesOrders }: UpstreamOperation): boolean {
  return effect !== 'read' && !placesOrders;
}

function handlingOf({ effect, noStore, success }: OperationSpec): OperationPolicy['handling'] {
  if (success[0].streams) return 'stream';
  if (effect === 'write') return 'write';
  return noStore ? 'plain' : 'read';
}

/**
 * Declares a route that needs no caller: health, problems. Its path must also be in `accessTo` of `http/identification.ts`, because the
 * hooks run before the guards read this policy. A test has the list of these routes.
 */
export function PublicOperation(
  id: string,
  summary: string,
  description: string,
  problems: readonly ProblemSlug[] = [],
): MethodDecorator {
  const policy: OperationPolicy = { operationId: id, scope: 'public', handling: 'plain', objects: [] };
  return applyDecorators(
    SetMetadata(OPERATION_POLICY, policy),
    ApiOperation({ operationId: id, summary, description, security: [] }),
    ...problemResponses(problems),
  );
}
