import { context, createContextKey, propagation, ROOT_CONTEXT } from '@opentelemetry/api';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { newSecret } from '../../test/support/canary.ts';
import { orderOf } from '../../test/support/order-body.ts';
import { freePort, until } from '../../test/support/redis.ts';
import {
  type EventsOptions,
  GatewayUnreachable,
  isGatewayUnreachable,
  isProblem,
  Licensing,
  OrderNotSettled,
  type PlaceOrderInput,
  type Problem,
  responseOf,
} from '../src/licensing.ts';
import { failure } from './support/failure.ts';
import { problem, ScriptedGateway } from './support/scripted-gateway.ts';

/* What the client makes of answers that no gateway of this version gives on request; calls.e2e.ts has the real one. */

const HARBOUR = { enterpriseGlobalId: 'ent-harbour' };
const RETRYABLE = { retryable: true };

/** A record of the order, as far as the client looks at it. */
function recordOf({ channelCode, channelOrderId, items }: PlaceOrderInput, over: object = {}): object {
  const told = items.map(({ orderType, customer: { enterpriseGlobalId = null } }, index) => ({
    ...{ sequence: index + 1, orderType, enterpriseGlobalId, licenseOrderId: 'lo-1', customerId: 'cus-1' },
  }));
  return { channelCode, channelOrderId, state: 'succeeded', items: told, ...over };
}

let last = 0;
function newOrder(): PlaceOrderInput & { channelCode: string; channelOrderId: string } {
  return orderOf(`failures-${++last}`) as never;
}

/** Runs a test whose timeouts pass by `jest.advanceTimersByTime`. All other time is real, because the requests are. */
async function withTimersByHand(test: () => Promise<void>): Promise<void> {
  const doNotFake = ['Date', 'hrtime', 'nextTick', 'performance', 'queueMicrotask'] as const;
  jest.useFakeTimers({ doNotFake: [...doNotFake, 'setImmediate', 'setInterval'] });
  try {
    await test();
  } finally {
    jest.useRealTimers();
  }
}

