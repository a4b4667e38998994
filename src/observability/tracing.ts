import {
  context,
  createTraceState,
  ROOT_CONTEXT,
  type Span,
  type SpanContext,
  type SpanOptions,
  SpanStatusCode,
  trace,
} from '@opentelemetry/api';
import { freshHex } from '../shared/random-bytes.ts';

/** The position of a request in a trace (W3C Trace Context). The gateway passes it on, with or without a collector of spans. */
export interface TraceContext {
  /** The id of the trace: 32 hex digits. */
  readonly traceId: string;
  /** The id of the span, 16 hex digits: the caller's, or the gateway's own if spans are collected. */
  readonly spanId: string;
  /** The flags of the trace: two hex digits. `01` means that the trace is collected. */
  readonly flags: string;
  /** Notes of other systems, passed on unchanged. */
  readonly state?: string;
}

type Headers = Readonly<Record<string, string | string[] | undefined>>;

const TRACEPARENT = /^([\da-f]{2})-([\da-f]{32})-([\da-f]{16})-([\da-f]{2})(-.*)?$/;
const NO_TRACE = '0'.repeat(32);
const NO_SPAN = '0'.repeat(16);
const MAX_STATE = 512;
/** The form of members, `key=value` between commas. A text with other characters is not passed on. */
const MEMBER =
  /^[ \t]*[a-z\d][\w*/@-]{0,255}=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e][ \t]*$/;

/** Returns the caller's trace. Undefined if it has none, or an invalid one. */
export function callerTrace(headers: Headers): TraceContext | undefined {
  const given = headers['traceparent'];
  return given === undefined ? undefined : parse(given, headers['tracestate']);
}

export function traceContext(headers: Headers): TraceContext {
  return callerTrace(headers) ?? newTrace();
}

/** Makes a trace that begins here. The gateway collects no span of it. */
export function newTrace(): TraceContext {
  return { traceId: freshHex(16), spanId: freshHex(8), flags: '00' };
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

/**
 * Spans, through OpenTelemetry's API alone, which does nothing until its SDK is loaded (tracing-sdk.ts). Attributes never contain ids,
 * queries, bodies or secrets. Names are those of OpenTelemetry's semantic conventions, or begin with `gateway.` if there is no such
 * convention.
 */

const tracer = trace.getTracer('licensing-gateway');
let collecting = false;

/** Starts the collection of spans. Call it once, when the SDK runs. */
export function collectSpans(): void {
  collecting = true;
}

export function isCollecting(): boolean {
  return collecting;
}

/** Begins the first span of the gateway in a trace. `parent` is the caller's, or undefined if the trace begins here. */
export function firstSpan(name: string, options: SpanOptions, parent: TraceContext | undefined): Span {
  return tracer.startSpan(
    name,
    options,
    parent ? trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent)) : ROOT_CONTEXT,
  );
}

export function within<T>(span: Span, run: () => T): T {
  return context.with(trace.setSpan(context.active(), span), run);
}

/** Returns the span's position in the trace, in the form of a request's headers. */
export function contextOf(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const state = traceState?.serialize();
  const flags = (traceFlags & 1) === 1 ? '01' : '00';
  return state ? { traceId, spanId, flags, state } : { traceId, spanId, flags };
}

/** Runs a step of a request as a span of its own, if the request's trace is collected. A step that rejects marks the span as failed. */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  run: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (!collecting || !trace.getActiveSpan()?.isRecording()) return run(undefined);
  return ofSpan(tracer.startSpan(name, options), run);
}

/** Runs background work as a trace of its own. It is linked to the request that caused it, if there was one. */
export function inOwnTrace<T>(name: string, run: () => Promise<T>, request?: TraceContext): Promise<T> {
  if (!collecting) return run();
  const links = request ? [{ context: spanContextOf(request) }] : [];
  return ofSpan(tracer.startSpan(name, { root: true, links }), run);
}

function spanContextOf({ traceId, spanId, flags, state }: TraceContext): SpanContext {
  return {
    traceId,
    spanId,
    traceFlags: Number.parseInt(flags, 16),
    isRemote: true,
    ...(state !== undefined && { traceState: createTraceState(state) }),
  };
}

async function ofSpan<T>(span: Span, run: (span: Span) => Promise<T>): Promise<T> {
  try {
    return await within(span, () => run(span));
  } catch (error) {
    // The message is left out, because it may contain foreign text.
    const { name } = error as Error;
    span.setAttribute('error.type', name).setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
