import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ActingUser } from '../upstream/call-context.ts';
import { cleanText } from '../shared/clean-text.ts';
import type { Log } from '../observability/log.ts';

/** Fields in path or body that identify the object of a write, from the outside in. None of them is a secret or free text. */
const IDS = [
  'enterpriseGlobalId',
  'crmCustomerId',
  'memberGlobalId',
  'channelCode',
  'channelCustomerId',
  'channelOrderId',
  'lentLockNum',
  'webhookId',
  'eventId',
] as const;
/** Lists of the objects of a write: either ids, or objects with this field. */
const LISTS = { assetNums: '', assetIds: '', assign: '', withdraw: '', members: 'account' } as const;
/** Lists of a change: an empty one changes nothing, and is there also where the caller gave none. */
const CHANGES: readonly string[] = ['assign', 'withdraw'];
/** The line names this many objects of a list, and gives the number of the rest. */
const NAMED = 5;

type Fields = Readonly<Record<string, unknown>>;

/**
 * The trail of writes (docs/faults.md, row S19): one line for each write of a known caller, with any outcome, as soon as its response is
 * known, also if the caller has hung up.
 */
export function audit(log: Log, request: FastifyRequest, reply: FastifyReply): void {
  const { arrived, identified, authorised, acting } = request.stages;
  if (!identified || !authorised) return;
  const { operationId: operation } = authorised.policy;
  const body = fieldsOf(request.body);
  const outcome = outcomeOf(request, reply);
  log.info(
    {
      event: 'audit',
      requestId: arrived.requestId,
      traceId: arrived.trace.traceId,
      caller: identified.caller.name,
      actingUser: acting?.user && actingUserOf(acting.user),
      operation,
      object: objectOf({ ...body, ...fieldsOf(request.params) }),
      outcome,
      status: reply.statusCode,
      as: text(body['as']),
      reason: text(body['reason']),
    },
    `${operation} ${outcome}`,
  );
}

/** The alias without its account: the log has neither accounts nor session ids. */
function actingUserOf({ kind, name }: ActingUser): string {
  return kind === 'alias' ? name.slice(0, name.indexOf('=')) : 'session';
}

function outcomeOf({ stages, query }: FastifyRequest, reply: FastifyReply): string {
  if (reply.hasHeader('idempotent-replayed')) return 'replayed';
  if (stages.failed) return String(stages.failed.fields['outcome']);
  return fieldsOf(query)['validateOnly'] === true ? 'not_processed' : 'processed';
}

function objectOf(fields: Fields): string {
  const ids = IDS.flatMap((name) => text(fields[name]) ?? []);
  const lists = Object.entries(LISTS).flatMap(([name, field]) => listed(name, field, fields[name]) ?? []);
  return [...(ids.length > 0 ? [ids.join('/')] : []), ...lists].join(' ');
}

function listed(name: string, field: string, list: unknown): string | undefined {
  if (!Array.isArray(list) || (list.length === 0 && CHANGES.includes(name))) return undefined;
  const named = list
    .slice(0, NAMED)
    .map((item: unknown) => text(field ? fieldsOf(item)[field] : item) ?? '?');
  return `${name}[${list.length}] ${named.join()}`;
}

/** A text that a caller chose, and that may be invalid: shortened, and without characters that disguise others. */
function text(value: unknown): string | undefined {
  return typeof value === 'string' ? cleanText(value) : undefined;
}

function fieldsOf(value: unknown): Fields {
  return typeof value === 'object' && value !== null ? (value as Fields) : {};
}
