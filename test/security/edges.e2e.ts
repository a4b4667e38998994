import { once } from 'node:events';
import { globSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';
import { newSecret } from '../support/canary.ts';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { orderOf } from '../support/order-body.ts';
import { converse } from '../support/raw-client.ts';
import { ask, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** What throws outside of every handler: nothing above it would catch, so each such function is an edge (src/shared/edge.ts). */

const TIMERS = new Set(['setTimeout', 'setInterval', 'setImmediate', 'queueMicrotask', 'createServer']);
const LISTENING = new Set(['on', 'once', 'addListener', 'addEventListener', 'inNextTurn', 'later']);
/** Functions that are no edge, each with the reason. */
const NO_EDGE: Readonly<Record<string, string>> = {
  'src/http/shutdown.ts': 'they end the process, and are what an uncaught fault comes to',
  'src/observability/log.ts': 'the log cannot log its own faults; its writes catch them',
  'src/token/token.manager.ts setTimeout': 'settles a promise and nothing else',
  'src/observability/management.listener.ts once': 'settles the promise of the start',
};

interface Callback {
  readonly file: string;
  readonly called: string;
  readonly isEdge: boolean;
}

/** All functions of the product that Node calls: of timers, of events and of promises for which no code waits. */
function scan(): Callback[] {
  const callbacks: Callback[] = [];
  for (const file of globSync('src/**/*.ts').filter((path) => !path.endsWith('.spec.ts'))) {
    const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true);
    const edges = new Set<string>();
    const isEdgeCall = (node: ts.Node | undefined): boolean =>
      node !== undefined && ts.isCallExpression(node) && node.expression.getText() === 'edge';
    const visit = (node: ts.Node, seen: (each: ts.Node) => void): void => {
      seen(node);
      node.forEachChild((child) => visit(child, seen));
    };
    visit(source, (node) => {
      const isNamed = ts.isVariableDeclaration(node) || ts.isPropertyDeclaration(node);
      if (isNamed && isEdgeCall(node.initializer)) edges.add(node.name.getText());
    });
    visit(source, (node) => {
      if (ts.isVoidExpression(node) && ts.isCallExpression(node.expression)) {
        const text = node.expression.getText();
        if (!text.includes('.catch(') && !/^(reply|request)\b|^setTimeout/.test(text))
          callbacks.push({ file, called: `void ${text}`, isEdge: false });
      }
      if (!ts.isCallExpression(node)) return;
      const isMethod = ts.isPropertyAccessExpression(node.expression);
      const called = isMethod ? node.expression.name.text : node.expression.getText();
      const [first, second] = node.arguments;
      if (!first || !(isMethod ? LISTENING : TIMERS).has(called)) return;
      const isOfEvents = ['on', 'once', 'addListener', 'addEventListener'].includes(called);
      // Another method of that name.
      if (isOfEvents && !ts.isStringLiteral(first)) return;
      const callback = isOfEvents ? second : first;
      if (!callback) return;
      const isEdge = isEdgeCall(callback) || edges.has(callback.getText().replace(/^this\./, ''));
      callbacks.push({ file, called, isEdge });
    });
  }
  return callbacks;
}

const ASSETS = '/v1/enterprises/ent-harbour/assets';

describe('S22 what Node calls', () => {
  const callbacks = scan();
  const sandbox = useSandbox();
  let fleet: Fleet;
  let gateway: GatewayProcess;

  beforeAll(async () => {
    fleet = await Fleet.start(sandbox, 1, {
      how: {
        nodeOptions: `--no-warnings --import ${new URL('../support/fault-edges.ts', import.meta.url).href}`,
      },
      environment: { CACHE_TTL_MS: '1000', UPSTREAM_DEADLINE_MS: '3000' },
      caller: { rateLimit: { requests: 1_000_000, perSeconds: 3_600 } },
    });
    gateway = fleet.gateways[0] as GatewayProcess;
  });
  afterAll(() => fleet.stop());

  it('is an edge, everywhere in the product, and is excepted nowhere for nothing', () => {
    expect(callbacks.filter(({ isEdge }) => isEdge).length).toBeGreaterThan(40);
    const excepted = new Set<string>();
    const bare = callbacks.flatMap(({ isEdge, file, called }) => {
      const exception = [file, `${file} ${called}`].find((each) => each in NO_EDGE);
      if (!isEdge && exception) excepted.add(exception);
      return isEdge || exception ? [] : [`${file}: ${called}`];
    });
    expect(bare).toEqual([]);
    expect([...excepted].toSorted()).toEqual(Object.keys(NO_EDGE).toSorted());
  });

  const arm = async (...edges: string[]): Promise<void> => {
    const armed = once(gateway.child, 'message');
    gateway.child.send(edges);
    await armed;
  };
  const linesOf = (at: string): string[] =>
    gateway
      .output()
      .split('\n')
      .filter((line) => line.includes('"event":"fault"') && line.includes(`"at":${JSON.stringify(at)}`));
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(gateway.url + path, { headers: { 'x-api-key': fleet.key, ...headers } });
  const upload = () =>
    fetch(`${gateway.url}/v1/enterprises/ent-harbour/member-imports`, {
      method: 'POST',
      headers: { 'x-api-key': fleet.key, 'content-type': 'text/csv' },
      body: `account,password,name\nedge${Date.now()},${newSecret('m')},Edge`,
    });
  let orders = 0;
  const order = () => fleet.post(0, '/v1/license-orders', orderOf(`SO-edge-${orders++}`));
  const restartConnections = () =>
    ask(fleet.redis, async (client) => client.call('CLIENT', 'KILL', 'TYPE', 'normal', 'SKIPME', 'yes'));

  const READ = ['cache', 'end of a request', 'rates', 'redis commands'];
  const ORDER = ['body', 'order connection'];
  /** What brings the work of an edge about; the rare ones are the same function around other work. */
  const scenes: Readonly<Record<string, () => Promise<unknown>>> = {
    ...Object.fromEntries([...READ, 'redis timeouts', 'request'].map((at) => [at, () => get(ASSETS)])),
    ...Object.fromEntries(ORDER.map((at) => [at, order])),
    'abandoned read': () => get('/v1/callers/me'),
    'bad request': () => converse(gateway.url, 'NO HTTP\r\n\r\n', { patienceMs: 500 }),
    connections: () => converse(gateway.url, '', { after: (socket) => socket.end() }),
    deadline: async () => {
      await sandbox.fault({ operation: 'listAssets', times: 1, action: { delayMs: 3_500 } });
      await get(ASSETS, { 'cache-control': 'no-cache' });
    },
    jobs: upload,
    // The gateway gives up a stranger that does not go on after two seconds.
    'lingering connection': () =>
      converse(gateway.url, 'POST /v1/license-orders HTTP/1.1\r\nHost: x\r\nContent-Length: 90\r\n\r\n{'),
    'log of a request': () => get('/health/live'),
    'management request': () => fetch(`${gateway.managementUrl}/console/console.js`),
    redis: restartConnections,
    'redis is back': restartConnections,
  };
  const BY_THEMSELVES = [
    ...['look at the database', 'leases of reconciliation', 'order ledger', 'overload', 'redis check'],
    'watched file',
  ];
  /** These scenes take until the end of a time limit, so the others of the group have their time, too. */
  const SLOW = ['deadline'];
  const QUICK = Object.keys(scenes).filter((at) => !SLOW.includes(at));
  it.each([[...BY_THEMSELVES, ...SLOW], ...QUICK.map((at) => [at])].map((each) => [each]))(
    'may throw: %j: one line of the log has the message, and the gateway goes on',
    async (edges) => {
      const before = edges.map((at) => linesOf(at).length);
      await arm(...edges);
      await until(`the edges have thrown: ${edges.join()}`, async () => {
        // The fault may cost this request, or break its connection.
        const left = () => edges.filter((at, index) => linesOf(at).length === before[index]);
        for (const at of left()) await scenes[at]?.().catch(() => undefined);
        return left().length === 0;
      });
      for (const [index, at] of edges.entries()) {
        const lines = linesOf(at).slice(before[index]);
        expect(lines.map((line) => JSON.parse(line) as object)).toMatchObject([
          {
            level: 'error',
            error: 'RangeError',
            message: `made at the edge: ${at}`,
            stack: expect.stringMatching(/^    at .*\/src\/[\w/-]+\.ts:\d+:\d+\)?$/m),
          },
        ]);
      }
      // The gateway recovers at once, and not at the end of a time limit.
      await until('the gateway is ready, and a read and an order succeed', async () => {
        const signal = AbortSignal.timeout(5_000);
        const read = await fetch(gateway.url + ASSETS, { headers: { 'x-api-key': fleet.key }, signal });
        const statuses = [(await get('/health/ready')).status, read.status, (await order()).status];
        return statuses.join() === '200,200,201';
      });
      expect(gateway.child.exitCode).toBeNull();
      expect(gateway.output()).not.toMatch(/"event":"(uncaught-exception|unhandled-rejection)"/);
    },
  );

  it.each([
    ['request', () => gateway.url + ASSETS],
    ['management request', () => `${gateway.managementUrl}/metrics`],
  ])('may throw: %s: it gets 500 in problem+json', async (at, url) => {
    await arm(at);
    const response = await fetch(url(), { headers: { 'x-api-key': fleet.key } });
    expect(response.status).toBe(500);
    expect(response.headers.get('content-type')).toMatch(/^application\/problem\+json/);
    expect(await response.json()).toMatchObject({ code: 'internal-error', status: 500 });
  });
});
