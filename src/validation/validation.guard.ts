import { type CanActivate, type ExecutionContext, Injectable, type Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest } from 'fastify';
import { documentedPath } from '../shared/documented-path.ts';
import { pointerToken } from '../shared/json-syntax.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { acceptedType } from './accepted-type.ts';
import { MAX_FAULTS, validated } from './compiled-validation.ts';
import { type OtherBody, otherBodyOf } from './other-body.ts';
import { UnreadableBody } from './request-body.ts';
import { isPolluting } from './rules.ts';
import { isDecodable } from './texts.ts';

/** The types of responses that are no streams. */
const SERVED = ['application/json', 'application/problem+json'];
/** The type that a browser names when it follows a link. It gets the response too. */
const PAGE = 'text/html';
/** The form of ranges. A text of another form is not repeated. */
const RANGES = /^[\w.+*/;,= -]{1,200}$/;
/** The most different headers that are remembered. Clients send few, and if a client sends many, they are only parsed again. */
const MAX_ACCEPTS = 100;
const KEY = /^(?:"([A-Za-z0-9_.:-]{16,255})"|([A-Za-z0-9_.:-]{16,255}))$/;

type Part = 'params' | 'query' | 'body';
const PARTS: readonly (readonly [RouteParamtypes, Part])[] = [
  [RouteParamtypes.PARAM, 'params'],
  [RouteParamtypes.QUERY, 'query'],
  [RouteParamtypes.BODY, 'body'],
];

export interface DeclaredParts {
  readonly takes: ReadonlySet<Part>;
  /** The DTO classes of whole parts, in the order in which they are checked. */
  readonly classes: readonly { readonly part: Part; readonly type: Type<object> }[];
}

type OtherParts = Pick<OtherBody, 'takes'> & { readonly parts: DeclaredParts };

/**
 * Checks path, query and body of every request against the DTO classes of its handler. It first refuses what no DTO can check: a query that
 * is not UTF-8, query parameters or a body on an operation that declares none, and an `Accept` header (RFC 9110 12.5.1) that allows no type
 * of the gateway. The checked parts replace the ones that arrived, so `@Param()`, `@Query()` and `@Body()` pass instances of its DTOs to
 * the handler. A pipe would do so only after six promises for each of them (decision 13).
 */
@Injectable()
export class ValidationGuard implements CanActivate {
  readonly #declared = new WeakMap<object, DeclaredParts & { readonly other?: OtherParts }>();
  readonly #accepts = new Map<string, boolean>();

  canActivate(context: ExecutionContext): boolean {
    const request = context.switchToHttp().getRequest<FastifyRequest>();
    const {
      streams,
      alsoStreams = [],
      takesFile,
      idempotency,
      hasDryRun,
    } = request.stages.get('authorised').policy;
    if (hasDryRun) refuseValidateOnly(request);
    const { accept } = request.headers;
    const isAccepted =
      acceptedType(accept, streams ?? alsoStreams) !== undefined || (!streams && this.#accepted(accept));
    if (!isAccepted) throw notAcceptable(accept, streams ?? [...SERVED.slice(0, 1), ...alsoStreams]);
    if (takesFile && request.body instanceof UnreadableBody) throw request.body.problem;
    const { takes, classes } = this.#declaredBy(context, request.body);
    // The query parser silently replaces invalid bytes. The path was checked before.
    const hasText = isDecodable(request.url);
    const faults = hasText ? faultsOf(request, takes) : [NOT_DECODABLE];
    const idempotencyKey = idempotency && keyOf(request, faults);
    const parameters: object[] = [];
    let body: object | undefined;
    for (const { part, type } of classes) {
      if (part === 'query' && !hasText) continue;
      const instance = checkedPart(part, request[part], type, faults);
      if (!instance) continue;
      request[part] = instance;
      if (part === 'body') body = instance;
      else parameters.push(instance);
    }
    if (faults.length > 0) throw invalid(faults);
    request.stages.pass('validated', { parameters, body, idempotencyKey });
    return true;
  }

  #accepted(accept: string | undefined): boolean {
    if (!accept) return true;
    const known = this.#accepts.get(accept);
    if (known !== undefined) return known;
    const page = accept.includes(PAGE) ? [PAGE] : [];
    const accepted = (acceptedType(accept, SERVED) ?? acceptedType(accept, page)) !== undefined;
    if (this.#accepts.size < MAX_ACCEPTS) this.#accepts.set(accept, accepted);
    return accepted;
  }

  #declaredBy(context: ExecutionContext, body: unknown): DeclaredParts {
    const handler = context.getHandler();
    let declared = this.#declared.get(handler);
    if (!declared) {
      const controller = context.getClass();
      const other = otherBodyOf(handler);
      declared = {
        ...declaredParts(controller, handler.name),
        ...(other && { other: { takes: other.takes, parts: declaredParts(controller, other.method) } }),
      };
      this.#declared.set(handler, declared);
    }
    return declared.other?.takes(body) ? declared.other.parts : declared;
  }
}

/** Returns an instance of `type` made of a part of a request, and adds the faults of the part. Without a fault, it is valid. */
export function checkedPart(
  part: Part,
  value: unknown,
  type: Type<object>,
  faults: RequestFault[],
): object | undefined {
  return part === 'body' ? checkedBody(value, type, faults) : checkedParameters(value, type, faults);
}

