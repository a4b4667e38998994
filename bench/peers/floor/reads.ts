import { hash } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import { textOf } from './json.ts';
import { dataIn, pool, send } from './platform.ts';
import { findList, generationOf, storeList } from './redis.ts';
import { admit, end, hex, isGranted, Problem, type Progress, reads } from './request.ts';
import { toAssets } from './wire.ts';

/** Handles a read of the floor: its list from the process, from Redis or from the platform; its page; its `ETag`. */

const LIFE_MS = Number(process.env['CACHE_TTL_MS']);

interface List {
  readonly assets: readonly object[];
  /** The text as the platform sent it. It is '' for a list from Redis. */
  readonly text: string;
  readonly askedAt: number;
  readonly generation: string;
  readonly sharedAt: number;
}
interface Answer {
  readonly body: string | Buffer;
  readonly etag: string;
  readonly link: string;
  readonly assets: List['assets'];
  readonly generation: string;
}
const sizeOf = (value: { readonly text?: string; readonly body?: string | Buffer }, key: string) =>
  4 * (value.text ?? value.body ?? '').length + 2 * key.length + 1;
const lists = new LRUCache<string, List>({
  max: 1_000,
  maxSize: 2 ** 25,
  sizeCalculation: sizeOf,
  ttl: LIFE_MS,
});
const answers = new LRUCache<string, Answer>({ max: 1_000, maxSize: 2 ** 24, sizeCalculation: sizeOf });
const flights = new Map<string, Promise<List>>();

const QUERY = new Set(['page', 'pageSize', 'extendCode']);
const MAX_TEXT = 5_000;
const RENEWED = 0.1;

export async function listAssets(
  request: IncomingMessage,
  response: ServerResponse,
  progress: Progress,
  enterprise: string,
): Promise<void> {
  const { url = '', headers } = request;
  const query = new URLSearchParams(url.slice(url.indexOf('?') + 1));
  const isFresh = headers['cache-control'] === 'no-cache';
  const extendCode = query.get('extendCode');
  const key = JSON.stringify([enterprise, extendCode]);
  const held = lists.get(key);
  const shared = isFresh || held ? undefined : findList(key);
  const [rate, generation] = await Promise.all([progress.caller.take(), generationOf(enterprise)]);
  admit(response, progress, rate, 'orders:read');
  if (!isGranted(progress.caller.enterprises, enterprise)) throw new Problem(403, 'forbidden');
  for (const [name] of query)
    if (!QUERY.has(name)) throw new Problem(400, 'validation-failed', [{ parameter: name }]);
  const [page, pageSize] = [numberIn(query, 'page', 1), numberIn(query, 'pageSize', 100)];
  const path = `/order/api/order/v1/asset/${encodeURIComponent(enterprise)}/list?${extendCode === null ? '' : `extendCode=${encodeURIComponent(extendCode)}&`}g_nonce=${hex(16)}`;
  const load = () => loaded(key, generation, path, progress);
  let list = isFresh ? await load() : held?.generation === generation ? held : undefined;
  let age = list && !isFresh ? list.askedAt : undefined;
  if (!list) {
    const found = await (shared ?? findList(key));
    if (found?.generation === generation) {
      const { text, askedAt } = found;
      list = { assets: JSON.parse(text) as object[], text: '', askedAt, generation, sharedAt: askedAt };
      age = askedAt;
      const ttl = Math.min(LIFE_MS, askedAt + LIFE_MS - Date.now());
      if (ttl >= 1) lists.set(key, list, { ttl });
    } else {
      const flight = flights.get(generation + key) ?? load().finally(() => flights.delete(generation + key));
      flights.set(generation + key, flight);
      list = await flight;
    }
  }
  reads('listAssets', age === undefined ? (isFresh ? 'bypass' : 'miss') : 'hit');
  const { body, etag, link } = answerOf(url, list, page, pageSize);
  response.setHeader('etag', etag).setHeader('cache-control', 'private, no-cache').setHeader('link', link);
  if (age !== undefined) response.setHeader('age', Math.max(0, Math.floor((Date.now() - age) / 1_000)));
  if (headers['if-none-match']?.includes(etag)) end(response, progress, 304);
  else end(response, progress, 200, body);
}

function numberIn(query: URLSearchParams, name: string, usual: number): number {
  const given = query.get(name) ?? String(usual);
  if (/^[1-9]\d{0,3}$/.test(given) && Number(given) <= 1_000) return Number(given);
  throw new Problem(400, 'validation-failed', [{ parameter: name }]);
}

/** Reads the list from the platform, and keeps it in both levels. The same bytes are the same list. */
async function loaded(key: string, generation: string, path: string, progress: Progress): Promise<List> {
  const held = lists.get(key);
  const askedAt = Date.now();
  const bytes = await send(pool, { method: 'GET', path }, progress);
  const text = textOf(bytes);
  const isSame = held?.text === text;
  const assets = isSame ? held.assets : toAssets(dataIn(bytes, text));
  const isShared = isSame && held.generation === generation && askedAt - held.sharedAt < LIFE_MS * RENEWED;
  const list = { assets, text, askedAt, generation, sharedAt: isShared ? held.sharedAt : askedAt };
  lists.set(key, list);
  if (!isShared) void storeList(key, { text: JSON.stringify(assets), askedAt, generation }, LIFE_MS);
  return list;
}

/** Returns the page as text with its headers. If it was made before of the same list, it is used again. */
function answerOf(url: string, { assets, generation }: List, page: number, pageSize: number): Answer {
  const known = answers.get(url);
  if (known?.assets === assets && known.generation === generation) {
    if (typeof known.body !== 'string' || known.body.length <= MAX_TEXT) return known;
    // The page is sent again, so it is encoded once.
    const encoded = { ...known, body: Buffer.from(known.body) };
    answers.set(url, encoded);
    return encoded;
  }
  const total = assets.length;
  const totalPages = Math.ceil(total / pageSize);
  const items = assets.slice((page - 1) * pageSize, page * pageSize);
  const body = JSON.stringify({ items, page, pageSize, total, totalPages });
  const etag = `"${hash('sha256', body, 'base64url').slice(0, 22)}"`;
  const answer = { body, etag, link: linksOf(url, page, Math.max(1, totalPages)), assets, generation };
  answers.set(url, answer);
  return answer;
}

function linksOf(url: string, page: number, last: number): string {
  const plain = url.replace(/([?&])page=\d+&?/, '$1').replace(/[?&]$/, '');
  const before = `${plain}${plain.includes('?') ? '&' : '?'}page=`;
  const link = (name: string, to: number) =>
    to >= 1 && to <= last ? [`<${before}${to}>; rel="${name}"`] : [];
  return [
    ...link('first', 1),
    ...link('prev', page - 1),
    ...link('next', page + 1),
    ...link('last', last),
  ].join(', ');
}
