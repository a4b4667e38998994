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
import type { TraceContext } from './trace-context.ts';

/**
 * Spans, through OpenTelemetry's API alone: it does nothing until its SDK is loaded (tracing-sdk.ts). Attributes never have ids, queries,
 * bodies or secrets. Names are those of OpenTelemetry's semantic conventions, and `gateway.…` for what they do not have.
 */

const tracer = trace.getTracer('licensing-gateway');
let collecting = false;

/** Called once, when the SDK runs. */
export function collectSpans(): void {
  collecting = true;
}

export function isCollecting(): boolean {
  return collecting;
}

/** Begins the first span of the gateway in a trace: `parent` is the caller's, undefined where the trace begins here. */
export function firstSpan(name: string, options: SpanOptions, parent: TraceContext | undefined): Span {
  return tracer.startSpan(
    name,
    options,
    parent ? trace.setSpanContext(ROOT_CONTEXT, spanContextOf(parent)) : ROOT_CONTEXT,
  );
}

/** Everything that `run` begins belongs to this span. */
export function within<T>(span: Span, run: () => T): T {
  return context.with(trace.setSpan(context.active(), span), run);
}

/** As other systems see the span. */
export function contextOf(span: Span): TraceContext {
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const state = traceState?.serialize();
  const flags = (traceFlags & 1) === 1 ? '01' : '00';
  return state ? { traceId, spanId, flags, state } : { traceId, spanId, flags };
}

/** Runs a step of a request as a span of its own, where the request's trace is collected. A step that rejects marks it as failed. */
export function inSpan<T>(
  name: string,
  options: SpanOptions,
  run: (span: Span | undefined) => Promise<T>,
): Promise<T> {
  if (!collecting || !trace.getActiveSpan()?.isRecording()) return run(undefined);
  return ofSpan(tracer.startSpan(name, options), run);
}

/** Runs work of the background as a trace of its own, linked to the request that wanted it, where there was one. */
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
    // Not the message, which may have foreign text.
    const { name } = error as Error;
    span.setAttribute('error.type', name).setStatus({ code: SpanStatusCode.ERROR });
    throw error;
  } finally {
    span.end();
  }
}
