import { randomUUID, hash } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { register } from 'prom-client';
import { Client } from 'undici';
import { strictJson } from './floor/json.ts';
import { begin, settle } from './floor/orders.ts';
import { dataIn, send } from './floor/platform.ts';
import { listAssets } from './floor/reads.ts';
import { advance, fingerprint } from './floor/redis.ts';
import {
  admit,
  bodyOf,
  callers,
  end,
  hex,
  isGranted,
  Problem,
  type Progress,
  STRANGER,
} from './floor/request.ts';
import { faultOf, type Order, toBatch, toPlaced } from './floor/wire.ts';
import { serve } from './serve.ts';

/**
 * Shows the cost of a gateway with these duties and without a framework: keys, rates and generations of a fleet, strict JSON, the mapping,
 * pages, `ETag`, a cache of two levels, orders with two commits, one line of the log and metrics for each request. It does them for the
 * requests of the bench, and bench/alike.ts compares its answers. It has no spans, breakers or repeated calls, and its store neither counts
 * nor checks budgets.
 */

const { UPSTREAM_BASE_URL = '', UPSTREAM_APP_KEY = '' } = process.env;
const REQUEST_ID = /^[\w.-]{1,128}$/;
const ASSETS = /^\/v1\/enterprises\/([\w-]{1,128})\/assets(?:\?|$)/;
const COMPLETE = new Error('the response is complete');

const server = createServer((request, response) => void answer(request, response));
serve(server);

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const { method, url = '', headers } = request;
  if (url === '/metrics') return void response.end(await register.metrics());
  const enterprise = method === 'GET' ? ASSETS.exec(url)?.[1] : undefined;
  const isOrder = method === 'POST' && url === '/v1/license-orders';
  const given = headers['x-request-id'];
  const requestId = typeof given === 'string' && REQUEST_ID.test(given) ? given : randomUUID();
  const caller = callers.get(hash('sha256', String(headers['x-api-key']))) ?? STRANGER;
  const operation = isOrder ? 'placeOrder' : enterprise === undefined ? 'none' : 'listAssets';
  const progress = {
    requestId,
    traceId: hex(16),
    startedAt: performance.now(),
    operation,
    caller,
    upstreamMs: 0,
  };
  response.setHeader('x-request-id', requestId);
  try {
    if (caller === STRANGER) throw new Problem(401, 'unauthenticated');
    if (isOrder) await placeOrder(request, response, progress);
    else if (enterprise === undefined) throw new Problem(404, 'not-found');
    else await listAssets(request, response, progress, enterprise);
  } catch (error) {
    if (!(error instanceof Problem)) process.stderr.write(`floor: ${String(error)}\n`);
    const { status, code, errors } = error instanceof Problem ? error : new Problem(500, 'internal-error');
    response
      .setHeader('cache-control', 'no-store')
      .setHeader('content-type', 'application/problem+json; charset=utf-8');
    end(response, progress, status, JSON.stringify({ status, code, errors, requestId }));
  }
}

const LEASE_MS = 65_000;

async function placeOrder(
  request: IncomingMessage,
  response: ServerResponse,
  progress: Progress,
): Promise<void> {
  const [rate, sent] = await Promise.all([progress.caller.take(), bodyOf(request)]);
  admit(response, progress, rate, 'orders:write');
  const order = orderIn(sent);
  const { channelCode, channelOrderId, syncMode, items } = order;
  const { name: caller, channels, enterprises } = progress.caller;
  const isOwn = items.every(({ customer }) => isGranted(enterprises, customer.enterpriseGlobalId));
  if (!isGranted(channels, channelCode) || !isOwn) throw new Problem(403, 'forbidden');
  const body = JSON.stringify(toBatch(order));
  const subject = `${encodeURIComponent(channelCode)}/${encodeURIComponent(channelOrderId)}`;
  const name = `order/${subject}`;
  const record = { caller, channelCode, channelOrderId, syncMode, reason: null };
  const ordered = items.map(({ sequence, orderType, customer }) => [
    sequence,
    orderType,
    customer.enterpriseGlobalId,
  ]);
  const bought = items.map(({ assets }) =>
    assets.flatMap(({ products = [] }) => products.map(({ productUri }) => productUri)),
  );
  const details = JSON.stringify({ ...record, ordered, bought });
  const submittedAt = await begin(name, {
    fingerprint: fingerprint(body),
    caller,
    leaseMs: LEASE_MS,
    details,
  });
  if (submittedAt === undefined) throw new Problem(409, 'idempotency-key-reused');
  const own = new Client(UPSTREAM_BASE_URL, { pipelining: 1 });
  const query = `appKey=${encodeURIComponent(UPSTREAM_APP_KEY)}&g_nonce=${hex(16)}`;
  const path = `/order/api/order/v1/licenseOrder/batchOrder?${query}`;
  const bytes = await send(own, { method: 'POST', path, body }, progress);
  // The error exists already, because the client would make one for each request in progress.
  void own.destroy(COMPLETE);
  const placed = toPlaced(dataIn(bytes), order);
  const [settledAt = 0] = await Promise.all([
    settle(name, JSON.stringify({ ...record, ordered, items: placed })),
    advance(),
  ]);
  const result = {
    ...{ channelCode, channelOrderId, state: 'succeeded', syncMode, items: placed },
    notBefore: null,
    submittedAt: new Date(submittedAt).toISOString(),
    settledAt: new Date(settledAt).toISOString(),
    reason: null,
  };
  response.setHeader('cache-control', 'no-store').setHeader('location', `/v1/license-orders/${subject}`);
  end(response, progress, 201, JSON.stringify(result));
}

function orderIn(bytes: Buffer): Order {
  let value: unknown;
  try {
    value = strictJson(bytes);
  } catch {
    throw new Problem(400, 'validation-failed', [{ pointer: '' }]);
  }
  const pointer = faultOf(value);
  if (pointer !== undefined) throw new Problem(400, 'validation-failed', [{ pointer }]);
  return value as Order;
}
