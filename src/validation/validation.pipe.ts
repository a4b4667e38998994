import { type ArgumentMetadata, Injectable, type PipeTransform, type Type } from '@nestjs/common';
import { pointerToken } from '../shared/json.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import { MAX_FAULTS, validated } from './compiled-validation.ts';
import { isPolluting, UnreadableBody } from './request-body.ts';

/**
 * Checks bodies, queries and path parameters against their DTO classes. Every fault is reported, with a JSON pointer or
 * the parameter's name; values are never repeated, since they may be secret.
 */
@Injectable()
export class RequestValidationPipe implements PipeTransform {
  transform(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
    if (type === 'custom' || !metatype) return value;
    if (value instanceof UnreadableBody) throw value.problem;
    return type === 'body' ? validBody(value, metatype) : validParameters(value, metatype);
  }
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
