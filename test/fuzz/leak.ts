import { once } from 'node:events';
import { connect } from 'node:net';
import { resolve as absolute } from 'node:path';
import { pathToFileURL } from 'node:url';
import { Agent } from 'undici';
import { until } from '../support/redis.ts';
import type { Measured } from './measure.ts';
import { Stage } from './stage.ts';

/** Rounds of all good and bad events of a gateway, and the memory of the process afterwards. */

export interface LeakReport {
  readonly rounds: number;
  readonly requests: number;
  /** Bytes kept for each round, by linear regression after the first rounds: heap without code, whole heap, outside the heap. */
  readonly slopes: Readonly<Record<'data' | 'heapUsed' | 'external', number>>;
  /** Objects that the process holds more of than before, by kind; empty without a leak. */
  readonly left: Readonly<Record<string, number>>;
}

interface Options {
  readonly rounds: number;
  /** Warm-up rounds: code is compiled, pools and caches fill. */
  readonly warmUp: number;
  readonly progress?: (line: string) => void;
}

/** How the platform fails; the enterprise of a read or the branch of an order selects it. */
const READ_FAULTS: Readonly<Record<string, object>> = {
  'leak-reset': { reset: 'before-headers' },
  'leak-cut': { reset: 'mid-body' },
  'leak-html': { html: true },
  'leak-500': { code: '500' },
  'leak-slow': { delayMs: 150 },
  'leak-drops': { slow: { chunkBytes: 16, everyMs: 5 } },
};
const ORDER_FAULTS: Readonly<Record<string, object>> = {
  'lost-after': { phase: 'after', action: { reset: 'before-headers' } },
  refused: { action: { code: '13004' } },
  slow: { phase: 'before', action: { delayMs: 150 } },
};

export async function runLeak({ rounds, warmUp, progress }: Options): Promise<LeakReport> {
  const preload = pathToFileURL(absolute('test/fuzz/measure.ts')).href;
  const stage = await Stage.set({ how: { nodeOptions: `--expose-gc --import ${preload} --no-warnings` } });
  try {
    await stage.sandbox.fault([
      ...Object.entries(READ_FAULTS).map(([path, action]) => ({
        operation: 'listAssets',
        match: { path },
        action,
      })),
      ...Object.entries(ORDER_FAULTS).map(([branchCode, rule]) => ({
        operation: 'batchOrder',
        match: { body: { orderList: [{ branchCode }] } },
        ...rule,
      })),
    ]);
    const all: Measured[] = [];
    let before: Measured | undefined;
    let requests = await fillCache(stage);
    for (let round = 0; round < rounds; round++) {
      requests += await runRound(stage, round);
      await stage.hangUp();
      const measured = await measure(stage);
      all.push(measured);
      if (round === warmUp) before = await quiet(stage);
      if (round % 10 === 9)
        progress?.(
          `${round + 1} rounds, heap ${Math.round(measured.heapUsed / 1024)} kB, without code ${Math.round(measured.data / 1024)} kB, beside it ${Math.round(measured.external / 1024)} kB`,
        );
    }
    const slope = (what: 'data' | 'heapUsed' | 'external') =>
      slopeOf(all.slice(warmUp).map((measured) => measured[what]));
    const slopes = { data: slope('data'), heapUsed: slope('heapUsed'), external: slope('external') };
    return { rounds, requests, slopes, left: await leftOver(stage, before) };
  } finally {
    await stage.clear();
  }
}

async function measure({ gateway }: Stage): Promise<Measured> {
  const answer = once(gateway.child, 'message');
  gateway.child.send('measure');
  const [measured] = (await answer) as [Measured];
  return measured;
}

/** Once no request is under way any more. */
async function quiet(stage: Stage): Promise<Measured> {
  await until('nothing is under way', async () => {
    const text = await (
      await fetch(`${stage.gateway.managementUrl}/metrics`, { headers: { connection: 'close' } })
    ).text();
    return /^gateway_requests_in_flight 0$/m.test(text);
  });
  return measure(stage);
}

/** Idle connections and timers of abandoned calls end by themselves; the measurement waits for that. */
async function leftOver(stage: Stage, before: Measured | undefined): Promise<Record<string, number>> {
  let left: Record<string, number> = {};
  const isBack = async () => {
    const { resources } = await measure(stage);
    const more = Object.entries(resources).map(
      ([kind, count]) => [kind, count - (before?.resources[kind] ?? 0)] as const,
    );
    left = Object.fromEntries(more.filter(([, count]) => count > 0));
    return Object.keys(left).length === 0;
  };
  await until('sockets and timers are gone', isBack).catch(() => undefined);
  return left;
}

/** Least squares over places 0, 1, 2 … */
function slopeOf(values: readonly number[]): number {
  const middle = (values.length - 1) / 2;
  const mean = values.reduce((sum, value) => sum + value, 0) / values.length;
  let above = 0;
  let below = 0;
  for (const [place, value] of values.entries()) {
    above += (place - middle) * (value - mean);
    below += (place - middle) ** 2;
  }
  return above / below;
}

/**
 * Until the first level of the read cache is full: it holds the latest 1,000 responses, and every round has new ones. Returns the
 * number of requests.
 */
async function fillCache(stage: Stage): Promise<number> {
  const enterprise = '/v1/enterprises/ent-harbour';
  const reads = ['assets', 'members', 'members?pageSize=50', 'asset-nums', 'lent-locks', 'overview'];
  let requests = 0;
  for (let answers = 0; answers < 1_200; answers += reads.length) {
    await Promise.all(reads.map((read) => stage.json('GET', `${enterprise}/${read}`)));
    // After a write, responses change.
    const body = { account: 'dora', name: 'Dora' };
    await stage.json('PATCH', `${enterprise}/members/mem-harbour-dora`, { body });
    await stage.json('PATCH', '/v1/crm-customers/CRM-1001', { body: { address: `${answers} Quay Street` } });
    requests += reads.length + 2;
  }
  return requests;
}

