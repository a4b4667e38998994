import { randomBytes } from 'node:crypto';
import { type Ask, WrongAnswer } from './generator.ts';
import { assetsAnswer, batch, membersAnswer } from './payloads.ts';

/** The largest page sizes that callers may ask for. */
const PAGE_SIZES = { assets: 1_000, members: 200 } as const;
const ANSWERS = { assets: assetsAnswer, members: membersAnswer } as const;

/** The work of contenders: the request that each of them gets and the response that it must give. */
export type Task =
  | {
      readonly kind: 'read';
      /** The kind of data. Assets are read as the application, members as a user of the platform. */
      readonly what: 'assets' | 'members';
      /** The size of the platform's response. */
      readonly bytes: number;
      /**
       * `fresh`: `Cache-Control: no-cache` bypasses the cache and refreshes it. `miss`: a different query every time, which misses both
       * levels of the cache. `cached`: plain, so from the cache if the contender has one.
       */
      readonly how: 'fresh' | 'miss' | 'cached';
      /** True if each item of each response of the platform differs from the one before, and each connection reads under its own key. */
      readonly changing: boolean;
    }
  | { readonly kind: 'order'; readonly items: number };

export type Asked = (task: Task) => Ask;

/** The differences of requests to another build. */
export interface Dialect {
  readonly batch: typeof batch;
  /** False for older builds, which send all assets at once. */
  readonly pagesAssets: boolean;
}
const TODAY: Dialect = { batch, pagesAssets: true };

interface Item {
  readonly keyGeneration?: number;
  readonly createdAt?: string;
  /** The name of the field in older builds. */
  readonly createTime?: string;
}

/** The id of this run. Order numbers are never reused, so another run needs other ones. */
const RUN = randomBytes(6).toString('hex');
const UPSTREAM_PATH = '/order/api/order/v1';
const NUMBER_PLACE = 'ORDER-NUMBER'.padEnd(28, '-');

/**
 * Returns the number of an order of this run, always as long as {@link NUMBER_PLACE}, so that only the number changes in a rendered
 * request.
 */
const orderNumber = (index: number) => `${RUN}-${String(index).padStart(15, '0')}`.padEnd(28, 'x');

function render(method: string, path: string, headers: Record<string, string>, body = ''): string {
  const lines = [`${method} ${path} HTTP/1.1`, 'host: 127.0.0.1'];
  for (const [name, value] of Object.entries(headers)) lines.push(`${name}: ${value}`);
  if (body !== '') lines.push('content-type: application/json', `content-length: ${body.length}`);
  return `${lines.join('\r\n')}\r\n\r\n${body}`;
}

function expectThat(isSo: boolean, body: string): void {
  if (!isSo) throw new WrongAnswer(`not the answer that was asked for: ${body.slice(0, 500)}`);
}

/** Sends the request as the gateway's callers do. Orders use each key in turn, because the records of one caller are limited. */
export function gatewayAsked(
  keys: readonly [string, ...string[]],
  { batch: batchOf, pagesAssets } = TODAY,
): Asked {
  const [key] = keys;
  return (task) => {
    if (task.kind === 'order') {
      const order = batchOf(NUMBER_PLACE, task.items);
      const requests = keys.map((each) => orderRequest('/v1/license-orders', { 'x-api-key': each }, order));
      return {
        request: (index) => requests[index % keys.length]?.join(orderNumber(index)) ?? '',
        status: 201,
        check: (body) => {
          const { state, items } = JSON.parse(body) as { state: string; items: { licenseOrderId: string }[] };
          const right = state === 'succeeded' && items.length === task.items;
          expectThat(
            right && items.every(({ licenseOrderId }) => licenseOrderId.startsWith('90071992547')),
            body,
          );
        },
      };
    }
    const { count } = ANSWERS[task.what](task.bytes);
    const headers = {
      'x-api-key': key,
      ...(task.how === 'fresh' && { 'cache-control': 'no-cache' }),
      ...(task.what === 'members' && { 'x-acting-user': 'anna' }),
    };
    const path = `/v1/enterprises/${enterpriseOf(task)}/${task.what}`;
    const size = pagesAssets || task.what === 'members' ? `pageSize=${PAGE_SIZES[task.what]}` : '';
    const plain = render('GET', `${path}?${size}`, headers);
    const [before, after] = split(render('GET', `${path}?${size}&extendCode=${NUMBER_PLACE}`, headers));
    const ofKey = (number: number) => before + orderNumber(number) + after;
    const ofConnection = (_: number, place: number) => ofKey(place);
    return {
      request: task.how === 'miss' ? ofKey : task.changing ? ofConnection : () => plain,
      status: 200,
      check: (body) => {
        const { items } = JSON.parse(body) as { items: Item[] };
        const right = items.every(
          ({ keyGeneration = 5, createTime, createdAt = createTime }) =>
            keyGeneration === 5 && createdAt?.startsWith('2026-'),
        );
        expectThat(right && items.length === count, body);
      },
    };
  };
}

/** Sends the request to a contender that forwards the platform's paths. `data` finds the payload in a response. */
export function platformAsked(data: (answer: unknown) => unknown): Asked {
  const headers = { authorization: 'Bearer canned' };
  return (task) => {
    if (task.kind === 'order') {
      const path = `${UPSTREAM_PATH}/licenseOrder/batchOrder?appKey=bench&g_nonce=canned`;
      const [before = '', after = ''] = orderRequest(path, headers, batch(NUMBER_PLACE, task.items));
      return {
        request: (index) => before + orderNumber(index) + after,
        status: 200,
        check: (body) => {
          const items = data(JSON.parse(body)) as { sequence: number }[];
          expectThat(items.length === task.items && items[0]?.sequence === 1, body);
        },
      };
    }
    const { count } = ANSWERS[task.what](task.bytes);
    const path =
      task.what === 'assets'
        ? `${UPSTREAM_PATH}/asset/${enterpriseOf(task)}/list?g_nonce=canned`
        : `/me/api/v1/enterprise/${enterpriseOf(task)}/members?pageNum=1&pageSize=200&g_nonce=canned`;
    const request = render('GET', path, headers);
    return {
      request: () => request,
      status: 200,
      check: (body) => {
        const found = data(JSON.parse(body)) as object[] | { readonly list: object[] };
        const items = 'list' in found ? found.list : found;
        expectThat(items.length === count && items.every((item) => 'createTime' in item), body);
      },
    };
  };
}

/** Returns the id of the enterprise, from which the fixed platform reads the response to send. */
function enterpriseOf({ bytes, changing }: Extract<Task, { kind: 'read' }>): string {
  return `ent-${bytes}${changing ? '-changing' : ''}`;
}

function orderRequest(path: string, headers: Record<string, string>, body: object): string[] {
  return split(render('POST', path, headers, JSON.stringify(body)));
}

function split(request: string): [before: string, after: string] {
  const at = request.indexOf(NUMBER_PLACE);
  return [request.slice(0, at), request.slice(at + NUMBER_PLACE.length)];
}
