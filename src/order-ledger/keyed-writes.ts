import type { IncomingHttpHeaders } from 'node:http';
import { createParamDecorator, type ExecutionContext, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { type KeyedWrite, OrderLedger } from './order-ledger.service.ts';

const KEY = /^(?:"([A-Za-z0-9_.:-]{16,255})"|([A-Za-z0-9_.:-]{16,255}))$/;

/** The number of upstream calls of the longest write (adding 1,000 members), one after the other. */
const CALLS = 5;

/** A valid write that names only what the caller may reach. */
interface AskedWrite {
  /** Throws where something that the write names does not exist; absent: nothing has to be looked up. */
  readonly lookUp: (() => Promise<void>) | undefined;
  readonly run: () => Promise<unknown>;
}

/** Runs a write with an `Idempotency-Key` once: a repeat gets the same response. A write that changed nothing leaves no record. */
@Injectable()
export class KeyedWrites {
  constructor(
    private readonly ledger: OrderLedger,
    private readonly config: UpstreamConfig,
  ) {}

  async answer(request: FastifyRequest, reply: FastifyReply, asked: AskedWrite): Promise<unknown> {
    const { policy } = request.stages.of('authorised');
    const { call } = request.stages.of('reached');
    const file = request.stages.parsed?.file;
    const idempotencyKey = policy.idempotency === 'key' ? idempotencyKeyOf(request.headers) : undefined;
    if (idempotencyKey === undefined) {
      await asked.lookUp?.();
      return asked.run();
    }
    const write: KeyedWrite = {
      caller: call.caller.name,
      idempotencyKey,
      payload: payloadOf(policy.operationId, request, call),
      deadlineMs: CALLS * this.config.deadlineMs,
    };
    // A repeat gets the first response even if the thing that it names is gone by now, so it is not looked up first.
    const isRepeat = asked.lookUp !== undefined && (await this.ledger.knowsKeyed(write));
    if (!isRepeat) await asked.lookUp?.();
    const { answer, replayed } = await this.ledger.keyed(write, async () => {
      // Between the two reads the record of the first request may have been deleted.
      if (isRepeat) await asked.lookUp?.();
      const body = await asked.run();
      return { body, status: reply.statusCode, ...(file && { file: file.digest.digest('base64url') }) };
    });
    if (replayed && file && answer.file !== undefined && (await digestOf(file)) !== answer.file)
      throw new ProblemException('idempotency-key-reused');
    if (replayed) void reply.status(answer.status).header('idempotent-replayed', 'true');
    return answer.body;
  }
}

type RequestFile = NonNullable<FastifyRequest['stages']['parsed']>['file'];

/** Reads the file of a repeated request, which has no other reader. */
async function digestOf(file: RequestFile): Promise<string> {
  for await (const chunk of file.open().iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>)
    file.digest.update(chunk);
  return file.digest.digest('base64url');
}

function payloadOf(operation: string, request: FastifyRequest, { user }: CallContext): object {
  const { params, body, query, stages } = request;
  // To the caller, a user with a new session is the same user.
  const payload = { operation, params, body, user: user?.kind === 'alias' ? user.name : user?.kind };
  // A file is read once, by the handler, so its type and length stand for it here; its digest is compared where the response is repeated.
  const file = { kind: stages.parsed?.file.kind, length: stages.parsed?.file.length };
  return stages.of('authorised').policy.takesFile ? { ...payload, query, file } : payload;
}

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
