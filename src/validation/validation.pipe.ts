import {
  type ArgumentMetadata,
  type ExecutionContext,
  Injectable,
  type PipeTransform,
  type Type,
} from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import type { FastifyRequest } from 'fastify';
import { pointerToken } from '../shared/json.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { MAX_FAULTS, validated } from './compiled-validation.ts';
import { isPolluting, UnreadableBody } from './request-body.ts';

/**
 * Checks bodies, queries and path parameters against their DTO classes. Every fault is reported, with a JSON pointer or
 * the parameter's name; values are never quoted, because they may be secret.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type === 'custom' || !metatype) return value;
    if (value instanceof UnreadableBody) throw value.problem;
    const known = typeof value === 'object' && value !== null ? ahead.get(value) : undefined;
    if (known instanceof metatype) return known;
    return type === 'body' ? validBody(value, metatype) : validParameters(value, metatype);
  }
}

/** Parts of requests that were validated before the pipe. */
const ahead = new WeakMap<object, object>();
const PIPE = new RequestValidationPipe();
const PARTS = [
  [RouteParamtypes.PARAM, 'param', 'params'],
  [RouteParamtypes.QUERY, 'query', 'query'],
  [RouteParamtypes.BODY, 'body', 'body'],
] as const;

/** The parts of a request as instances of their DTO classes, for code that runs before the handler. Each is validated once. */
export function validatedAhead(context: ExecutionContext): {
  parameters: object[];
  body: object | undefined;
} {
  const request = context.switchToHttp().getRequest<FastifyRequest>();
  const parameters: object[] = [];
  let body: object | undefined;
  for (const [kind, type, part] of PARTS) {
    const metatype = classOf(context, kind);
    if (!metatype) continue;
    const raw = request[part];
    const instance = PIPE.transform(raw, { type, metatype }) as object;
    ahead.set(raw as object, instance);
    if (part === 'body') body = instance;
    else parameters.push(instance);
  }
  return { parameters, body };
}

/** The class that the handler declares for one whole part of the request. */
function classOf(context: ExecutionContext, kind: RouteParamtypes): Type | undefined {
  const { name } = context.getHandler();
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, context.getClass(), name) as
    Readonly<Record<string, { readonly index: number; readonly data?: unknown }>> | undefined;
  const key = Object.keys(args ?? {}).find((each) => each.startsWith(`${kind}:`));
  const declared = key === undefined ? undefined : args?.[key];
  if (!declared || declared.data !== undefined) return undefined;
  const types = Reflect.getMetadata(
    'design:paramtypes',
    context.getClass().prototype as object,
    name,
  ) as Type[];
  return types[declared.index];
}

function validBody(value: unknown, metatype: Type<object>): object {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) {
    throw invalid([{ pointer: '', detail: 'must be a JSON object' }]);
  }
  const { instance, faults } = validated(metatype, value);
  if (faults.length === 0) return instance;
  throw invalid(
    faults.map(({ path, allowed }) => ({
      pointer: path.map(pointerToken).join(''),
      detail: allowed ?? 'is not a known field',
    })),
  );
}

function validParameters(value: unknown, metatype: Type<object>): object {
  const parameters = value as Record<string, unknown>;
  const names = Object.keys(parameters);
  const repeated = names.filter((name) => Array.isArray(parameters[name]));
  if (repeated.length > 0) throw invalid(refused(repeated, 'must be given once'));
  const polluting = names.filter(isPolluting);
  if (polluting.length > 0) throw invalid(refused(polluting, 'is not a known parameter'));
  const { instance, faults } = validated(metatype, parameters);
  if (faults.length === 0) return instance;
  throw invalid(
    faults.flatMap(({ path, allowed }) => refused([path.join('.')], allowed ?? 'is not a known parameter')),
  );
}

function refused(parameters: readonly string[], detail: string): RequestFault[] {
  return parameters.map((parameter) => ({ parameter, detail }));
}

function invalid(errors: readonly RequestFault[]): ProblemException {
  return new ProblemException('validation-failed', { errors: errors.slice(0, MAX_FAULTS) });
}
