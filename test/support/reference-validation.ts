import type { ArgumentMetadata, Type } from '@nestjs/common';
import { plainToInstance } from 'class-transformer';
import { validateSync, type ValidationError } from 'class-validator';
import { pointerToken } from '../../src/shared/json.ts';
import { ProblemException, type RequestFault } from '../../src/problem/problem.exception.ts';
import { isPolluting, UnreadableBody } from '../../src/validation/request-body.ts';
import { OBJECT_RULE } from '../../src/validation/rules.ts';

const MAX_FAULTS = 100;

/**
 * The result of class-transformer and class-validator for a request. A compiler of their declarations must agree in what is accepted,
 * with which values, and in every error, its path, its words and its order.
 */
export function validatedByReference(value: unknown, { type, metatype }: ArgumentMetadata): unknown {
  if (type === 'custom' || !metatype) return value;
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
  if (repeated.length > 0) {
    throw invalid(repeated.map((parameter) => ({ parameter, detail: 'must be given once' })));
  }
  const unknown = Object.keys(parameters).filter(isPolluting);
  if (unknown.length > 0)
    throw invalid(unknown.map((parameter) => ({ parameter, detail: 'is not a known parameter' })));
  const { instance, errors } = check(parameters, metatype);
  if (errors.length > 0) {
    throw invalid(
      errors.map((error) => ({ parameter: error.property, detail: detailOf(error, 'parameter') })),
    );
  }
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
