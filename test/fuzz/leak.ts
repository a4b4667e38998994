import { once } from 'node:events';
import { connect } from 'node:net';
import { orderOf } from '../support/order-body.ts';
import { comesTrue, until } from '../support/redis.ts';
import type { Measured } from './measure.ts';
import { type FuzzStage, sentOf } from './stage.ts';

/** Warm-up rounds: code is compiled, pools and caches fill. */
const WARM_UP = 20;
/** What a search for leaks may find kept by each round of requests. */
const MAX_BYTES_A_ROUND = 10_000;

const ENTERPRISE = '/v1/enterprises/ent-harbour';

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

/** Rounds of all good and bad events of a gateway, and what the process keeps of them. */
export async function leak(
  stage: FuzzStage,
  { rounds }: { readonly rounds: number },
): Promise<readonly string[]> {
  await stage.restart();
  await stage.sandbox.reset();
  const reads = Object.entries(READ_FAULTS).map(([path, action]) => ({
    ...{ operation: 'listAssets', match: { path }, action },
  }));
  const orders = Object.entries(ORDER_FAULTS).map(([branchCode, rule]) => ({
    ...{ operation: 'batchOrder', match: { body: { orderList: [{ branchCode }] } }, ...rule },
  }));
  await stage.sandbox.fault([...reads, ...orders]);
  const all: Measured[] = [];
  let before: Measured | undefined;
  await fillCache(stage);
  for (let round = 0; round < rounds; round++) {
    await runRound(stage, round);
    await stage.hangUp();
    all.push(await measure(stage));
    if (round === Math.min(WARM_UP, rounds - 1)) before = await quiet(stage);
  }
  // The heap without code, all of it, and what is outside of it.
  for (const what of ['data', 'heapUsed', 'external'] as const)
    stage.count(`bytes a round: ${what}`, slopeOf(all.slice(WARM_UP).map((measured) => measured[what])));
  const kept = stage.figures['bytes a round: data'] ?? 0;
  return [
    ...(kept < MAX_BYTES_A_ROUND ? [] : [`each round keeps ${kept} bytes`]),
    ...Object.entries(await leftOver(stage, before)).map(([kind, count]) => `${count} of ${kind} are left`),
  ];
}

async function measure(stage: FuzzStage): Promise<Measured> {
  const { child } = stage.gateway(0);
  const answer = once(child, 'message');
  child.send('measure');
  const [measured] = (await answer) as [Measured];
  return measured;
}

/** Once no request is under way any more. */
async function quiet(stage: FuzzStage): Promise<Measured> {
  await until('nothing is under way', async () => {
    const metrics = `${stage.gateway(0).managementUrl}/metrics`;
    const text = await fetch(metrics, { headers: { connection: 'close' } }).then((each) => each.text());
    return /^gateway_requests_in_flight 0$/m.test(text);
  });
  return measure(stage);
}

