import { randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { version } from '../../src/shared/shipped-file.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { Collector, type CollectedSpan } from '../support/collector.ts';
import { order } from '../support/expected.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type RunningRedis, startRedis, until } from '../support/redis.ts';
import { credential } from '../support/settings.ts';
import { useStack } from '../support/stack.ts';

/** W3C Trace Context through the gateway, into its log and out to the platform; and its spans, sent to a collector by OTLP over HTTP. */

const CALLERS_SPAN = 'b7ad6b7169203331';
const TRACESTATE = 'congo=t61rcWkgMzE,rojo=00f067aa0ba902b7';
const ASSETS = '/v1/enterprises/ent-harbour/assets';
const FRESH = { 'cache-control': 'no-cache' };
const newTraceId = () => randomBytes(16).toString('hex');
const traced = (traceId: string, flags = '01') => ({ traceparent: `00-${traceId}-${CALLERS_SPAN}-${flags}` });

/** This gateway has no collector. The others use its files of callers and users. */
const { sandbox, gateway: plain } = useStack();

/** The trace of the test. */
let trace: string;
beforeEach(() => {
  trace = newTraceId();
});

async function lastCall(operation: string): Promise<Readonly<Record<string, string>>> {
  return (await sandbox.journal(operation)).at(-1)?.headers ?? {};
}
const lineOf = async (event: string, requestId: string) =>
  (await plain.log())
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .find((line) => line['event'] === event && line['requestId'] === requestId);

describe('without a collector', () => {
  it("a caller's trace reaches the platform with a read and with an order, and stands in the log", async () => {
    const given = { ...traced(trace), tracestate: TRACESTATE };
    const headers = { ...FRESH, ...given, 'x-request-id': 'req-1' };
    expect((await plain.get(ASSETS, { headers })).status).toBe(200);
    expect(await lastCall('listAssets')).toMatchObject({ ...given, 'x-request-id': 'req-1' });
    expect(await lineOf('request', 'req-1')).toMatchObject({ traceId: trace });

    const ordering = { ...traced(trace), 'x-request-id': 'req-2' };
    expect((await plain.post(order.path, order.body, { headers: ordering })).status).toBe(201);
    expect(await lastCall('batchOrder')).toMatchObject(ordering);
    expect(await lineOf('audit', 'req-2')).toMatchObject({ traceId: trace });
  });

  it('a trace that is not valid or absent begins at the gateway, anew for each request', async () => {
    const seen = [];
    const invalid = { traceparent: 'my-trace', tracestate: TRACESTATE };
    for (const given of [invalid, {}, {}] as Record<string, string>[]) {
      const id = `req-${newTraceId()}`;
      const headers = { ...FRESH, ...given, 'x-request-id': id };
      expect((await plain.get(ASSETS, { headers })).status).toBe(200);
      const { traceparent = '', tracestate } = await lastCall('listAssets');
      expect([traceparent, tracestate]).toEqual([
        expect.stringMatching(/^00-[\da-f]{32}-[\da-f]{16}-00$/),
        undefined,
      ]);
      expect(await lineOf('request', id)).toMatchObject({ traceId: traceparent.slice(3, 35) });
      seen.push(traceparent);
    }
    expect(new Set(seen).size).toBe(3);
  });

  it('nothing of its SDK is loaded', async () => {
    const told =
      "registerHooks({ load: (url, context, next) => (fs.writeSync(2, url + '\\n'), next(url, context)) });";
    const script = `import fs from 'node:fs'; import { registerHooks } from 'node:module'; ${told}`;
    const nodeOptions = `--import data:text/javascript,${encodeURIComponent(script)}`;
    const folder = mkdtempSync(join(tmpdir(), 'traces-'));
    // The bundle is one file, whose parts Node does not name. A pipe that this process has no time to read would be full: a file is not.
    const running = await startGatewayProcess(plain.environment(sandbox), {
      file: 'dist/main.js',
      nodeOptions,
      logFile: join(folder, 'log'),
    });
    await running.stop();
    const loaded = running.output();
    rmSync(folder, { recursive: true });
    expect(loaded).toContain('/dist/app.js\n');
    expect(loaded).not.toMatch(/^file:.*@opentelemetry\/(?!api\/)/m);
  });
});

describe('with a collector', () => {
  let redis: RunningRedis;
  let collector: Collector;
  /** Serves most tests: with the SDK a start takes seconds. */
  let gateway: GatewayProcess;
  const ENCRYPTION_KEYS = newEncryptionKey();
  const secret = credential();

  beforeAll(async () => {
    [redis, collector] = await Promise.all([startRedis(), Collector.start()]);
    gateway = await start();
  });
  beforeEach(() => {
    collector.status = 200;
  });
  afterAll(async () => {
    await gateway.stop();
    collector.close();
    await redis.stop();
  });

  const start = (more: Record<string, string> = {}) =>
    startGatewayProcess({
      ...plain.environment(sandbox),
      ...collector.environment,
      REDIS_URL: redis.url,
      ENCRYPTION_KEYS,
      OTEL_EXPORTER_OTLP_HEADERS: `authorization=Bearer%20${secret}`,
      ...more,
    });

  function ask(
    { url }: GatewayProcess,
    path: string,
    headers: Record<string, string>,
    body?: unknown,
  ): Promise<Response> {
    return fetch(url + path, {
      headers: { 'x-api-key': plain.key, 'content-type': 'application/json', ...headers },
      ...(body !== undefined && { method: 'POST', body: JSON.stringify(body) }),
    });
  }

  /** The spans of the trace once the request's own, which ends last, is there. */
  async function spansOf(traceId: string): Promise<CollectedSpan[]> {
    await until('the request has its span', () => collector.ofTrace(traceId).some(({ kind }) => kind === 2));
    return collector.ofTrace(traceId);
  }

  const named = (spans: readonly CollectedSpan[], name: string) => spans.filter((span) => span.name === name);

  it("an order is one connected trace, from the caller's span to the platform's", async () => {
    expect((await ask(gateway, order.path, traced(trace), order.body)).status).toBe(201);
    const spans = await spansOf(trace);
    const [request] = spans.filter(({ kind }) => kind === 2);
    expect(request).toMatchObject({
      name: 'POST /v1/license-orders',
      parentSpanId: CALLERS_SPAN,
      attributes: {
        'http.request.method': 'POST',
        'http.route': '/v1/license-orders',
        'http.response.status_code': 201,
        'gateway.operation': 'placeOrder',
      },
    });
    const ids = new Set(spans.map(({ spanId }) => spanId));
    for (const span of spans) if (span !== request) expect(ids).toContain(span.parentSpanId);
    const names = spans.map(({ name }) => name);
    expect(names).toEqual(
      expect.arrayContaining(['token wait', 'token request', 'ledger begin', 'ledger move', 'redis']),
    );
    const attempt = spans.find(({ attributes }) => attributes['gateway.upstream.operation'] === 'batchOrder');
    expect(attempt?.attributes).toMatchObject({
      'gateway.upstream.outcome': 'success',
      'gateway.upstream.code': '0',
      'gateway.upstream.sent': true,
      'http.response.status_code': 200,
    });
    const [call] = await sandbox.journal('batchOrder');
    expect(call?.headers['traceparent']).toBe(`00-${trace}-${attempt?.spanId}-01`);
    expect(collector.resource).toMatchObject({
      'service.name': 'licensing-gateway',
      'service.version': version,
    });
    expect(collector.resource).not.toHaveProperty('process.command_args');
  });

  it('the calls of an import are traces of their own, linked to the request that wanted it', async () => {
    const file = ['account,password,name,departmentId', `traced1,${newSecret('m')},Name 1,10`, ''].join(
      '\r\n',
    );
    const taken = await fetch(`${gateway.url}/v1/enterprises/ent-harbour/member-imports`, {
      method: 'POST',
      headers: { 'x-api-key': plain.key, 'content-type': 'text/csv', ...traced(trace) },
      body: file,
    });
    expect(taken.status).toBe(202);
    const request = (await spansOf(trace)).find(({ kind }) => kind === 2);
    const linked = () =>
      named(collector.spans, 'import').filter(({ links = [] }) =>
        links.some(({ traceId, spanId }) => traceId === trace && spanId === request?.spanId),
      );
    const attemptOf = (operation: string) =>
      linked()
        .flatMap(({ traceId }) => collector.ofTrace(traceId))
        .find(({ attributes }) => attributes['gateway.upstream.operation'] === operation);
    await until('the members have their span', () => attemptOf('addMembers') !== undefined);
    const [call] = await sandbox.journal('addMembers');
    const { traceId, spanId } = attemptOf('addMembers') as CollectedSpan;
    expect(traceId).not.toBe(trace);
    expect(call?.headers['traceparent']).toBe(`00-${traceId}-${spanId}-01`);
    // The attempt is exported when the rows are recorded, after the call.
    await until('the attempt leads to the request', () =>
      linked().some((span) => span.traceId === traceId && !span.parentSpanId),
    );
    expect(attemptOf('listMembers')).toBeDefined();
    expect(JSON.stringify(collector.spans)).not.toContain('traced1');
  });

  it('a refusal of the platform marks its attempt as failed, with the code', async () => {
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { code: '13004' } });
    expect((await ask(gateway, ASSETS, traced(trace))).status).toBe(422);
    const spans = await spansOf(trace);
    const attempt = spans.find(({ attributes }) => attributes['gateway.upstream.operation'] === 'listAssets');
    expect(attempt).toMatchObject({
      status: 2,
      attributes: {
        'error.type': 'refused',
        'gateway.upstream.code': '13004',
        'gateway.upstream.sent': true,
      },
    });
    expect(spans.find(({ kind }) => kind === 2)).toMatchObject({
      status: 0,
      attributes: { 'error.type': 'upstream-rejected', 'http.response.status_code': 422 },
    });
  });

  it('requests at the same time keep their spans apart', async () => {
    const ids = Array.from({ length: 6 }, newTraceId);
    await Promise.all(ids.map((id) => ask(gateway, ASSETS, { ...traced(id), 'cache-control': 'no-cache' })));
    for (const id of ids) {
      const spans = await spansOf(id);
      const own = new Set(spans.map(({ spanId }) => spanId));
      const strangers = spans.filter(({ kind, parentSpanId = '' }) => kind !== 2 && !own.has(parentSpanId));
      expect(strangers).toEqual([]);
    }
    const calls = await sandbox.journal('listAssets');
    expect(new Set(calls.map(({ headers }) => headers['traceparent'])).size).toBe(calls.length);
  });

  it('a trace that its caller does not collect is passed on, and has no spans', async () => {
    await ask(gateway, ASSETS, { ...traced(trace, '00'), 'cache-control': 'no-cache' });
    const [call] = await sandbox.journal('listAssets');
    expect(call?.headers['traceparent']).toMatch(new RegExp(`^00-${trace}-[\\da-f]{16}-00$`));
    const later = newTraceId();
    await ask(gateway, ASSETS, { ...traced(later), 'cache-control': 'no-cache' });
    await spansOf(later);
    expect(collector.ofTrace(trace)).toEqual([]);
  });

  it('no span has an id, a query or a body of the request', async () => {
    await ask(gateway, `${ASSETS}?page=1`, traced(trace));
    await ask(gateway, order.path, traced(trace), order.body);
    await until(
      'both are there',
      () => collector.ofTrace(trace).filter(({ kind }) => kind === 2).length === 2,
    );
    const all = JSON.stringify([collector.spans, collector.resource]);
    const { channelOrderId } = order.body as { channelOrderId: string };
    for (const id of ['ent-harbour', channelOrderId, 'g_nonce', 'page=', plain.key])
      expect(all).not.toContain(id);
  });

  it('one that refuses spans disturbs no request, is logged once, and its headers are masked', async () => {
    collector.status = 400;
    expect((await ask(gateway, ASSETS, traced(trace))).status).toBe(200);
    await until('it was logged', () => gateway.output().includes('"event":"tracing"'));
    expect(collector.headers.at(-1)).toMatchObject({ authorization: `Bearer ${secret}`, url: '/v1/traces' });
    expect(gateway.output()).not.toContain(secret);
  });

  it('spans that wait are sent at the end of the process', async () => {
    const running = await start({ OTEL_BSP_SCHEDULE_DELAY: '60000' });
    await ask(running, ASSETS, traced(trace));
    expect(collector.ofTrace(trace)).toEqual([]);
    await running.stop();
    expect(await running.ended).toBe(0);
    expect(named(collector.ofTrace(trace), 'GET /v1/enterprises/:enterpriseGlobalId/assets')).toHaveLength(1);
  });

  it('the variables of OpenTelemetry set sampling, limits and names; without a protocol the gateway sends Protobuf', async () => {
    const running = await start({
      OTEL_EXPORTER_OTLP_PROTOCOL: '',
      OTEL_TRACES_SAMPLER: 'parentbased_traceidratio',
      OTEL_TRACES_SAMPLER_ARG: '0',
      OTEL_SPAN_ATTRIBUTE_COUNT_LIMIT: '1',
      OTEL_SERVICE_NAME: 'a-gateway',
      OTEL_RESOURCE_ATTRIBUTES: 'team=a-team',
      OTEL_NODE_RESOURCE_DETECTORS: 'env,os',
      OTEL_BSP_SCHEDULE_DELAY: '-1',
    });
    await ask(running, ASSETS, FRESH);
    await ask(running, order.path, traced(trace), order.body);
    await running.stop();
    expect(collector.headers.at(-1)).toMatchObject({
      'content-type': 'application/x-protobuf',
      url: '/v1/traces',
    });
    for (const text of [
      ...['POST /v1/license-orders', 'http.request.method', 'a-gateway'],
      ...['team', 'a-team', 'os.type', 'service.version'],
    ])
      expect(collector.protobuf).toContain(text);
    for (const text of ['/assets', 'gateway.operation', 'host.name', 'service.instance.id'])
      expect(collector.protobuf).not.toContain(text);
    expect(running.output()).toContain('OTEL_BSP_SCHEDULE_DELAY must be a number above 0');
  });

  it.each([
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'http/protobuf, http/json'],
    ['OTEL_EXPORTER_OTLP_TRACES_PROTOCOL', 'grpc', 'http/protobuf, http/json'],
    ['OTEL_TRACES_EXPORTER', 'zipkin', 'otlp, none'],
  ])('%s with a way that the gateway does not have stops the start: %s', async (variable, word, allowed) => {
    await expect(start({ [variable]: word })).rejects.toThrow(`${variable} must be one of ${allowed}`);
  });

  it.each([
    [
      'OTEL_EXPORTER_OTLP_TRACES_ENDPOINT',
      (word: string) => `https://collector.example:99999/?token=${word}`,
    ],
    ['OTEL_EXPORTER_OTLP_TRACES_ENDPOINT', (word: string) => `ftp://collector.example/${word}`],
    ['OTEL_EXPORTER_OTLP_HEADERS', (word: string) => `authorization ${word}`],
    ['OTEL_EXPORTER_OTLP_TRACES_HEADERS', (word: string) => `a=b,two words=${word}`],
  ])('%s in another form stops the start, and its value is not printed (%#)', async (variable, valueOf) => {
    const word = newSecret('t');
    const failure: unknown = await start({ [variable]: valueOf(word) }).catch((error: unknown) => error);
    expect(String(failure)).toContain(`${variable} must be`);
    expect(String(failure)).not.toContain(word);
  });

  it('the log names variables with a value that OpenTelemetry cannot use, and never the value', async () => {
    const word = newSecret('t');
    const names = [
      'TRACES_SAMPLER_ARG',
      'EXPORTER_OTLP_COMPRESSION',
      'EXPORTER_OTLP_TIMEOUT',
      'BSP_MAX_QUEUE_SIZE',
    ];
    const running = await start({
      ...Object.fromEntries(names.map((name) => [`OTEL_${name}`, word])),
      OTEL_TRACES_SAMPLER: 'traceidratio',
    });
    await running.stop();
    for (const name of names) expect(running.output()).toMatch(new RegExp(`"said":"OTEL_${name} `));
    expect(running.output()).not.toContain(word);
  });

  it('no spans are sent where OpenTelemetry is switched off, and a trace is passed on', async () => {
    const before = collector.headers.length;
    const running = await start({ OTEL_SDK_DISABLED: 'true' });
    await ask(running, ASSETS, { ...traced(trace), ...FRESH });
    await running.stop();
    expect((await lastCall('listAssets'))['traceparent']).toBe(`00-${trace}-${CALLERS_SPAN}-01`);
    expect(collector.ofTrace(trace)).toEqual([]);
    expect(collector.headers).toHaveLength(before);
  });
});
