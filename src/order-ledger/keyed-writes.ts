import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { type CallContext, type Grants, isGranted } from '../request/call-context.ts';
import { keyName, type LedgerRecord } from './ledger-record.ts';
import { ObservedOrderLedger } from './observed-order-ledger.ts';
import { endOf, problemFor } from './write-outcome.ts';
import { canonical } from './fingerprint.ts';
import { WriteRecorder } from './write-recorder.ts';

/** The number of upstream calls of the longest write (adding 1,000 members), which makes them one after the other. */
const MAX_CALLS = 5;

/** A valid write that names only ids of its caller. */
interface AllowedWrite {
  readonly idempotencyKey: string;
  /** Throws where something that the write names does not exist; undefined: nothing has to be looked up. */
  readonly lookUp: (() => Promise<void>) | undefined;
  readonly handle: () => Promise<unknown>;
}

/** Runs a write with an `Idempotency-Key` once: a repeat gets the same response. A write that changed nothing leaves no record. */
@Injectable()
export class KeyedWrites {
  constructor(
    private readonly store: ObservedOrderLedger,
    private readonly recorder: WriteRecorder,
    private readonly config: UpstreamConfig,
  ) {}

  async run(
    request: FastifyRequest,
    reply: FastifyReply,
    { idempotencyKey, lookUp, handle }: AllowedWrite,
  ): Promise<unknown> {
    const { policy } = request.stages.get('authorised');
    const { call } = request.stages.get('reached');
    const file = request.stages.parsed?.file;
    const caller = call.caller.name;
    const name = `write/${keyName(caller, idempotencyKey)}`;
    const payloadText = canonical(payloadOf(policy.operationId, request, call));
    const deadlineMs = MAX_CALLS * this.config.deadlineMs;
    // A repeat gets the first response even if the thing that it names is gone by now, so it is not looked up first.
    const isRepeat = lookUp !== undefined && (await this.store.read(name)) !== undefined;
    if (!isRepeat) await lookUp?.();
    const details = { caller };
    const begun = await this.recorder.begin({ name, idempotencyKey, payloadText, deadlineMs, details });
    if ('record' in begun) {
      // The path of a write that changes a record names no enterprise, and the caller may have lost the right to see it.
      if (policy.showsEnterprises) assertShown(begun.record, call.caller.grants);
      return repeated(begun.record, reply, file);
    }
    // Reading a file takes as long as its caller sends it, and its plan as long as the list of members is.
    const release = policy.takesFile ? this.recorder.keep(begun, deadlineMs) : undefined;
    try {
      // Between the two reads the record of the first request may have been deleted.
      if (isRepeat) await lookUp?.();
      const body = await handle();
      const kept = policy.shownOnce === undefined ? body : { ...(body as object), [policy.shownOnce]: null };
      const answer = { status: reply.statusCode, body: kept, file: file?.digest.digest('base64url') };
      const to = policy.changedNothing?.(body) ? 'not_sent' : 'succeeded';
      await this.recorder.record(begun, to, { caller, answer });
      return body;
    } catch (error) {
      const { state, answer } = endOf(error);
      // An order that the platform refused keeps its number. A key is free again after every write that changed nothing.
      const to = state === 'rejected' ? 'not_sent' : state;
      await this.recorder.record(begun, to, { caller, answer });
      throw error;
    } finally {
      release?.();
    }
  }
}

/** Throws if the caller may no longer see an enterprise that the response names. */
function assertShown({ details: { answer } }: LedgerRecord, { enterprises }: Grants): void {
  type Named = { readonly enterpriseGlobalId?: string | null };
  const { items = [], ...body } = (answer?.body ?? {}) as Named & { readonly items?: readonly Named[] };
  for (const { enterpriseGlobalId } of [body, ...items])
    if (enterpriseGlobalId !== undefined && !isGranted(enterprises, enterpriseGlobalId ?? ''))
      throw new ProblemException('forbidden', {
        detail: 'The caller may not see the enterprise of the first response any more.',
      });
}

type RequestFile = NonNullable<FastifyRequest['stages']['parsed']>['file'];

async function repeated(
  record: LedgerRecord,
  reply: FastifyReply,
  file: RequestFile | undefined,
): Promise<unknown> {
  const { answer: kept } = record.details;
  if (record.state !== 'succeeded' || !kept) throw problemFor(record);
  if (file && kept.file !== undefined && (await digestOf(file)) !== kept.file)
    throw new ProblemException('idempotency-key-reused');
  void reply.status(kept.status).header('idempotent-replayed', 'true');
  return kept.body;
}

/** Reads the file of a repeated request, which has no other reader. */
async function digestOf(file: RequestFile): Promise<string> {
  for await (const _ of file.chunks());
  return file.digest.digest('base64url');
}

function payloadOf(operation: string, request: FastifyRequest, { user }: CallContext): object {
  const { params, body, query, stages } = request;
  // To the caller, a user with a new session is the same user.
  const by = user?.kind === 'session' ? { session: user.username } : user?.name;
  const payload = { operation, params, body, user: by };
  // A file is read once, by the handler, so its type stands for it here; its digest is compared where the response is repeated. Its length
  // is unknown if the client sends it in chunks.
  const file = { kind: stages.parsed?.file.kind };
  return stages.get('authorised').policy.takesFile ? { ...payload, query, file } : payload;
}
