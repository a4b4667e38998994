import { freshBytes } from '../shared/random-bytes.ts';

/** Where a request stands in a trace (W3C Trace Context). The gateway passes it on, with or without a collector of spans. */
export interface TraceContext {
  /** 32 hex digits. */
  readonly traceId: string;
  /** 16 hex digits: the caller's span, or the gateway's own where spans are collected. */
  readonly spanId: string;
  /** Two hex digits; `01`: the trace is collected. */
  readonly flags: string;
  /** What other systems note for themselves, passed on as it is. */
  readonly state?: string;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const MAX_STATE = 512;
/** Members `key=value` between commas. A text with other characters is not passed on. */
const MEMBER =
  /^[ \t]*[a-z\d][\w*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e][ \t]*$/;

/** The caller's trace; undefined where it has none, or one that is not valid. */
export function callerTrace(headers: Headers): TraceContext | undefined {
  const given = headers['traceparent'];
  return given === undefined ? undefined : parse(given, headers['tracestate']);
}

/** The caller's trace, or a new one. */
export function traceContext(headers: Headers): TraceContext {
  return callerTrace(headers) ?? newTrace();
}

/** A trace that begins here. No span of it is collected by the gateway. */
export function newTrace(): TraceContext {
  const digits = freshBytes(24).toString('hex');
  return { traceId: digits.slice(0, 32), spanId: digits.slice(32), flags: '00' };
}

export function traceHeaders({ traceId, spanId, flags, state }: TraceContext): Record<string, string> {
  const traceparent = `00-${traceId}-${spanId}-${flags}`;
  return state === undefined ? { traceparent } : { traceparent, tracestate: state };
}

function parse(given: string | string[], state: string | string[] | undefined): TraceContext | undefined {
  const match = typeof given === 'string' && TRACEPARENT.exec(given);
  if (!match) return undefined;
  const [, version, traceId = '', spanId = '', flags = '', more] = match;
  // A later version may have more parts, and its flags beyond the first are unknown here.
  if (version === 'ff' || (version === '00' && more !== undefined)) return undefined;
  if (traceId === NO_TRACE || spanId === NO_SPAN) return undefined;
  const known = { traceId, spanId, flags: (Number.parseInt(flags, 16) & 1) === 1 ? '01' : '00' };
  return typeof state === 'string' && isState(state) ? { ...known, state } : known;
}

function isState(text: string): boolean {
  const members = text.length > MAX_STATE ? [] : text.split(',');
  return members.length > 0 && members.length <= 32 && members.every((member) => MEMBER.test(member));
}
