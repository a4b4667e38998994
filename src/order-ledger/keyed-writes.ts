import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UpstreamConfig } from '../config/app-config.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { OrderLedger, type KeyedWrite } from './order-ledger.service.ts';
import { idempotencyKeyOf } from './idempotency-key.ts';

/** The longest write (adding 1,000 members) calls upstream so many times, one after the other. */
const CALLS = 5;

/** A write whose request is valid and names nothing that is not granted. */
interface AskedWrite {
  /** Throws where what it names is not there; absent: there is nothing to look up. */
  readonly lookUp: (() => Promise<void>) | undefined;
  readonly run: () => Promise<unknown>;
}

/** Writes with an `Idempotency-Key` run once: a repeat gets the same response. What ends with nothing processed leaves no record. */
@Injectable()
export class KeyedWrites {
  constructor(
    private readonly ledger: OrderLedger,
    private readonly config: UpstreamConfig,
  ) {}

  async answer(request: FastifyRequest, reply: FastifyReply, asked: AskedWrite): Promise<unknown> {
    const { call, policy } = request.state;
    const idempotencyKey = policy?.idempotency === 'key' ? idempotencyKeyOf(request.headers) : undefined;
    if (!call || !policy || idempotencyKey === undefined) {
      await asked.lookUp?.();
      return asked.run();
    }
    const write: KeyedWrite = {
      caller: call.caller.name,
      idempotencyKey,
      payload: payloadOf(policy.operationId, request, call),
      deadlineMs: CALLS * this.config.deadlineMs,
    };
    // A repeat is answered as the first was, also where what it names is gone by now; and what is not there leaves no record.
    const isRepeat = asked.lookUp !== undefined && (await this.ledger.knowsKeyed(write));
    if (!isRepeat) await asked.lookUp?.();
    const { answer, replayed } = await this.ledger.keyed(write, async () => {
      // The first may have been forgotten meanwhile.
      if (isRepeat) await asked.lookUp?.();
      return { body: await asked.run(), status: reply.statusCode };
    });
    if (replayed) void reply.status(answer.status).header('idempotent-replayed', 'true');
    return answer.body;
  }
}

function payloadOf(operation: string, { params, body }: FastifyRequest, { user }: CallContext): object {
  // A session that was opened anew is the same user to the caller.
  return { operation, params, body, user: user?.kind === 'alias' ? user.name : user?.kind };
}