describe('in front of nothing', () => {
  const ofNothing = async () =>
    new Licensing({ baseUrl: `http://127.0.0.1:${await freePort()}`, apiKey: 'k', random: () => 0 });

  it('no byte was sent, by no attempt', async () => {
    const licensing = await ofNothing();
    const refused = await failure(licensing.orders.place(newOrder()));
    expect(refused).toBeInstanceOf(GatewayUnreachable);
    expect(refused).toMatchObject({
      sent: false,
      attempts: 3,
      timedOut: false,
      operation: 'placeOrder',
      order: { channelCode: 'crm' },
    });
    const unknown = new Licensing({ baseUrl: 'http://no-such-host.invalid/path', apiKey: 'k', attempts: 1 });
    expect(await failure(unknown.health.live())).toMatchObject({
      sent: false,
      attempts: 1,
      message: expect.stringMatching(
        /^No connection to the gateway at no-such-host\.invalid:80: E\w+ \(live, /,
      ),
    });
  });

  it('a port that `fetch` refuses got nothing of the order', async () => {
    const licensing = new Licensing({ baseUrl: 'http://127.0.0.1:6000', apiKey: 'k', attempts: 1 });
    expect(await failure(licensing.orders.place(newOrder()))).toMatchObject({
      sent: false,
      cause: { cause: { message: 'bad port' } },
      message: expect.stringMatching(/^No connection to the gateway at 127\.0\.0\.1:6000 /),
    });
  });

  it('a server that speaks no TLS got nothing of the order', async () => {
    const server = await ScriptedGateway.start();
    const licensing = new Licensing({
      baseUrl: server.url.replace('http:', 'https:'),
      apiKey: 'k',
      attempts: 1,
    });
    const refused = await failure(licensing.orders.place(newOrder()));
    expect(refused).toBeInstanceOf(GatewayUnreachable);
    expect(refused).toMatchObject({ sent: false, timedOut: false });
    expect((refused as Error).message).toContain(`${new URL(server.url).host}: ERR_SSL_`);
    expect(server.requests).toEqual([]);
    await server.close();
  });

  it('a route that is lost proves that nothing was sent only where no connection was made', async () => {
    for (const code of ['EHOSTUNREACH', 'ENETUNREACH'])
      for (const [syscall, sent] of [
        ['connect', false],
        ['read', true],
        ['write', true],
      ] as const) {
        const cause = Object.assign(new Error(`${syscall} ${code}`), { code, syscall });
        const licensing = new Licensing({
          baseUrl: 'http://gateway.invalid',
          apiKey: 'k',
          attempts: 1,
          fetch: () => Promise.reject(new TypeError('fetch failed', { cause })),
        });
        expect(await failure(licensing.assetNums.reserve({ size: 1 }))).toMatchObject({
          sent,
          cause: { cause },
        });
      }
  });

  it('the wait for an order ends with the reason why no gateway was reached', async () => {
    const licensing = await ofNothing();
    const ended = await failure(licensing.orders.placeAndWait(newOrder(), { pollMs: 10, timeoutMs: 200 }));
    expect(ended).toBeInstanceOf(OrderNotSettled);
    const { cause } = ended as { cause: GatewayUnreachable };
    expect(cause).toBeInstanceOf(GatewayUnreachable);
    // The end of the time may cut off the last attempt before its connection is refused: then nothing proves that it was not sent.
    expect(cause.sent).toBe(cause.timedOut);
  });

  it('the wait for an order goes on until a gateway is there', async () => {
    const port = await freePort();
    let attempts = 0;
    const secondCall = Promise.withResolvers<void>();
    const licensing = new Licensing({
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: 'k',
      random: () => 0,
      fetch: (...request) => {
        attempts++;
        // The third attempt is the last of one call.
        if (attempts === 4) secondCall.resolve();
        return fetch(...request);
      },
    });
    const order = newOrder();
    const waiting = licensing.orders.placeAndWait(order, { pollMs: 10 });
    await secondCall.promise;
    const gateway = await ScriptedGateway.start(port);
    gateway.play({ status: 201, body: recordOf(order) });
    expect(await waiting).toMatchObject({ state: 'succeeded' });
    expect(gateway.requests).toHaveLength(1);
    expect(JSON.parse(gateway.requests[0]?.body ?? '')).toMatchObject({
      channelOrderId: order.channelOrderId,
    });
    await gateway.close();
  });
});

describe('in front of gateways of other versions, and of what is no gateway', () => {
  let server: ScriptedGateway;
  let licensing: Licensing;

  beforeAll(async () => {
    server = await ScriptedGateway.start();
    licensing = new Licensing({ baseUrl: `${server.url}/behind/a/path/`, apiKey: 'k', random: () => 0 });
  });
  afterAll(() => server.close());

  it('unknown fields stay, and an unknown code is a problem', async () => {
    server.play({
      status: 200,
      body: { items: [], page: 1, pageSize: 1, total: 0, totalPages: 0, mood: 'good' },
    });
    expect(await licensing.assets.list(HARBOUR)).toHaveProperty('mood', 'good');
    expect(server.requests[0]?.url).toBe('/behind/a/path/v1/enterprises/ent-harbour/assets');

    server.play(problem(418, 'teapot', { outcome: 'brewed', colour: 'red' }));
    const refused = await failure(licensing.assets.list(HARBOUR));
    expect(isProblem(refused) && refused.code).toBe('teapot');
    expect(refused).toMatchObject({
      outcome: 'brewed',
      retryable: false,
      requestId: 'of-the-gateway',
      errors: [],
      conflicts: [],
      fields: [],
    });
    server.play(problem(410, 'events-expired', { oldest: 'a-cursor' }));
    expect(await failure(licensing.events.list({ after: 'an-older-one' }))).toMatchObject({
      code: 'events-expired',
      oldest: 'a-cursor',
    });
    // One that lacks what newer ones have does not sound better than it is.
    const headers = { 'content-type': 'application/problem+json; charset=utf-8' };
    server.play({ status: 500, body: { code: 'internal-error' }, headers });
    const bare = { outcome: 'unknown', retryable: false, title: 'internal-error', attempts: 1 };
    expect(await failure(licensing.assets.list(HARBOUR))).toMatchObject(bare);
  });

  it('an answer that is none of the gateway says nothing of what happened', async () => {
    for (const act of [
      { status: 200, text: '<html>Welcome</html>' },
      { status: 502, body: { error: 'bad gateway' } },
      { status: 502, body: { code: 'BadGateway', message: 'no answer', retryable: 'no' } },
      { status: 403, body: { code: 'AccessDenied', errors: null } },
      { status: 503, text: 'upstream connect error', headers: { 'retry-after': '1' } },
      { status: 200, text: '' },
    ]) {
      server.play(act);
      const failed = await failure(licensing.locks.disable({ ...HARBOUR, assetNums: ['1'] }));
      expect(failed).toBeInstanceOf(GatewayUnreachable);
      expect(failed).toMatchObject({ status: act.status, sent: true, attempts: 1 });
      expect(server.requests).toHaveLength(1);
    }
  });

  it('a page of a load balancer is no file, no rows and no stream of events', async () => {
    const page = {
      status: 200,
      text: '<!doctype html><title>Log in</title>',
      headers: { 'content-type': 'text/html; charset=utf-8' },
    };
    const listen = async () => {
      const told = Promise.withResolvers<never>();
      const onOpen = () => told.reject(new Error('It listens to a page'));
      const end = new AbortController();
      const watch = licensing.events.each({}, { signal: end.signal, onOpen, onRetry: told.reject });
      return Promise.race([told.promise, watch.next()]).finally(() => end.abort());
    };
    for (const read of [
      () => licensing.members.export(HARBOUR),
      () => licensing.jobs.follow('job').rows().next(),
      listen,
    ]) {
      server.play(page, page);
      expect(await failure(read())).toMatchObject({ name: 'GatewayUnreachable', status: 200, sent: true });
    }
  });

  it('a problem has lists, whatever a server in between makes of them', async () => {
    for (const errors of [null, {}, 'none', [null]]) {
      server.play(problem(400, 'validation-failed', { errors, conflicts: errors, fields: null }));
      const refused = await failure(licensing.assets.list(HARBOUR));
      expect(isProblem(refused, 'validation-failed')).toBe(true);
      expect(refused).toMatchObject({ errors: [], conflicts: [], fields: [] });
    }
  });

  it('a problem says when a budget begins anew, and where the thing is that it is about', async () => {
    const resetsAt = '2027-01-01T00:00:00.000Z';
    server.play(problem(403, 'budget-exhausted', { resetsAt }));
    expect(await failure(licensing.orders.place(newOrder()))).toMatchObject({ resetsAt });
    const location = '/v1/jobs/job-1';
    server.play(problem(409, 'import-in-progress', {}, { location }));
    expect(await failure(licensing.members.import(HARBOUR, 'account'))).toMatchObject({ location });
  });

  it('a problem names the faulty parameters in its message, the first three of them', async () => {
    const errors = [
      { parameter: 'pageSize', detail: 'must be at most 1000' },
      { pointer: '/items/0', detail: 'is required' },
      { row: 3, column: 'account', detail: 'must be given' },
      { row: 4, detail: 'must have 3 cells' },
    ];
    server.play(problem(400, 'validation-failed', { errors, detail: 'The request is wrong.' }));
    expect(await failure(licensing.assets.list(HARBOUR))).toMatchObject({
      message:
        'validation-failed: The request is wrong.; pageSize must be at most 1000; /items/0 is required; ' +
        'row 3, account must be given; and 1 more (listAssets, request of-the-gateway)',
    });
  });

  it('the wait for an order takes no record of another order', async () => {
    const order = newOrder();
    const item = { orderType: 'delete_asset', enterpriseGlobalId: null, sequence: 1 };
    for (const over of [
      { channelOrderId: 'another' },
      { items: [] },
      { items: [item] },
      { items: undefined },
    ]) {
      // Another process has the number at first; then it is released, and taken by an order of a third.
      server.play(
        problem(409, 'request-in-progress', { outcome: 'unknown' }),
        { status: 200, body: recordOf(order, { state: 'sending' }) },
        { status: 200, body: recordOf(order, over) },
      );
      const ended = await failure(licensing.orders.placeAndWait(order, { pollMs: 10 }));
      expect(ended).toBeInstanceOf(OrderNotSettled);
      expect(ended).toMatchObject({
        record: { state: 'sending' },
        message: `The record of crm ${order.channelOrderId} is of another order`,
      });
      expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'GET']);
    }
  });

  it('the wait for an order knows its record in states in which the gateway keeps no items', async () => {
    const order = newOrder();
    const ended = (state: string) => ({ status: 200, body: recordOf(order, { state, items: [] }) });
    // Another process holds the number at first.
    const begun = problem(409, 'request-in-progress', { outcome: 'unknown' });
    const wait = () => licensing.orders.placeAndWait(order, { pollMs: 10 });

    server.play(begun, ended('rejected'), problem(422, 'upstream-rejected'));
    expect(isProblem(await failure(wait()), 'upstream-rejected')).toBe(true);
    server.play(begun, ended('not_sent'), { status: 201, body: recordOf(order) });
    expect(await wait()).toMatchObject({ state: 'succeeded' });
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'GET', 'POST']);
    server.play(begun, ended('cancelled'));
    expect(await wait()).toMatchObject({ state: 'cancelled' });
  });

  it('the wait for an order that may be placed does not take the refusal of a later call for the end of the order', async () => {
    const order = newOrder();
    const forbidden = problem(403, 'forbidden');
    for (const [first, refusal] of [
      ['cut', forbidden],
      ['cut', problem(401, 'unauthenticated')],
      [{ status: 202, body: recordOf(order, { state: 'accepted' }) }, forbidden],
      [problem(502, 'outcome-unknown', { outcome: 'unknown' }), forbidden],
    ] as const) {
      // The client itself repeats an order whose answer is lost, and so does the wait.
      server.play(...(first === 'cut' ? (['cut', 'cut', 'cut'] as const) : [first]), refusal);
      const ended = await failure(licensing.orders.placeAndWait(order, { pollMs: 10 }));
      expect(ended).toBeInstanceOf(OrderNotSettled);
      expect(ended).toMatchObject({
        order: { channelOrderId: order.channelOrderId },
        cause: { outcome: 'not_processed' },
      });
    }

    // The platform's refusal is of the order itself. One before which nothing was sent is the end too.
    const rejected = problem(422, 'upstream-rejected');
    server.play('cut', 'cut', 'cut', rejected);
    expect(isProblem(await failure(licensing.orders.placeAndWait(order, { pollMs: 10 })))).toBe(true);
    server.play(problem(503, 'overloaded', RETRYABLE), forbidden);
    expect(isProblem(await failure(licensing.orders.placeAndWait(order, { pollMs: 10 })), 'forbidden')).toBe(
      true,
    );
  });

  it('the wait for an order ends at once where the gateway wants a longer one', async () => {
    const order = newOrder();
    const wait = () => failure(licensing.orders.placeAndWait(order, { timeoutMs: 5_000 }));
    const later = problem(503, 'maintenance', RETRYABLE, { 'retry-after': '3600' });
    server.play(later);
    expect(await wait()).toMatchObject({ code: 'maintenance', retryAfterMs: 3_600_000 });
    expect(server.requests).toHaveLength(1);
    // The order may be placed already.
    server.play(problem(502, 'outcome-unknown', { outcome: 'unknown' }), later);
    const ended = await wait();
    expect(ended).toBeInstanceOf(OrderNotSettled);
    expect(ended).toMatchObject({ cause: { code: 'maintenance' } });
    expect(server.requests).toHaveLength(2);
  });

  it('the wait for an order asks again where no answer comes for a minute', async () => {
    const order = newOrder();
    let seconds = 0;
    await withTimersByHand(async () => {
      const accepted = { status: 202, body: recordOf(order, { state: 'accepted' }) };
      server.play('silence', accepted, 'silence', { status: 200, body: recordOf(order) });
      const waiting = licensing.orders.placeAndWait(order, { pollMs: 10 });
      await until('it has asked four times', async () => {
        await jest.advanceTimersByTimeAsync(5_000);
        seconds += 5;
        return server.requests.length === 4;
      });
      expect(await waiting).toMatchObject({ state: 'succeeded' });
    });
    expect(server.requests.map(({ method }) => method)).toEqual(['POST', 'POST', 'GET', 'GET']);
    expect(seconds).toBeLessThan(180);
  });

  it('a token that does not come ends with the call, and hides no lost answer', async () => {
    const none = new Promise<string>(() => undefined);
    const waiting = new Licensing({ baseUrl: server.url, token: () => none });
    server.play();
    expect(await failure(waiting.callers.me({}, { timeoutMs: 50 }))).toMatchObject({
      timedOut: true,
      sent: false,
      message: expect.stringMatching(/^No token in time/),
    });
    const reason = new Error('the caller went away');
    const aborted = new AbortController();
    const call = failure(waiting.callers.me({}, { signal: aborted.signal }));
    aborted.abort(reason);
    expect(await call).toBe(reason);
    expect(server.requests).toEqual([]);

    const given = [() => 'a-token', () => Promise.reject(new TypeError('the issuer is away'))];
    const losing = new Licensing({
      baseUrl: server.url,
      token: () => given.shift()?.() ?? '',
      random: () => 0,
    });
    server.play('cut');
    const lost = await failure(losing.orders.place(newOrder()));
    expect(lost).toBeInstanceOf(GatewayUnreachable);
    expect(lost).toMatchObject({ sent: true, attempts: 1 });
  });

  it('an unchanged read is what its ETag is of, also where the room for reads was needed meanwhile', async () => {
    const read = (etag: string, size = 1) => ({
      status: 200,
      body: { items: [etag.repeat(size)] },
      headers: { etag },
    });
    let meanwhile = () => Promise.resolve<unknown>(undefined);
    const small = new Licensing({
      baseUrl: server.url,
      apiKey: 'k',
      keepReads: 200,
      fetch: async (...request) => {
        const first = meanwhile;
        meanwhile = () => Promise.resolve();
        await first();
        return fetch(...request);
      },
    });
    server.play(read('"one"'));
    const one = { items: ['"one"'] };
    expect(await small.assets.list(HARBOUR)).toEqual(one);
    // A parallel read of the same list gets newer content from another replica.
    meanwhile = () => small.assets.list(HARBOUR);
    server.play(read('"two"'), { status: 304, headers: { etag: '"one"' } });
    const unchanged = await small.assets.list(HARBOUR);
    expect([unchanged, responseOf(unchanged)?.etag]).toEqual([one, '"one"']);
    // A parallel read of another list needs the whole room.
    meanwhile = () => small.assets.list({ ...HARBOUR, page: 2 });
    server.play(read('"other"', 30), { status: 304, headers: { etag: '"two"' } });
    expect(await small.assets.list(HARBOUR)).toEqual({ items: ['"two"'] });
    expect(server.requests.map(({ headers }) => headers['if-none-match'])).toEqual([undefined, '"two"']);
  });

  it('rows come as fast as they are read, also in many pieces, and a line without end is given up', async () => {
    const rows = Array.from({ length: 20_000 }, (_, index) => ({ row: index + 1, account: `a${index}` }));
    server.play({ status: 200, text: rows.map((row) => `${JSON.stringify(row)}\r\n`).join('') });
    let count = 0;
    for await (const { row } of licensing.jobs.follow('job').rows()) if (row === count + 1) count++;
    expect(count).toBe(rows.length);

    server.play({ status: 200, text: 'x'.repeat(3 * 1024 * 1024) });
    await expect(licensing.jobs.follow('job').rows().next()).rejects.toThrow('A line of more than');
  });

  it('an event whose text has the line separators of Unicode comes like any other', async () => {
    const event = { id: '7', data: { reason: 'seen\u2028there\u2029' } };
    // Older gateways do not escape them.
    server.play({ status: 200, text: `id: 7\ndata:${JSON.stringify(event)}\n\n` });
    const onRetry = (why: Error) => {
      throw why;
    };
    expect(await licensing.events.each({}, { onRetry }).next()).toEqual({ done: false, value: event });
  });

  it('rows that break off reject with the problem of their last line, or as a lost connection', async () => {
    const row = { row: 1, account: 'a', status: 'failed' };
    const { body } = problem(503, 'dependency-unavailable', { retryable: true, requestId: undefined }) as {
      body: object;
    };
    const broken = (...more: object[]) => ({
      status: 200,
      headers: { 'x-request-id': 'of-the-rows' },
      text: [row, ...more].map((line) => `${JSON.stringify(line)}\n`).join(''),
      end: 'cut' as const,
    });
    const read = async () => {
      const rows = licensing.jobs.follow('job').rows();
      expect(await rows.next()).toMatchObject({ value: row });
      return failure(rows.next());
    };
    server.play(broken({ problem: body }));
    const told = await read();
    expect(isProblem(told, 'dependency-unavailable')).toBe(true);
    expect(told).toMatchObject({ status: 503, operation: 'getJobRows', requestId: 'of-the-rows' });
    server.play(broken());
    const lost = await read();
    expect(lost).toBeInstanceOf(GatewayUnreachable);
    expect(lost).toMatchObject({ sent: true, operation: 'getJobRows' });
  });

  it('K47 the key does not follow a redirect', async () => {
    const other = await ScriptedGateway.start();
    server.play({ status: 307, headers: { location: `${other.url}/v1/callers/me` } });
    expect(await failure(licensing.callers.me())).toMatchObject({ name: 'GatewayUnreachable', status: 307 });
    expect(other.requests).toEqual([]);
    await other.close();
  });

  it('a POST has one Idempotency-Key for all its attempts, and another call has another', async () => {
    const reserved = { status: 201, body: { requested: 1, items: [] } };
    server.play(
      problem(503, 'overloaded', RETRYABLE),
      problem(429, 'too-many-requests', RETRYABLE),
      reserved,
      reserved,
      reserved,
    );
    await licensing.assetNums.reserve({ size: 1 });
    await licensing.assetNums.reserve({ size: 1 });
    await licensing.assetNums.reserve({ size: 1 }, { idempotencyKey: 'made-by-the-caller' });
    const keys = server.requests.map(({ headers }) => headers['idempotency-key']);
    expect(keys[0]).toMatch(/^[\w-]{16,}$/);
    expect(keys).toEqual([
      keys[0],
      keys[0],
      keys[0],
      expect.not.stringContaining(String(keys[0])),
      'made-by-the-caller',
    ]);
    expect(new Set(server.requests.slice(0, 3).map(({ body }) => body))).toEqual(new Set(['{"size":1}']));
  });

  it('an error has the Idempotency-Key of its call, with which the same write can be repeated', async () => {
    server.play('cut');
    const lost = await failure(licensing.assetNums.reserve({ size: 1 }));
    const [first] = server.requests;
    expect(lost).toMatchObject({ sent: true, idempotencyKey: first?.headers['idempotency-key'] });
    const { idempotencyKey } = lost as GatewayUnreachable;
    server.play(problem(409, 'request-in-progress', { outcome: 'unknown' }));
    const refused = await failure(licensing.assetNums.reserve({ size: 1 }, { idempotencyKey }));
    expect(refused).toMatchObject({ code: 'request-in-progress', idempotencyKey });
    server.play(problem(404, 'not-found'));
    expect(await failure(licensing.callers.me())).toMatchObject({ idempotencyKey: undefined });
  });

  it('the trace of the caller goes along, where its process has OpenTelemetry', async () => {
    server.play({ status: 200 }, { status: 200 }, { status: 200 });
    await licensing.health.live();
    const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
    const key = createContextKey('trace');
    propagation.setGlobalPropagator({
      inject: (active, carrier, setter) => setter.set(carrier, 'traceparent', String(active.getValue(key))),
      extract: (active) => active,
      fields: () => ['traceparent'],
    });
    const active = ROOT_CONTEXT.setValue(key, traceparent);
    context.setGlobalContextManager({
      active: () => active,
      with: (_, run, self, ...given) => run.call(self, ...given),
      bind: (_, target) => target,
      enable: () => context as never,
      disable: () => context as never,
    });
    await licensing.health.live();
    context.disable();
    propagation.disable();
    await licensing.health.live();
    expect(server.requests.map(({ headers }) => headers['traceparent'])).toEqual([
      undefined,
      traceparent,
      undefined,
    ]);
  });

  it('K46 a refusal after a lost answer is no proof that nothing happened', async () => {
    const refusal = problem(503, 'overloaded', RETRYABLE);
    server.play('cut', refusal, refusal);
    expect(await failure(licensing.orders.place(newOrder()))).toMatchObject({
      code: 'overloaded',
      outcome: 'unknown',
      attempts: 3,
    });
    expect(server.requests).toHaveLength(3);

    const member = { ...HARBOUR, memberGlobalId: 'm', account: 'a', name: 'A' };
    server.play(problem(502, 'outcome-unknown', { outcome: 'unknown', retryable: true }), refusal, refusal);
    expect(await failure(licensing.members.update(member))).toMatchObject({
      code: 'overloaded',
      outcome: 'unknown',
    });

    // A failed read has changed nothing.
    server.play(problem(503, 'x', { ...RETRYABLE, outcome: 'unknown' }), refusal, refusal);
    expect(await failure(licensing.assets.list(HARBOUR))).toMatchObject({ outcome: 'not_processed' });

    // Neither is there of a dry run.
    server.play(problem(502, 'outcome-unknown', { ...RETRYABLE, outcome: 'unknown' }), refusal, refusal);
    expect(await failure(licensing.members.previewUpdate(member))).toMatchObject({
      code: 'overloaded',
      outcome: 'not_processed',
      attempts: 3,
    });

    // The platform's refusal settles an order, which the gateway places once. It does not settle the attempt before it of another write.
    const rejected = problem(422, 'upstream-rejected');
    server.play('cut', rejected);
    expect(await failure(licensing.orders.place(newOrder()))).toMatchObject({ outcome: 'not_processed' });
    server.play(problem(502, 'outcome-unknown', { outcome: 'unknown', retryable: true }), rejected);
    const reset = licensing.members.resetPassword({
      ...HARBOUR,
      memberGlobalId: 'm',
      password: newSecret('m'),
    });
    expect(await failure(reset)).toMatchObject({ code: 'upstream-rejected', outcome: 'unknown' });
  });

  it('a lost answer stays sent, also where no later attempt was', async () => {
    const gone = await ScriptedGateway.start();
    gone.play('cut');
    const client = new Licensing({ baseUrl: gone.url, apiKey: 'k', random: () => 0.9 });
    const placing = failure(client.orders.place(newOrder()));
    while (gone.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 2));
    await gone.close();
    expect(await placing).toMatchObject({ sent: true, attempts: 3 });
  });

  it('silence up to the deadline ends a call as sent, and it is not made again', async () => {
    for (const call of [
      (client: Licensing) => client.assetNums.reserve({ size: 1 }, { timeoutMs: 200 }),
      (client: Licensing) => client.assets.list(HARBOUR, { timeoutMs: 200 }),
    ]) {
      // Each call has a gateway of its own: on a busy machine the request of the first may arrive during the second.
      const silent = await ScriptedGateway.start();
      silent.play('silence', 'silence');
      const client = new Licensing({ baseUrl: silent.url, apiKey: 'k' });
      expect(await failure(call(client))).toMatchObject({ timedOut: true, sent: true, attempts: 1 });
      expect(silent.requests.length).toBeLessThan(2);
      await silent.close();
    }
  });

  it('the caller ends a call with its own reason, before and during it', async () => {
    const reason = new Error('the caller went away');
    const controller = new AbortController();
    server.play('silence');
    const call = failure(licensing.assets.list(HARBOUR, { signal: controller.signal }));
    await until('the gateway has it', () => server.requests.length === 1);
    controller.abort(reason);
    expect(await call).toBe(reason);
    expect(await failure(licensing.assets.list(HARBOUR, { signal: AbortSignal.abort(reason) }))).toBe(reason);
  });

  it('the caller ends a stream with its own reason, also once it has begun', async () => {
    const reason = new Error('the caller went away');
    const controller = new AbortController();
    server.play({ status: 200, text: 'account\r\n', end: 'never' });
    const stream = await licensing.members.export(HARBOUR, { signal: controller.signal });
    const reader = stream.getReader();
    expect(new TextDecoder().decode((await reader.read()).value)).toBe('account\r\n');
    const rest = failure(reader.read());
    controller.abort(reason);
    expect(await rest).toBe(reason);
  });

  it('Retry-After is waited for, or told at once where the deadline comes before: seconds or a date', async () => {
    const limited = (retryAfter: string) =>
      problem(429, 'too-many-requests', RETRYABLE, { 'retry-after': retryAfter });
    server.play(limited('1'), { status: 200, body: { items: [] } });
    const started = performance.now();
    expect(responseOf(await licensing.assets.list(HARBOUR))?.attempts).toBe(2);
    expect(performance.now() - started).toBeGreaterThan(990);

    const told = async (retryAfter: string, client = licensing) => {
      server.play(limited(retryAfter));
      const refused = await failure(client.assets.list(HARBOUR));
      expect(refused).toMatchObject({ code: 'too-many-requests', attempts: 1, outcome: 'not_processed' });
      return (refused as Problem).retryAfterMs;
    };
    expect(await told('3600')).toBe(3_600_000);
    const date = await told(new Date(Date.now() + 3_600_000).toUTCString());
    expect(date).toBeGreaterThan(3_000_000);
    expect(date).toBeLessThanOrEqual(3_600_000);
    const once = new Licensing({ baseUrl: server.url, apiKey: 'k', attempts: 1 });
    expect(await told('soon', once)).toBeUndefined();
  });

  it('a stream that the gateway refuses for a time is opened again after Retry-After', async () => {
    await withTimersByHand(async () => {
      let requests = 0;
      const { body } = problem(503, 'overloaded', RETRYABLE) as { body: object };
      const headers = { 'content-type': 'application/problem+json', 'retry-after': '600' };
      const refusing = new Licensing({
        baseUrl: 'http://gateway',
        apiKey: 'k',
        fetch: () => {
          requests++;
          return Promise.resolve(new Response(JSON.stringify(body), { status: 503, headers }));
        },
      });
      const end = new AbortController();
      const refused = Promise.withResolvers<Error>();
      const options = { signal: end.signal, onRetry: refused.resolve };
      const watching = failure(refusing.events.each({}, options).next());
      expect(isProblem(await refused.promise, 'overloaded')).toBe(true);
      await jest.advanceTimersByTimeAsync(599_000);
      expect(requests).toBe(1);
      await until('it is opened again', async () => {
        await jest.advanceTimersByTimeAsync(1_000);
        return requests > 1;
      });
      end.abort(new Error('enough'));
      expect(await watching).toMatchObject({ message: 'enough' });
    });
  });

  it('K70 a stream that has no answer for 30 s is told once on the console, unless onRetry is there', async () => {
    const warned = jest.spyOn(console, 'warn').mockImplementation(() => undefined);
    const { setTimeout: real } = globalThis;
    const end = new AbortController();
    const options = { signal: end.signal };
    await withTimersByHand(async () => {
      const all: Promise<unknown>[] = [];
      const asked = async (onRetry?: () => void) => {
        server.play('silence');
        all.push(failure(licensing.events.each({}, { ...options, onRetry }).next()));
        await until('the gateway has it', () => server.requests.length === 1);
      };
      await asked(() => undefined);
      jest.advanceTimersByTime(50_000);
      await asked();
      jest.advanceTimersByTime(29_999);
      expect(warned).not.toHaveBeenCalled();
      jest.advanceTimersByTime(25_000);
      expect(warned.mock.calls).toEqual([
        [
          expect.stringMatching(
            /^licensing: watchEvents got no answer for 30 s \(a proxy may hold it back\), .* onRetry /,
          ),
        ],
      ]);
      end.abort(new Error('enough'));
      for (const ended of await Promise.all(all)) expect(ended).toMatchObject({ message: 'enough' });
    }).finally(() => warned.mockRestore());
    expect(globalThis.setTimeout).toBe(real);
  });

  it('K72 a stream that is silent for a minute is opened again after the last event', async () => {
    const stream = (text: string) => ({ status: 200, text, end: 'never' as const });
    const ended = JSON.stringify({ jobId: 'job', state: 'succeeded' });
    for (const watch of [
      (options: EventsOptions) => licensing.events.each({}, options).next(),
      (options: EventsOptions) => licensing.jobs.follow('job', options).done(),
    ])
      await withTimersByHand(async () => {
        const answered = stream(`id: next\ndata: ${ended}\n\n`);
        server.play(stream('id: a-cursor\n\n: nothing\n\n'), ...Array.from({ length: 20 }, () => answered));
        const opened = Promise.withResolvers<void>();
        const watching = watch({ onOpen: opened.resolve, onRetry: () => undefined });
        await opened.promise;
        await until('it is opened again', () => {
          jest.advanceTimersByTime(5_000);
          return server.requests.length > 1;
        });
        expect(server.requests.at(-1)?.headers['last-event-id']).toBe('a-cursor');
        const found = await watching;
        expect('value' in found ? found.value : found).toEqual(JSON.parse(ended));
      });
  });

  it('a watch ends with a mistake of its caller, and does not repeat it', async () => {
    server.play();
    const options = {
      onRetry: (why: Error) => {
        throw new Error(`It is repeated: ${why.message}`);
      },
    };
    for (const [message, watch] of [
      ['last-event-id cannot be in a header', () => licensing.events.each({ after: 'a\nb' }, options).next()],
      ['the option requestId', () => licensing.events.each({}, { ...options, requestId: 'ä€' }).next()],
      ['watchJob: jobId cannot be in a path', () => licensing.jobs.follow('..', options).done()],
    ] as const)
      expect([message, await failure(watch())]).toEqual([
        message,
        expect.objectContaining({ name: 'TypeError', message: expect.stringContaining(message) }),
      ]);
    expect(server.requests).toEqual([]);
  });

  it('errors of another copy of the package are recognised', async () => {
    server.play(problem(404, 'not-found'));
    const error = (await failure(licensing.callers.me())) as object;
    expect(
      isProblem(
        Object.assign(
          Object.create(null) as object,
          Object.fromEntries(Reflect.ownKeys(error).map((key) => [key, Reflect.get(error, key) as unknown])),
        ),
      ),
    ).toBe(true);
    for (const other of [null, undefined, 'text', {}, new Error('x')])
      expect([isProblem(other), isGatewayUnreachable(other)]).toEqual([false, false]);
  });
});
