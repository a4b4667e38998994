import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ObjectField, OperationPolicy } from '../request/operation-policy.ts';
import type { ActingUser } from '../request/call-context.ts';
import { cleanText, joinedIds } from '../shared/clean-text.ts';
import type { Log } from '../observability/log.ts';

/** The most objects of a list that the line names. It gives only the number of the others. */
const NAMED = 5;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Writes the trail of writes (docs/faults.md, row S19): one line for each write of a known caller, with any outcome, as soon as its
 * response is known, even if the caller has hung up. An order that was kept for its time has one more line at its end (`DueOrders`).
 */
export function audit(log: Log, request: FastifyRequest, reply: FastifyReply): void {
  const { arrived, identified, authorised, validated, acting } = request.stages;
  if (!identified) return;
  // A hook may have refused the request before the guard has read the policy.
  const { policy } = authorised ?? request.routeOptions.config;
  if (policy?.handling !== 'write') return;
  const { operationId: operation, objects } = policy;
  const body = fieldsOf(request.body);
  const outcome = outcomeOf(request, reply, policy);
  log.audit(
    {
      event: 'audit',
      requestId: arrived.requestId,
      traceId: arrived.trace.traceId,
      caller: identified.caller.name,
      actingUser: acting?.user && actingUserOf(acting.user),
      operation,
      object: objectOf(objects, fieldsOf(request.params), body, validated !== undefined),
      outcome,
      status: reply.statusCode,
      as: validated && text(body['as']),
      reason: validated && text(body['reason']),
    },
    `${operation} ${outcome}`,
  );
}

/** Returns the alias without its account, because the log must contain neither accounts nor session ids. */
function actingUserOf({ kind, name }: ActingUser): string {
  return kind === 'alias' ? name.slice(0, name.indexOf('=')) : 'session';
}

function outcomeOf({ stages }: FastifyRequest, reply: FastifyReply, { isDryRun }: OperationPolicy): string {
  if (reply.hasHeader('idempotent-replayed')) return 'replayed';
  if (stages.failed) return String(stages.failed.fields['outcome']);
  return isDryRun || stages.handled?.changedNothing ? 'not_processed' : 'processed';
}

/**
 * Joins the ids with slashes, then adds each list with its length. Only the path and the lengths of lists of a body that was not checked are
 * named, because any of its fields may have a password by mistake.
 */
function objectOf(objects: readonly ObjectField[], path: Fields, body: Fields, isChecked: boolean): string {
  const named = isChecked ? { ...body, ...path } : path;
  const ids = objects.flatMap(({ name }) => text(named[name]) ?? []);
  const lists = objects.flatMap((object) => (isChecked ? listed : lengthOf)(object, body[object.name]) ?? []);
  return [...(ids.length > 0 ? [joinedIds(ids)] : []), ...lists].join(' ');
}

function listed(object: ObjectField, list: unknown): string | undefined {
  const length = lengthOf(object, list);
  if (length === undefined) return undefined;
  const { of } = object;
  const first = (list as readonly unknown[]).slice(0, NAMED);
  return `${length} ${first.map((item) => text(of ? fieldsOf(item)[of] : item) ?? '?').join()}`;
}

function lengthOf({ name, isOptional }: ObjectField, list: unknown): string | undefined {
  if (!Array.isArray(list) || (list.length === 0 && isOptional)) return undefined;
  return `${name}[${list.length}]`;
}

/** Shortens a text that a caller chose and that may be invalid, and removes characters that disguise others. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' ? cleanText(value) : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
