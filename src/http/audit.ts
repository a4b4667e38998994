import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ObjectField } from '../request/operation-policy.ts';
import type { ActingUser } from '../request/call-context.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { Log } from '../observability/log.ts';

/** The most objects of a list that the line names. It gives only the number of the others. */
const NAMED = 5;

type Fields = Readonly<Record<string, unknown>>;

/**
 * Writes the trail of writes (docs/faults.md, row S19): one line for each write of a known caller, with any outcome, as soon as its
 * response is known, even if the caller has hung up.
 */
export function audit(log: Log, request: FastifyRequest, reply: FastifyReply): void {
  const { arrived, identified, authorised, acting } = request.stages;
  if (!identified || !authorised) return;
  const { operationId: operation, objects } = authorised.policy;
  const body = fieldsOf(request.body);
  const outcome = outcomeOf(request, reply);
  log.audit(
    {
      event: 'audit',
      requestId: arrived.requestId,
      traceId: arrived.trace.traceId,
      caller: identified.caller.name,
      actingUser: acting?.user && actingUserOf(acting.user),
      operation,
      object: objectOf(objects, { ...body, ...fieldsOf(request.params) }),
      outcome,
      status: reply.statusCode,
      as: text(body['as']),
      reason: text(body['reason']),
    },
    `${operation} ${outcome}`,
  );
}

/** Returns the alias without its account, because the log must contain neither accounts nor session ids. */
function actingUserOf({ kind, name }: ActingUser): string {
  return kind === 'alias' ? name.slice(0, name.indexOf('=')) : 'session';
}

function outcomeOf({ stages }: FastifyRequest, reply: FastifyReply): string {
  if (reply.hasHeader('idempotent-replayed')) return 'replayed';
  if (stages.failed) return String(stages.failed.fields['outcome']);
  return stages.authorised?.policy.isDryRun ? 'not_processed' : 'processed';
}

/** Joins the ids with slashes, then adds each list with its length. A slash in an id is `%2F`, because order numbers may have one. */
function objectOf(objects: readonly ObjectField[], fields: Fields): string {
  const ids = objects.flatMap(
    ({ name }) => text(fields[name])?.replaceAll(/[%/]/g, encodeURIComponent) ?? [],
  );
  const lists = objects.flatMap((object) => listed(object, fields[object.name]) ?? []);
  return [...(ids.length > 0 ? [ids.join('/')] : []), ...lists].join(' ');
}

function listed({ name, of, isOptional }: ObjectField, list: unknown): string | undefined {
  if (!Array.isArray(list) || (list.length === 0 && isOptional)) return undefined;
  const named = list.slice(0, NAMED).map((item: unknown) => text(of ? fieldsOf(item)[of] : item) ?? '?');
  return `${name}[${list.length}] ${named.join()}`;
}

/** Shortens a text that a caller chose and that may be invalid, and removes characters that disguise others. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' ? cleanText(value) : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
