import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UpstreamConfig } from '../config/app-config.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UnreadableBody } from '../validation/request-body.ts';
import { OrderLedger, type KeyedWrite } from './order-ledger.service.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';

/** The longest write (adding 1,000 members) calls upstream so many times, one after the other. */
const CALLS = 5;

/**
 * Writes with an `Idempotency-Key` run once: a repeat gets the same answer. It stands before validation, and what ends with
 * nothing processed, a 400 among it, leaves no record.
 */
@Injectable()
export class KeyedWrites {
  constructor(
    private readonly ledger: OrderLedger,
    private readonly config: UpstreamConfig,
  ) {}

  async answer(request: FastifyRequest, reply: FastifyReply, run: () => Promise<unknown>): Promise<unknown> {
    const { call, policy } = request.state;
    if (policy?.idempotency !== 'key') return run();
    const idempotencyKey = idempotencyKeyOf(request.headers);
    // A body that cannot be read has no fingerprint, and is refused by validation.
    if (idempotencyKey === undefined || !call || request.body instanceof UnreadableBody) return run();
    const write: KeyedWrite = {
      caller: call.caller.name,
      idempotencyKey,
      payload: payloadOf(policy.operationId, request, call),
      deadlineMs: CALLS * this.config.deadlineMs,
    };
    const { answer, replayed } = await this.ledger.keyed(write, async () => ({
      body: await run(),
      status: reply.statusCode,
    }));
    if (replayed) void reply.status(answer.status).header('idempotent-replayed', 'true');
    return answer.body;
  }
}

function payloadOf(operation: string, { params, body }: FastifyRequest, { user }: CallContext): object {
  // A session that was opened anew is the same user to the caller.
  return { operation, params, body, user: user?.kind === 'alias' ? user.name : user?.kind };
}
