import type { CallOptions, Operation } from './call-options.ts';
import type { OrderKey } from './problem.ts';

/** The user or session that acts in member operations. */
export type Acting = { readonly user: string } | { readonly session: string } | undefined;

/** The body of operations that transfer files and events. */
export interface Payload {
  readonly body: string | Uint8Array<ArrayBuffer> | Blob | ReadableStream<Uint8Array> | undefined;
  /** The type of the body. */
  readonly type?: string;
  /** A type of the response other than JSON. The call resolves to the stream of its body. */
  readonly accept?: string;
  readonly lastEventId?: string;
}

/** A call that is ready to be sent. */
export interface Prepared {
  readonly id: string;
  readonly operation: Operation;
  readonly url: string;
  readonly headers: Record<string, string>;
  readonly body: Payload['body'];
  readonly isStream: boolean;
  /** True if the call resolves to the stream of the body. */
  readonly isRaw: boolean;
  /** The signal also ends the stream, which goes on after the call. */
  readonly callerSignal: AbortSignal | undefined;
  readonly requestId: string;
  readonly order: OrderKey | undefined;
}

/** An operation, and the arguments of its caller. */
interface Call {
  readonly id: string;
  readonly operation: Operation;
  readonly input: Readonly<Record<string, unknown>>;
  readonly options: CallOptions;
  readonly acting: Acting;
  readonly payload: Payload | undefined;
}

/** Turns the input of an operation into the path, the query or body, and the headers. Throws a `TypeError` if it cannot be sent. */
export function prepare(base: string, { id, operation, input, options, acting, payload }: Call): Prepared {
  const { method } = operation;
  const requestId = options.requestId ?? newId();
  const rest = { ...input };
  const path = `${operation.path}${operation.dry ? '/dry-run' : ''}`.replace(
    /\{(\w+)\}/g,
    (_, name: string) => {
      const value = rest[name];
      delete rest[name];
      if (typeof value !== 'string' || value === '') throw new TypeError(`${id} needs ${name}, a text`);
      // A URL reads the first two as steps between folders, and has no form for half a character.
      if (/^\.\.?$|\p{Cs}/u.test(value)) throw new TypeError(`${id}: ${name} cannot be in a path`);
      return encodeURIComponent(value);
    },
  );
  const isBody = payload === undefined && !/GET|DELETE/.test(method) && Object.keys(rest).length > 0;
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(rest)) {
    if (isBody) continue;
    if (value !== undefined) search.append(name, String(value as string | number | boolean));
    delete rest[name];
  }
  const headers: Record<string, string> = {
    accept:
      payload?.accept === undefined ? 'application/json' : `${payload.accept}, application/problem+json`,
    'x-request-id': requestId,
    // Without this header, fetch would add `no-cache` to `If-None-Match`, and bypass the gateway's read cache.
    ...(method === 'GET' && { 'cache-control': options.fresh ? 'no-cache' : 'no-transform' }),
    ...(isBody && { 'content-type': 'application/json' }),
    ...(payload?.type !== undefined && { 'content-type': payload.type }),
    ...(payload?.lastEventId !== undefined && { 'last-event-id': payload.lastEventId }),
    ...(method === 'POST' && { 'idempotency-key': options.idempotencyKey ?? newId() }),
    ...(options.ifMatch !== undefined && { 'if-match': options.ifMatch }),
    ...(operation.user &&
      acting &&
      ('user' in acting ? { 'x-acting-user': acting.user } : { 'x-session-id': acting.session })),
  };
  const { channelCode, channelOrderId } = input as Partial<OrderKey>;
  return {
    id,
    operation,
    url: `${base}${path}${search.size > 0 ? `?${search}` : ''}`,
    headers,
    body: isBody ? JSON.stringify(rest) : payload?.body,
    isStream: payload?.body instanceof ReadableStream,
    isRaw: payload?.accept !== undefined,
    callerSignal: options.signal,
    requestId,
    order:
      channelCode !== undefined && channelOrderId !== undefined ? { channelCode, channelOrderId } : undefined,
  };
}

/** The source of each header's value. */
const SOURCES: Readonly<Record<string, string>> = {
  'x-request-id': 'the option requestId',
  'idempotency-key': 'the option idempotencyKey',
  'if-match': 'the option ifMatch',
  'x-acting-user': 'the alias given to as()',
  'x-session-id': 'the id given to withSession()',
};

/** Refuses a value that `fetch` would refuse, before anything is sent. The error has its name and never its value. */
export function assertSendable(
  id: string,
  headers: Readonly<Record<string, unknown>>,
  body: Payload['body'],
): void {
  for (const [name, value] of Object.entries(headers))
    if (typeof value !== 'string' || !/^[\t -~\x80-\xff]*$/.test(value))
      throw new TypeError(`${id}: ${SOURCES[name] ?? name} cannot be in a header`);
  if (body instanceof ReadableStream && body.locked)
    throw new TypeError(`${id}: the stream of rows is being read`);
}

/** Makes an id. It does not use `randomUUID`, which a browser lacks if a page is not served over https. */
function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
}