export function declaredParts(controller: Type, method: string): DeclaredParts {
  const declared = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) as
    | Readonly<Record<string, { readonly index: number; readonly data?: unknown }>>
    | undefined;
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) as
    | Type<object>[]
    | undefined;
  const takes = new Set<Part>();
  const classes: { part: Part; type: Type<object> }[] = [];
  for (const [kind, part] of PARTS)
    for (const [key, { index, data }] of Object.entries(declared ?? {})) {
      if (!key.startsWith(`${kind}:`)) continue;
      takes.add(part);
      const type = types?.[index];
      if (data === undefined && type) classes.push({ part, type });
    }
  return { takes, classes };
}

function notAcceptable(accept: string | undefined, types: readonly string[]): ProblemException {
  const there = types.map((type) => `\`${type}\``).join(' or ');
  const is = accept !== undefined && RANGES.test(accept) ? `, and is \`${accept}\`` : '';
  return new ProblemException('not-acceptable', {
    errors: [{ parameter: 'Accept', detail: `must allow ${there}${is}` }],
  });
}

const NOT_DECODABLE: RequestFault = { parameter: 'query', detail: 'must be percent-encoded UTF-8' };

function faultsOf({ query, body }: FastifyRequest, takes: ReadonlySet<Part>): RequestFault[] {
  const errors: RequestFault[] = [];
  if (!takes.has('query'))
    for (const parameter of Object.keys(query as object).slice(0, MAX_FAULTS))
      errors.push({ parameter, detail: 'is not a known parameter' });
  if (!takes.has('body') && body !== undefined && body !== null)
    errors.push({ pointer: '', detail: 'must be empty' });
  return errors;
}

/** Refuses a parameter that callers know from version 0.2. If it were ignored, they would place the order that they meant to try. */
function refuseValidateOnly({ query, routeOptions: { url = '' } }: FastifyRequest): void {
  if (!Object.hasOwn(query as object, 'validateOnly')) return;
  const path = `${documentedPath(url)}/dry-run`;
  const detail = `is not a known parameter: the dry run is \`POST ${path}\``;
  throw invalid([{ parameter: 'validateOnly', detail }]);
}

/** Returns the caller's `Idempotency-Key` (docs/api.md, section 4). Adds a fault if its form is wrong. */
function keyOf({ headers }: FastifyRequest, errors: RequestFault[]): string | undefined {
  const value = headers['idempotency-key'];
  if (value === undefined) return undefined;
  const [, quoted, bare] = KEY.exec(String(value)) ?? [];
  const key = quoted ?? bare;
  if (key === undefined)
    errors.push({
      parameter: 'Idempotency-Key',
      detail: 'must be 16 to 255 of A-Z a-z 0-9 _ . : -, quoted or bare, given once',
    });
  return key;
}

/** Returns an instance made of the body. Throws a problem with all faults. */
export function validBody<T extends object>(value: unknown, type: Type<T>): T {
  const faults: RequestFault[] = [];
  const instance = checkedBody(value, type, faults);
  if (faults.length > 0 || !instance) throw invalid(faults);
  return instance;
}

/** Adds faults with a JSON pointer. Values are never quoted, because they may be secret. */
function checkedBody<T extends object>(value: unknown, type: Type<T>, faults: RequestFault[]): T | undefined {
  if (value instanceof UnreadableBody) {
    const { slug, body } = value.problem;
    // A body of another type has a status of its own, which is told once the rest of the request is valid.
    if (slug !== 'validation-failed' && faults.length === 0) throw value.problem;
    if (slug === 'validation-failed') faults.push(...(body.errors ?? []));
    return undefined;
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    faults.push({ pointer: '', detail: 'must be a JSON object' });
    return undefined;
  }
  const { instance, faults: found } = validated(type, value);
  for (const { path, allowed } of found)
    faults.push({ pointer: path.map(pointerToken).join(''), detail: allowed ?? 'is not a known field' });
  return instance;
}

/** Adds the faults of a path or a query, with the names of the parameters. */
function checkedParameters(value: unknown, type: Type<object>, faults: RequestFault[]): object {
  const parameters = value as Record<string, unknown>;
  const names = Object.keys(parameters);
  const repeated = names.filter((name) => Array.isArray(parameters[name]));
  const polluting = names.filter(isPolluting);
  faults.push(...refused(repeated, 'must be given once'), ...refused(polluting, 'is not a known parameter'));
  const isOdd = repeated.length > 0 || polluting.length > 0;
  const { instance, faults: found } = validated(type, isOdd ? givenOnce(parameters) : parameters);
  for (const { path, allowed } of found)
    if (!repeated.includes(String(path[0])))
      faults.push({ parameter: path.join('.'), detail: allowed ?? 'is not a known parameter' });
  return instance;
}

/** Returns the other parameters with the first value of each, so that their faults can be found. */
function givenOnce(parameters: Record<string, unknown>): object {
  const given = Object.entries(parameters).filter(([name]) => !isPolluting(name));
  const once = given.map(([name, value]) => [name, Array.isArray(value) ? (value as unknown[])[0] : value]);
  return Object.assign(Object.create(null) as object, Object.fromEntries(once));
}

function refused(parameters: readonly string[], detail: string): RequestFault[] {
  return parameters.map((parameter) => ({ parameter, detail }));
}

function invalid(errors: readonly RequestFault[]): ProblemException {
  return new ProblemException('validation-failed', { errors: errors.slice(0, MAX_FAULTS) });
}
