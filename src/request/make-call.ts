import { randomUUID } from 'node:crypto';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { newTrace } from '../observability/tracing.ts';
import { edge } from '../shared/edge.ts';
import { ALL_GRANTS, type CallContext, Progress } from './call-context.ts';
import { DryRun } from './dry-run.ts';

/** Returns the call context of the handler, before the check of its ids. */
export function callOf({ stages, headers }: FastifyRequest, reply: FastifyReply): CallContext {
  const { requestId, trace } = stages.arrived;
  const { caller, generation } = stages.get('identified');
  const { handling, isDryRun } = stages.get('authorised').policy;
  const isRead = handling === 'read';
  return {
    requestId,
    trace,
    caller,
    user: stages.get('acting').user,
    generation,
    fresh: isRead && asksForFresh(headers['cache-control']),
    // A cached read continues without its caller, because other callers may wait for it, and the cache keeps its result.
    abandon: isRead && !generation ? hangUp(reply) : undefined,
    progress: new Progress(),
    dryRun: isDryRun ? new DryRun() : undefined,
  };
}

/** Returns the context of a call that the gateway makes by itself. It has a name of its own in place of a caller's. */
export function ownCallOf(name: string, more: Pick<CallContext, 'user' | 'abandon'>): CallContext {
  return {
    requestId: randomUUID(),
    trace: newTrace(),
    caller: { name, grants: ALL_GRANTS },
    progress: new Progress(),
    ...more,
  };
}

/** Returns a signal that is aborted when the caller hangs up before it has its response. */
function hangUp({ raw }: FastifyReply): AbortSignal {
  const controller = new AbortController();
  const closed = edge('abandoned read', () => raw.writableFinished || controller.abort());
  raw.once('close', closed);
  return controller.signal;
}

/** True if a request's `Cache-Control` (RFC 9111 5.2.1) asks to bypass the cache. */
export function asksForFresh(cacheControl: string | undefined): boolean {
  return (cacheControl ?? '').split(',').some((directive) => directive.trim().toLowerCase() === 'no-cache');
}
