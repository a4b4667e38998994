import { type Dispatcher, Pool } from 'undici';
import { strictJson } from './json.ts';
import { Problem, type Progress, upstreamCalls, upstreamSeconds } from './request.ts';

/** The floor's calls to the platform. */

const { UPSTREAM_BASE_URL = '', UPSTREAM_TOKEN_URL = '' } = process.env;
export const pool = new Pool(UPSTREAM_BASE_URL, { connections: 128, keepAliveTimeout: 4_000 });
const TIMEOUT_MS = 10_000;
const token = await tokenOf();

async function tokenOf(): Promise<string> {
  const form = new URLSearchParams({ grant_type: 'client_credentials', scope: 'auth_order' });
  const answer = await fetch(UPSTREAM_TOKEN_URL, { method: 'POST', body: form });
  return ((await answer.json()) as { access_token: string }).access_token;
}

type Call = Pick<Dispatcher.DispatchOptions, 'method' | 'path'> & { readonly body?: string };

/** Returns the bytes of a response, which must have the status 200. */
export function send(via: Dispatcher, call: Call, progress: Progress): Promise<Buffer> {
  const headers = {
    accept: 'application/json',
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'x-request-id': progress.requestId,
    traceparent: `00-${progress.traceId}-${progress.traceId.slice(16)}-00`,
  };
  const started = performance.now();
  return new Promise<Buffer>((resolve, reject) => {
    const chunks: Buffer[] = [];
    let status = 0;
    via.dispatch(
      { ...call, headers, headersTimeout: TIMEOUT_MS, bodyTimeout: TIMEOUT_MS },
      {
        onRequestStart: () => undefined,
        onResponseStart: (_, code) => void (status = code),
        onResponseData: (_, chunk) => void chunks.push(chunk),
        onResponseEnd: () => {
          const ms = performance.now() - started;
          progress.upstreamMs += ms;
          upstreamCalls(progress.operation, String(status));
          upstreamSeconds.observe({ operation: progress.operation }, ms / 1_000);
          if (status !== 200) reject(new Problem(502, 'upstream-unavailable'));
          else resolve(chunks.length === 1 ? (chunks[0] as Buffer) : Buffer.concat(chunks));
        },
        onResponseError: (_, error) => reject(error),
      },
    );
  });
}

export function dataIn(bytes: Buffer, text?: string): unknown {
  const { code, data } = strictJson(bytes, text) as { code: unknown; data: unknown };
  if (code !== 0 && code !== '0') throw new Problem(502, 'upstream-refused');
  return data;
}