/** Returns the number of requests. */
async function runRound(stage: Stage, round: number): Promise<number> {
  const name = (what: string) => `leak-${process.pid}-${round}-${what}`;
  const get = (target: string, headers: Record<string, string> = {}) =>
    stage.json('GET', target, { headers });
  const post = (target: string, body: unknown, headers: Record<string, string> = {}) =>
    stage.json('POST', target, { body, headers });
  const enterprise = '/v1/enterprises/ent-harbour';
  const login = { username: 'anna@harbour', password: stage.sandbox.seedPassword };
  const session = async () => {
    const { body } = await post('/v1/sessions', login);
    const headers = { 'x-session-id': String(body['sessionId']) };
    await get(`${enterprise}/members`, headers);
    await stage.json('DELETE', '/v1/sessions/current', { headers });
    await get('/v1/sessions/current', headers);
  };
  const doings: (() => Promise<unknown>)[] = [
    // Successful requests.
    ...['assets', 'members', 'asset-nums', 'lent-locks', 'overview'].map(
      (what) => () => get(`${enterprise}/${what}`),
    ),
    ...['assets', 'members'].map(
      (what) => () => get(`${enterprise}/${what}`, { 'cache-control': 'no-cache' }),
    ),
    () => get(`${enterprise}/members?keyword=${name('word')}`),
    () => get('/v1/license-orders?pageSize=5'),
    () => get('/problems'),
    session,
    session,
    ...['a', 'b'].map((letter) => () => post('/v1/license-orders', order(name(letter)))),
    () => post('/v1/license-orders', order(`leak-${process.pid}-once`)),
    () => post('/v1/asset-num-reservations', { size: 1 }, { 'idempotency-key': name('key-of-numbers') }),
    () => stage.json('PATCH', '/v1/crm-customers/CRM-1001', { body: { address: name('street') } }),
    // Refused requests.
    () => get(`${enterprise}/assets?x=1`),
    () =>
      post('/v1/license-orders', { ...order(name('wrong')), items: Array.from({ length: 50 }, () => ({})) }),
    () => post('/v1/customers', `{${'"a":['.repeat(30)}`),
    () => post('/v1/sessions', { ...login, password: name('wrong password') }),
    () => get(`/v1/nothing/${name('path')}`),
    () => stage.json('GET', `${enterprise}/assets`, { key: name('key') }),
    () => get(`${enterprise}/members`, { 'x-session-id': 'A'.repeat(22) }),
    () => stage.json('DELETE', `${enterprise}/members/${name('nobody')}`),
    // Requests that the platform spoils.
    ...Object.keys(READ_FAULTS).map((id) => () => get(`/v1/enterprises/${id}/assets`)),
    ...Object.keys(ORDER_FAULTS).map(
      (branch) => () => post('/v1/license-orders', order(name(branch), branch)),
    ),
    // Requests whose caller hangs up.
    () => abandoned(stage, 'GET', '/v1/enterprises/leak-slow/assets', undefined, 30),
    () => abandoned(stage, 'GET', `${enterprise}/members`, undefined, 1),
    () => abandoned(stage, 'POST', '/v1/license-orders', order(name('left'), 'slow'), 30),
    () =>
      cutOff(
        stage,
        'POST /v1/customers HTTP/1.1\r\nHost: a\r\nContent-Length: 5000\r\n',
        `{"channelCode":"${'x'.repeat(2_000)}`,
      ),
    () => cutOff(stage, 'GET /v1/customers HTTP/1.1\r\nHost: a\r\nX-Half', ''),
    () => cutOff(stage, 'nonsense\r\n\r\n', ''),
  ];
  await Promise.all(doings.map((each) => each()));
  return doings.length;
}

function order(channelOrderId: string, code?: string): object {
  return {
    channelCode: 'crm',
    channelOrderId,
    items: [
      {
        orderType: 'new_buy',
        licenseType: 'softkey',
        // For an enterprise without reads here, so that responses do not grow.
        customer: { customerId: 'cus-meridian-default' },
        ...(code !== undefined && { branch: { code } }),
        assets: [{ products: [{ productUri: 'draft.pro', limitConcurrent: 1 }] }],
      },
    ],
  };
}

/** A caller that hangs up after this many milliseconds. */
async function abandoned(
  stage: Stage,
  method: string,
  target: string,
  body: object | undefined,
  ms: number,
): Promise<void> {
  const agent = new Agent();
  const headers = { 'x-api-key': stage.key, ...(body && { 'content-type': 'application/json' }) };
  const request = fetch(stage.gateway.url + target, {
    method,
    headers,
    ...(body && { body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(ms),
    dispatcher: agent,
  } as RequestInit);
  await request.then((answer) => answer.text()).catch(() => undefined);
  await agent.destroy();
}

/** A caller whose connection breaks in the middle of its request. */
async function cutOff(stage: Stage, head: string, rest: string): Promise<void> {
  const { port } = new URL(stage.gateway.url);
  const socket = connect({ port: Number(port), host: '127.0.0.1' });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const lines =
    rest === '' ? head : `${head}X-Api-Key: ${stage.key}\r\nContent-Type: application/json\r\n\r\n${rest}`;
  await new Promise((resolve) => socket.write(lines, resolve));
  socket.resetAndDestroy();
}
