import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { KeyedWrites } from '../order-ledger/keyed-writes.ts';
import { Generations } from '../read-cache/read-keys.ts';
import type { DryRun } from '../request/dry-run.ts';
import type { DryRunDto } from '../request/dry-run.dto.ts';

type Handle = () => Promise<unknown>;

/** Handles the idempotency, maintenance and invalidation of a write, and its dry run. */
@Injectable()
export class WriteHandling {
  constructor(
    private readonly generations: Generations,
    private readonly writes: KeyedWrites,
    private readonly maintenance: Maintenance,
  ) {}

  /** Runs a write with an `Idempotency-Key` once, and drops cached reads that it may have changed. */
  async handle(request: FastifyRequest, reply: FastifyReply, handler: Handle): Promise<unknown> {
    const { policy } = request.stages.get('authorised');
    const { idempotencyKey } = request.stages.get('validated');
    const { call, lookUp } = request.stages.get('reached');
    const handle = async () => {
      // The maintenance is checked only after a repeated request has got the response of the first.
      if (policy.stoppedBy) this.maintenance.assertNot(policy.stoppedBy);
      let made: readonly string[] = [];
      try {
        const result = await handler();
        made = enterprisesIn(result);
        return result;
      } finally {
        // A failed write drops them too, because the platform may have carried it out. A request that was refused before anything was sent changed
        // nothing, and must not drop the cached reads of other callers. An order has dropped them while its outcome was recorded. Any other write
        // is recorded afterwards: a caller who is told of it by a repeat must not read older lists.
        const isSent = call.progress.upstreamMs > 0 && !call.dryRun;
        if (isSent && policy.idempotency !== 'order')
          await this.generations.written(request.params as object, made);
      }
    };
    if (call.dryRun) return this.#dryRun(reply, call.dryRun, handle, lookUp);
    const hasKey = policy.idempotency === 'key' && idempotencyKey !== undefined;
    if (!hasKey) await lookUp?.();
    const result = hasKey
      ? await this.writes.run(request, reply, { idempotencyKey, lookUp, handle })
      : await handle();
    request.stages.pass('handled', { changedNothing: policy.changedNothing?.(result) ?? false });
    const location = policy.locationOf?.(result);
    if (location !== undefined) void reply.header('location', location);
    return result;
  }

  /** Runs a write up to its beginning, and answers with the call that it would send. No `Idempotency-Key` is used. */
  async #dryRun(
    reply: FastifyReply,
    dryRun: DryRun,
    handle: Handle,
    lookUp: (() => Promise<void>) | undefined,
  ): Promise<DryRunDto> {
    await lookUp?.();
    try {
      await handle();
    } catch (error) {
      if (!dryRun.isStopped) throw error;
    }
    // The handler may have set the status of the write.
    void reply.status(200);
    const { wouldSend, effects, plan = null } = dryRun;
    return { wouldSend, effects, plan };
  }
}

/** The enterprise that a write made: no path and no body named it. */
function enterprisesIn(result: unknown): readonly string[] {
  const { enterpriseGlobalId } = (result ?? {}) as { enterpriseGlobalId?: unknown };
  return typeof enterpriseGlobalId === 'string' ? [enterpriseGlobalId] : [];
}
