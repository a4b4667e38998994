import { randomBytes } from 'node:crypto';
import { readFileSync, write } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { Counter, Histogram } from 'prom-client';
import { type Rate, rateOf } from './redis.ts';

/** Handles the parts that every request of the floor has: its caller, its answer, its line of the log, its metrics. */

interface Entry {
  readonly name: string;
  readonly keys: readonly string[];
  readonly scopes: readonly string[];
  readonly enterprises: readonly string[];
  readonly channels: readonly string[];
  readonly rateLimit: { readonly requests: number; readonly perSeconds: number };
}
interface Caller extends Entry {
  readonly take: () => Promise<Rate>;
}
const CALLERS_FILE = process.env['CALLERS_FILE'] ?? '';
const { callers: entries } = JSON.parse(readFileSync(CALLERS_FILE, 'utf8')) as { callers: Entry[] };
export const callers = new Map<string, Caller>();
for (const entry of entries) {
  const { name, keys, rateLimit } = entry;
  const take = rateOf(name, rateLimit.requests, rateLimit.perSeconds);
  for (const key of keys) callers.set(key, { ...entry, take });
}
export const STRANGER: Caller = {
  ...{ name: '', keys: [], scopes: [], enterprises: [], channels: [] },
  rateLimit: { requests: 0, perSeconds: 0 },
  take: () => Promise.reject(new Problem(401, 'unauthenticated')),
};
export const isGranted = (granted: readonly string[], wanted = '') =>
  granted[0] === '*' || granted.includes(wanted);

/** A request that is answered with a problem. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly errors?: readonly object[],
  ) {
    super(code);
  }
}

/** The known facts of a request, for its answer and its line of the log. */
export interface Progress {
  readonly requestId: string;
  readonly traceId: string;
  readonly startedAt: number;
  readonly operation: string;
  readonly caller: Caller;
  upstreamMs: number;
}

/** Refuses a request over the rate of its caller, or without the scope. */
export function admit(response: ServerResponse, { caller }: Progress, rate: Rate, scope: string): void {
  const { requests, perSeconds } = caller.rateLimit;
  response.setHeader('ratelimit-policy', `"default";q=${requests};w=${perSeconds}`);
  response.setHeader('ratelimit', `"default";r=${rate.left};t=${rate.endsInS}`);
  if (!rate.admitted) throw new Problem(429, 'too-many-requests');
  if (!caller.scopes.includes(scope)) throw new Problem(403, 'forbidden');
}

/** Sends the answer, and notes the request in the log and in the metrics. */
export function end(
  response: ServerResponse,
  progress: Progress,
  status: number,
  body?: string | Buffer,
): void {
  const { requestId, traceId, operation, startedAt, upstreamMs, caller } = progress;
  const durationMs = performance.now() - startedAt;
  const total = `total;dur=${durationMs.toFixed(1)}`;
  const timing = upstreamMs > 0 ? `upstream;dur=${upstreamMs.toFixed(1)}, ${total}` : total;
  response.setHeader('server-timing', timing);
  if (body !== undefined) {
    if (status < 400) response.setHeader('content-type', 'application/json; charset=utf-8');
    response.setHeader('content-length', Buffer.byteLength(body));
  }
  response.writeHead(status).end(body);
  requests(operation, String(status));
  seconds.observe({ operation }, durationMs / 1_000);
  log({
    ...{ level: status >= 500 ? 'error' : 'info', time: new Date().toISOString(), event: 'request' },
    ...{
      requestId,
      traceId,
      operation,
      status,
      durationMs: rounded(durationMs),
      upstreamMs: rounded(upstreamMs),
    },
    ...{ caller: caller.name, msg: `${operation} ${status}` },
  });
}

const rounded = (ms: number) => Math.round(ms * 10) / 10;

const GATHER_MS = 10;
let lines = '';
/** Gathers lines, because one write costs as much as making ten of them. */
function log(line: object): void {
  if (lines === '')
    setTimeout(() => {
      write(1, lines, () => undefined);
      lines = '';
    }, GATHER_MS);
  lines += `${JSON.stringify(line)}\n`;
}

/** Makes a counter that adds to a number, and passes it to prom-client when the metrics are read. */
function tally(name: string, ...labelNames: [string, string]): (one: string, other: string) => void {
  const counts = new Map<string, number>();
  const counter = new Counter({
    ...{ name, help: name, labelNames },
    collect() {
      counter.reset();
      for (const [labels, count] of counts) counter.labels(...labels.split(' ')).inc(count);
    },
  });
  return (one, other) => {
    const labels = `${one} ${other}`;
    counts.set(labels, (counts.get(labels) ?? 0) + 1);
  };
}

const requests = tally('requests_total', 'operation', 'status');
export const upstreamCalls = tally('upstream_calls_total', 'operation', 'status');
export const reads = tally('reads_total', 'operation', 'result');
const labelNames = ['operation'];
const seconds = new Histogram({ name: 'request_seconds', help: 'Time of requests', labelNames });
export const upstreamSeconds = new Histogram({ name: 'upstream_seconds', help: 'Time of calls', labelNames });

export const hex = (bytes: number): string => randomBytes(bytes).toString('hex');

export function bodyOf(request: IncomingMessage): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => resolve(Buffer.concat(chunks)));
    request.on('error', reject);
  });
}