/** Idle connections and timers of abandoned calls end by themselves; the measurement waits for that. */
async function leftOver(stage: FuzzStage, before: Measured | undefined): Promise<Record<string, number>> {
  let left: Record<string, number> = {};
  const isBack = async () => {
    const { resources } = await measure(stage);
    const more = Object.entries(resources).map(
      ([kind, count]) => [kind, count - (before?.resources[kind] ?? 0)] as const,
    );
    left = Object.fromEntries(more.filter(([, count]) => count > 0));
    return Object.keys(left).length === 0;
  };
  await comesTrue(isBack);
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

/** More responses than the read cache holds in the process: three of each round. */
const RESPONSES_TO_FILL = 1_100;
const ROUNDS_AT_ONCE = 5;

/** What a round leaves in the read cache, until that is full: what two users read, and what was searched with a word of its own. */
async function fillCache(stage: FuzzStage): Promise<void> {
  const leave = (word: number) => [
    session(stage),
    session(stage),
    stage.send(sentOf('GET', `${ENTERPRISE}/members?keyword=fill-${word}`)),
  ];
  for (let round = 0; round < RESPONSES_TO_FILL / 3; round += ROUNDS_AT_ONCE)
    await Promise.all(Array.from({ length: ROUNDS_AT_ONCE }, (_, at) => leave(round + at)).flat());
}

/** A user logs in, reads, logs out, and is a stranger again. */
async function session(stage: FuzzStage): Promise<void> {
  const body = { username: 'anna@harbour', password: stage.sandbox.seedPassword };
  const login = await stage.reply(sentOf('POST', '/v1/sessions', { body }));
  const headers = { 'x-session-id': String(login.body['sessionId']) };
  await stage.reply(sentOf('GET', `${ENTERPRISE}/members`, { headers }));
  await stage.reply(sentOf('DELETE', '/v1/sessions/current', { headers }));
  await stage.reply(sentOf('GET', '/v1/sessions/current', { headers }));
}

async function runRound(stage: FuzzStage, round: number): Promise<void> {
  const name = (what: string) => `leak-${process.pid}-${round}-${what}`;
  const ask = (method: string, target: string, headers: Record<string, string> = {}, body?: unknown) =>
    stage.reply(sentOf(method, target, { headers, body }));
  const get = (target: string, headers?: Record<string, string>) => ask('GET', target, headers);
  const post = (target: string, body: unknown, headers?: Record<string, string>) =>
    ask('POST', target, headers, body);
  const doings: (() => Promise<unknown>)[] = [
    // Successful requests.
    ...['assets', 'members', 'asset-nums', 'lent-locks', 'overview'].map(
      (what) => () => get(`${ENTERPRISE}/${what}`),
    ),
    ...['assets', 'members'].map(
      (what) => () => get(`${ENTERPRISE}/${what}`, { 'cache-control': 'no-cache' }),
    ),
    () => get(`${ENTERPRISE}/members?keyword=${name('word')}`),
    () => get('/v1/license-orders?pageSize=5'),
    () => get('/problems'),
    () => session(stage),
    () => session(stage),
    ...['a', 'b'].map((letter) => () => post('/v1/license-orders', order(name(letter)))),
    () => post('/v1/license-orders', order(`leak-${process.pid}-once`)),
    () => post('/v1/asset-num-reservations', { size: 1 }, { 'idempotency-key': name('key-of-numbers') }),
    () => ask('PATCH', '/v1/crm-customers/CRM-1001', {}, { address: name('street') }),
    // Refused requests.
    () => get(`${ENTERPRISE}/assets?x=1`),
    () =>
      post('/v1/license-orders', { ...order(name('wrong')), items: Array.from({ length: 50 }, () => ({})) }),
    () => post('/v1/customers', `{${'"a":['.repeat(30)}`),
    () => post('/v1/sessions', { username: 'anna@harbour', password: name('wrong password') }),
    () => get(`/v1/nothing/${name('path')}`),
    () => get(`${ENTERPRISE}/assets`, { 'x-api-key': name('key') }),
    () => get(`${ENTERPRISE}/members`, { 'x-session-id': 'A'.repeat(22) }),
    () => ask('DELETE', `${ENTERPRISE}/members/${name('nobody')}`),
    // Requests that the platform spoils.
    ...Object.keys(READ_FAULTS).map((id) => () => get(`/v1/enterprises/${id}/assets`)),
    ...Object.keys(ORDER_FAULTS).map(
      (branch) => () => post('/v1/license-orders', order(name(branch), branch)),
    ),
    // Requests whose caller hangs up.
    () => abandoned(stage, 'GET', '/v1/enterprises/leak-slow/assets', undefined, 30),
    () => abandoned(stage, 'GET', `${ENTERPRISE}/members`, undefined, 1),
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
  stage.count('requests', doings.length);
}

function order(channelOrderId: string, code?: string): object {
  const [item] = orderOf(channelOrderId).items;
  // The customer belongs to an enterprise without reads here, so that responses do not grow.
  const customer = { customerId: 'cus-meridian-default' };
  return orderOf(channelOrderId, { items: [{ ...item, customer, ...(code && { branch: { code } }) }] });
}

/** A caller that hangs up after this many milliseconds. */
async function abandoned(
  stage: FuzzStage,
  method: string,
  target: string,
  body: object | undefined,
  ms: number,
): Promise<void> {
  const { headers, body: text } = sentOf(method, target, { body });
  const { fleet } = stage;
  await fetch(stage.gateway(0).url + target, {
    method,
    // A connection of its own.
    headers: { ...headers, 'x-api-key': fleet.key, connection: 'close' },
    body: text ?? null,
    signal: AbortSignal.timeout(ms),
  })
    .then((answer) => answer.text())
    .catch(() => undefined);
}

/** A caller whose connection breaks in the middle of its request. */
async function cutOff(stage: FuzzStage, head: string, rest: string): Promise<void> {
  const socket = connect({ port: Number(new URL(stage.gateway(0).url).port), host: '127.0.0.1' });
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  const lines =
    rest === ''
      ? head
      : `${head}X-Api-Key: ${stage.fleet.key}\r\nContent-Type: application/json\r\n\r\n${rest}`;
  await new Promise((resolve) => socket.write(lines, resolve));
  socket.resetAndDestroy();
}
