import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import { ProblemException } from '../problem/problem.exception.ts';

const KEY = /^(?:"([A-Za-z0-9_.:-]{16,255})"|([A-Za-z0-9_.:-]{16,255}))$/;

/** The caller's `Idempotency-Key` (docs/api.md, section 4); undefined where it sends none. Throws where its form is wrong. */
export function idempotencyKeyOf(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['idempotency-key'];
  if (value === undefined) return undefined;
  const found = KEY.exec(String(value));
  if (!found) {
    const detail = 'must be 16 to 255 of A-Z a-z 0-9 _ . : -, quoted or bare';
    throw new ProblemException('validation-failed', { errors: [{ parameter: 'Idempotency-Key', detail }] });
  }
  return found[1] ?? found[2];
}

/** For handlers that need the key themselves. */
export const IdempotencyKey = createParamDecorator((_: unknown, context: ExecutionContext) =>
  idempotencyKeyOf(context.switchToHttp().getRequest<FastifyRequest>().headers),
);
