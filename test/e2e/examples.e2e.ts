import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { prepareDemo } from '../../scripts/demo-state.ts';
import { scopes } from '../../src/request/scopes.ts';
import { document, type DocumentedRoute, routes } from '../support/contract.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { useSandbox } from '../support/stack.ts';

/** Everything that a reader of the API page may send by pressing its buttons, without typing. */

/** A filter that needs another one with it. */
const NEEDS: Readonly<Record<string, string>> = { channelOrderId: 'channelCode' };

type Parameter = NonNullable<DocumentedRoute['operation']['parameters']>[number];

/** One request: an operation with one of its bodies and, besides the required parameters, at most one filter. */
interface Example {
  readonly title: string;
  readonly route: DocumentedRoute;
  readonly body?: unknown;
  /** The media type of the body. */
  readonly type?: string;
  readonly filter?: Parameter;
  /** True if the request goes without the `Idempotency-Key` of the document. */
  readonly isNew?: true;
}

const examples: readonly Example[] = routes.flatMap((route) => {
  const { operation } = route;
  const { content } = operation.requestBody ?? {};
  const withBodies: Example[] = content
    ? Object.entries(content).flatMap(([type, { examples: bodies = {} }]) =>
        Object.entries(bodies).map(([name, { value }]) => ({
          title: `${operation.operationId} ${name}`,
          route,
          type,
          body: value,
        })),
      )
    : [{ title: operation.operationId, route }];
  const filters = (operation.parameters ?? []).filter(
    (parameter) =>
      parameter.in === 'query' && !parameter.required && exampleOf(parameter) !== undefined && withBodies[0],
  );
  return [
    ...withBodies,
    ...filters.map((filter) => ({
      ...(withBodies[0] as Example),
      title: `${operation.operationId} ?${filter.name}`,
      filter,
    })),
  ];
});

const THEN = Date.now() + 6 * 24 * 3_600_000;

/** Returns the example with later times, as the page moves those of a maintenance and of a scheduled order. */
function moved(example: Example): Example {
  const times = Object.entries(example.body ?? {}).filter(([name]) =>
    ['from', 'until', 'notBefore'].includes(name),
  );
  const aheadMs = THEN - Date.parse(String(times[0]?.[1]));
  const ahead = times.map(([name, time]) => [
    name,
    new Date(Date.parse(String(time)) + aheadMs).toISOString(),
  ]);
  return { ...example, body: { ...(example.body as object), ...Object.fromEntries(ahead) } };
}

function exampleOf(parameter: Parameter): unknown {
  const { example, examples: named, schema } = parameter;
  return example ?? Object.values(named ?? {})[0]?.value ?? schema?.example ?? schema?.examples?.[0];
}

describe.each([
  ['in the order of the document', examples],
  ['in reverse order', examples.toReversed()],
])('the examples of the document on a fresh demo, %s', (_, inOrder) => {
  const sandbox = useSandbox();
  let gateway: TestGateway;

  beforeAll(async () => {
    const all = { enterprises: ['*'], channels: ['*'], users: ['*'] };
    const environment = { CACHE_TTL_MS: '30000', WEBHOOK_HOSTS: '127.0.0.1', ESTATE_REFRESH: '6h' };
    gateway = await TestGateway.start(sandbox, environment, [{ name: 'demo', scopes: [...scopes], ...all }]);
    // The state is made as by `npm run demo` and `npm run compose-state`, and may be made twice.
    for (let round = 0; round < 2; round++)
      await prepareDemo({
        gatewayUrl: gateway.url,
        key: gateway.keys['demo'] ?? '',
        sandboxUrl: sandbox.url,
      });
  });
  afterAll(() => gateway.stop());

  const rounds = ['once', 'again'].flatMap((round) => inOrder.map((example) => ({ round, ...example })));
  it.each(rounds)('$title works $round', async (example) => {
    const sent = /^setMaintenance|placeOrder later/i.test(example.title) ? moved(example) : example;
    const { status, text } = await send(gateway, sent);
    // The successes do not have 207, which is a success with failures in it.
    expect([status, [200, 201, 202, 204].includes(status) ? '' : text]).toEqual([status, '']);
  });
});

async function send(
  gateway: TestGateway,
  { route, body, type, filter, isNew }: Example,
): Promise<TestAnswer> {
  const { method, template, operation } = route;
  let path = template;
  const query = new URLSearchParams();
  const headers: Record<string, string> = type === undefined ? {} : { 'content-type': type };
  for (const parameter of operation.parameters ?? []) {
    const isKey = !isNew && parameter.name === 'Idempotency-Key' && exampleOf(parameter) !== undefined;
    const isFilter = filter !== undefined && [filter.name, NEEDS[filter.name]].includes(parameter.name);
    if (!parameter.required && !isFilter && !isKey) continue;
    const value = String((await linked(gateway, operation.operationId, parameter)) ?? exampleOf(parameter));
    if (parameter.in === 'path') path = path.replace(`{${parameter.name}}`, encodeURIComponent(value));
    else if (parameter.in === 'query') query.set(parameter.name, value);
    else headers[parameter.name] = value;
  }
  // Webhooks are their caller's own.
  const options = { body, headers, key: String(gateway.keys['demo']) };
  const answer = await gateway.request(method, query.size > 0 ? `${path}?${query}` : path, options);
  // The next import of the enterprise is refused until this one has ended.
  if (answer.status === 202 && 'jobId' in answer.body)
    await gateway.get(`/v1/jobs/${String(answer.body['jobId'])}/events`);
  return answer;
}

/** The value that the response of another operation supplies, as a link of the document says. Of a list the last item counts: the demo has made it. */
async function linked(gateway: TestGateway, operationId: string, { name, in: where }: Parameter) {
  const sources = examples.flatMap((example) =>
    Object.values(example.route.operation.responses).flatMap(({ links = {} }) => {
      const link = Object.values(links).find((each) => each.operationId === operationId);
      const pointer = /^\$response\.body#\/(\S+)$/.exec(link?.parameters[`${where}.${name}`] ?? '')?.[1];
      return pointer === undefined ? [] : [{ example, pointer }];
    }),
  );
  // One that finds the value, before one that makes something.
  const source = sources.find(({ example }) => example.route.method === 'GET') ?? sources[0];
  if (!source) return undefined;
  const { body } = await send(gateway, unused(source.example));
  return source.pointer
    .split('/')
    .reduce<any>((at, each) => (Array.isArray(at) ? at.at(-1) : at?.[each]), body);
}

/** Returns the example with something new, and a member that nobody has added yet, as the page asks for it. */
function unused(example: Example): Example {
  const { members } = (example.body ?? {}) as { members?: { account: string }[] };
  if (!members) return { ...example, isNew: true };
  const [member] = members.map((each) => ({
    ...each,
    account: `${each.account}${randomBytes(6).toString('hex')}`,
  }));
  return { ...example, body: { members: [member] }, isNew: true };
}

it('every operation of the document has an example', () => {
  expect(new Set(examples.map(({ route }) => route.operation.operationId)).size).toBe(
    Object.values(document.paths).flatMap((methods) => Object.keys(methods)).length,
  );
});
