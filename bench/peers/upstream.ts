import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { assetsAnswer, membersAnswer, ordersAnswer } from '../payloads.ts';
import { serve } from './serve.ts';

/**
 * The platform with fixed responses in the shapes of the interface, rendered once. `ent-<bytes>` has assets and members of that size, and
 * each asset of `ent-<bytes>-changing` has another number each time. It counts its requests, so that the bench can tell which contender
 * bypassed its cache.
 */

const JSON_HEADERS = { 'content-type': 'application/json' };
const TOKEN = Buffer.from(
  JSON.stringify({ access_token: 'canned'.repeat(8), token_type: 'Bearer', expires_in: 36_000 }),
);
const REFUSED = Buffer.from(JSON.stringify({ code: '60000', message: 'no token or no nonce', cause: '' }));

const lists = new Map<string, Buffer>();
const orders = new Map<number, Buffer>();
let asked = 0;

const server = createServer((request, response) => {
  const url = request.url ?? '';
  if (url === '/asked') answer(response, 200, Buffer.from(JSON.stringify({ asked })));
  else if (url.startsWith('/oauth/token')) request.resume().once('end', () => answer(response, 200, TOKEN));
  else if (!request.headers.authorization?.startsWith('Bearer ') || !url.includes('g_nonce='))
    request.resume().once('end', () => answer(response, 299, REFUSED));
  else if (url.startsWith('/order/api/order/v1/asset/')) {
    asked++;
    answer(response, 200, listOf(url, assetsAnswer));
  } else if (url.startsWith('/me/api/v1/enterprise/')) {
    asked++;
    answer(response, 200, listOf(url, membersAnswer));
  } else if (url.startsWith('/order/api/order/v1/licenseOrder/batchOrder')) {
    asked++;
    countItems(request, (items) => answer(response, 200, ordersOf(items)));
  } else request.resume().once('end', () => answer(response, 404, Buffer.from('{}')));
});
serve(server);

function answer(response: ServerResponse, status: number, body: Buffer): void {
  response.writeHead(status, { ...JSON_HEADERS, 'content-length': body.length }).end(body);
}

function listOf(url: string, made: typeof assetsAnswer): Buffer {
  const bytes = /ent-(\d+)/.exec(url)?.[1] ?? '0';
  const key = made.name + bytes;
  const known = lists.get(key) ?? made(Number(bytes)).body;
  lists.set(key, known);
  return url.includes('-changing/') ? changed(known) : known;
}

const CHANGING = '"keyShellNumber":"';
const DIGITS = 10;

/** Gives each asset the number of the request. */
function changed(body: Buffer): Buffer {
  const copy = Buffer.from(body);
  const number = String(asked).padStart(DIGITS, '8');
  for (let at = copy.indexOf(CHANGING); at >= 0; at = copy.indexOf(CHANGING, at + DIGITS))
    at += copy.write(number, at + CHANGING.length, 'latin1');
  return copy;
}

function ordersOf(items: number): Buffer {
  const known = orders.get(items) ?? ordersAnswer(items);
  orders.set(items, known);
  return known;
}

/** Counts without parsing: each item names its `orderType` once. */
function countItems(request: IncomingMessage, done: (items: number) => void): void {
  const chunks: Buffer[] = [];
  request.on('data', (chunk: Buffer) => chunks.push(chunk));
  request.on('end', () => {
    const body = Buffer.concat(chunks);
    let items = 0;
    for (let at = body.indexOf('"orderType"'); at >= 0; at = body.indexOf('"orderType"', at + 11)) items++;
    done(items);
  });
}
