import type { FastifyRequest } from 'fastify';
import type { RequestFile } from '../operation/request-stages.ts';
import type { RequestFault } from '../problem/problem.exception.ts';
import { takesFile } from './request-bodies.ts';

/** Spaces stand in one place each: in two beside each other they take a time that grows with the square of their number. */
const JSON_TYPE = /^application\/json *(; *charset="?utf-8"? *)?$/i;
const FILE_TYPES = {
  csv: /^text\/csv *(; *(charset="?utf-8"?|header=present) *)*$/i,
  ndjson: /^application\/x-ndjson *(; *charset="?utf-8"? *)?$/i,
};
const MEDIA_TYPE = /^[a-z]{1,16}\/[\w.+-]{1,64}(?: *; *charset="?[\w-]{1,20}"?)?$/i;

/** The type of a body that the route takes; undefined for another. */
export function bodyTypeOf(request: FastifyRequest): RequestFile['kind'] | 'json' | undefined {
  const { 'content-type': type = '' } = request.headers;
  if (isCoded(request)) return undefined;
  if (takesFile(request)) return (['csv', 'ndjson'] as const).find((each) => FILE_TYPES[each].test(type));
  return JSON_TYPE.test(type) ? 'json' : undefined;
}

/** What is wrong with the type of a body. Only a value with the form of a type is repeated. */
export function unsupportedType(request: FastifyRequest): RequestFault {
  if (isCoded(request))
    return {
      parameter: 'Content-Encoding',
      detail: 'must be left out: the body is sent without compression',
    };
  const { 'content-type': type } = request.headers;
  const takes = takesFile(request) ? '`text/csv` or `application/x-ndjson`' : '`application/json`';
  const form = MEDIA_TYPE.test(type ?? '') ? `is \`${type}\`` : 'has not the form of a type';
  return {
    parameter: 'Content-Type',
    detail: `must be ${takes} in UTF-8, and ${type === undefined ? 'is missing' : form}`,
  };
}

function isCoded({ headers }: FastifyRequest): boolean {
  return (headers['content-encoding'] ?? 'identity').toLowerCase() !== 'identity';
}
