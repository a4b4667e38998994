import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newSecret } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { TestGateway } from '../support/gateway.ts';
import { type OperationCase, operationCases, send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { refusalCodes } from '../support/upstream-codes.ts';
import { AliasUsers } from '../../src/session/alias-users.ts';
import { type Effect, operations } from '../../src/upstream/operations.ts';
import { UpstreamFailure } from '../../src/upstream/upstream-failure.ts';

let sandbox: TestSandbox;
let gateway: TestGateway;
const { ended } = endings();

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  gateway = await TestGateway.start(sandbox);
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await gateway.stop();
  await sandbox.close();
});

interface Expected {
  readonly status: number;
  readonly code: string;
  readonly outcome: string;
  readonly retryable: boolean;
  /** How many calls the platform gets. */
  readonly attempts: number;
}

const refusal = (status: number, code: string): Expected => ({
  status,
  code,
  outcome: 'not_processed',
  retryable: false,
  attempts: 1,
});
/** What a code means after an operation of this effect. */
function expectedFor(code: string, effect: Effect): Expected {
  const read = effect === 'read';
  const known = refusalCodes.find((each) => each.code === code);
  if (known) return refusal(known.status, known.slug);
  switch (code) {
    case '60000':
      return { ...refusal(502, 'upstream-credential-rejected'), attempts: 2 };
    case '70001':
      return {
        ...refusal(502, 'upstream-credential-rejected'),
        outcome: read ? 'not_processed' : 'unknown',
        attempts: read ? 2 : 1,
      };
    case '500':
    case '80001':
      return read
        ? { ...refusal(503, 'upstream-unavailable'), retryable: true, attempts: 2 }
        : { ...refusal(502, 'outcome-unknown'), outcome: 'unknown', retryable: effect === 'repeatable' };
    case '33009':
      return { ...refusal(502, 'outcome-unknown'), outcome: 'unknown' };
    default:
      return { ...refusal(502, 'upstream-unmapped-error'), outcome: read ? 'not_processed' : 'unknown' };
  }
}

const shapes = [
  { shape: '299 with a string', status: 299, codeAs: 'string' },
  { shape: '200 with a string', status: 200, codeAs: 'string' },
  { shape: '200 with an integer', status: 200, codeAs: 'integer' },
] as const;

/** One of each effect: every row of this file runs with these, and with the others what an operation could have of its own. */
const samples = ['findCustomers', 'disableLocks', 'placeOrder'];

const everyCode = [
  ...refusalCodes.map(({ code }) => code),
  '60000',
  '70001',
  '500',
  '80001',
  '33009',
  '12345',
];

async function expectProblem(operation: OperationCase, expected: Expected, via = gateway): Promise<void> {
  const answer = await send(via, operation, { undocumented: true });
  const requestId = answer.headers.get('x-request-id');
  expect(answer.headers.get('content-type')).toMatch(/^application\/problem\+json/);
  const { status, code, outcome, retryable } = expected;
  expect([answer.status, answer.text]).toEqual([status, expect.any(String)]);
  expect(answer.body).toMatchObject({
    type: `/problems/${code}`,
    status,
    code,
    outcome,
    retryable,
    requestId,
  });
  const calls = (await sandbox.journal(operation.upstream)).filter(
    ({ headers }) => headers['x-request-id'] === requestId,
  );
  expect(calls).toHaveLength(expected.attempts);
  expect(new Set(calls.map(({ query }) => query['g_nonce'])).size).toBe(expected.attempts);
}

/** A page of members that may have been refused for its size is asked for in smaller sizes, down to a single member. */
const maySayTooLarge = ['13004', '40000', '12345'];
const smallerPages: Readonly<Record<string, number>> = {
  listMembers: [20, 10, 5, 2, 1].length,
  getMember: [200, 100, 50, 25, 12, 6, 3, 1].length,
};

describe.each(operationCases)('$id, when the platform responds', (operation) => {
  beforeEach(async () => {
    if (operation.id !== 'deleteMember') return;
    // The gateway remembers deletes whose outcome is unknown; one that succeeds settles what the test before left open.
    await send(gateway, operation);
    await sandbox.reset();
  });

  const isSample = samples.includes(operation.id);

  describe.each(shapes)('in the shape $shape', ({ shape, status, codeAs }) => {
    const codes = isSample || shape === shapes[0].shape ? everyCode : ['13004', '60000', '80001', '12345'];
    it.each(codes)('with code %s', async (code) => {
      await sandbox.fault({
        operation: operation.upstream,
        action: { code, status, codeAs, message: 'as upstream says' },
      });
      const expected = expectedFor(code, operation.effect);
      const attempts = (maySayTooLarge.includes(code) && smallerPages[operation.id]) || expected.attempts;
      await expectProblem(operation, { ...expected, attempts });
    });
  });

  const read = operation.effect === 'read';
  const violation = (attempts = 1): Expected =>
    read
      ? { ...refusal(502, 'upstream-contract-violation'), attempts }
      : {
          ...refusal(502, 'outcome-unknown'),
          outcome: 'unknown',
          retryable: operation.effect === 'repeatable',
          attempts,
        };
  const gone = (status: number, code: string, attempts: number): Expected =>
    read ? { ...refusal(status, code), retryable: true, attempts } : violation();

  /** What takes long to send, and is read by the same lines for every operation. */
  const large: [string, object, Expected][] = [
    [
      '10,000 levels',
      { raw: { text: `{"code":0,"data":${'['.repeat(10_000)}${']'.repeat(10_000)}}` } },
      violation(),
    ],
    ['17 MiB', { pad: 17 * 1024 * 1024 }, violation()],
  ];

  it.each<[string, object, Expected]>([
    ...(isSample ? large : []),
    ['not JSON', { raw: { text: '{"code":0' } }, violation()],
    ['an HTML page with 200', { html: true, httpStatus: 200 }, violation()],
    ['an empty body', { raw: { text: '' } }, violation()],
    ['a list', { raw: { text: '[]' } }, violation()],
    [
      'bytes that are not UTF-8',
      { raw: { base64: Buffer.from([0x7b, 0xc4, 0xe3, 0x7d]).toString('base64') } },
      violation(),
    ],
    ['a key given twice', { raw: { text: '{"code":1,"code":0}' } }, violation()],
    ['a redirect', { httpStatus: 302, headers: { location: 'http://127.0.0.1:9/' } }, violation()],
    ['a 204', { httpStatus: 204 }, violation()],
    ['an HTTP 500 with HTML', { html: true, httpStatus: 500 }, gone(503, 'upstream-unavailable', 1)],
    ['an HTTP 502', { httpStatus: 502 }, gone(503, 'upstream-unavailable', 2)],
    ['a reset before the headers', { reset: 'before-headers' }, gone(503, 'upstream-unavailable', 2)],
    ['a reset in the body', { reset: 'mid-body' }, gone(503, 'upstream-unavailable', 2)],
    ['chunks without the last one', { truncate: 10, framing: 'chunked' }, violation()],
    ['a body cut short that only its JSON tells', { truncate: 10, framing: 'close' }, violation()],
    ['a body cut short', { truncate: 10, framing: 'length' }, gone(503, 'upstream-unavailable', 2)],
  ])('with %s', async (_, action, expected) => {
    await sandbox.fault({ operation: operation.upstream, action });
    await expectProblem(operation, expected);
  });

  it('with 299 and code 0, which claims success in an error response', async () => {
    await sandbox.fault({
      operation: operation.upstream,
      action: { code: 0, status: 299, codeAs: 'integer' },
    });
    await expectProblem(operation, {
      ...refusal(502, 'upstream-contract-violation'),
      outcome: read ? 'not_processed' : 'unknown',
    });
  });

  it.each(isSample ? ['0.0', '""', 'null', 'false', '[]', 'true', '-0'] : ['""', 'null'])(
    'with the code %s, which only looks like 0',
    async (code) => {
      await sandbox.fault({
        operation: operation.upstream,
        action: { raw: { text: `{"code":${code},"message":"m","data":null}` } },
      });
      await expectProblem(operation, {
        ...refusal(502, 'upstream-contract-violation'),
        outcome: read ? 'not_processed' : 'unknown',
      });
    },
  );

  it('with 401 and no envelope: a read is sent again with another token, a write has an unknown outcome', async () => {
    await sandbox.fault({
      operation: operation.upstream,
      times: 1,
      action: { httpStatus: 401, raw: { text: '', status: 401 } },
    });
    if (operation.effect === 'read') {
      expect((await send(gateway, operation)).status).toBeLessThan(300);
      expect(await sandbox.journal(operation.upstream)).toHaveLength(2);
    } else {
      await expectProblem(operation, {
        ...refusal(502, 'outcome-unknown'),
        outcome: 'unknown',
        retryable: operation.effect === 'repeatable',
      });
    }
  });
});

const reads = operationCases.filter(({ effect }) => effect === 'read');
// Some of them read first.
const writes = operationCases.filter(({ effect }) => effect !== 'read');

describe.each([
  ['reads', reads],
  ['writes', writes],
])('all %s at once, when the platform responds', (_, cases) => {
  it.each<[string, object]>([
    ['too late', { delayMs: 60_000 }],
    ['a byte at a time, forever', { slow: { chunkBytes: 1, everyMs: 500 } }],
  ])('%s: each is 504 at its deadline', async (__, action) => {
    // Enough for a slow machine to send every call, and not enough for one of the responses.
    const deadlines = { UPSTREAM_DEADLINE_MS: '3000', UPSTREAM_ORDER_DEADLINE_MS: '3000' };
    const hasty = ended(await TestGateway.start(sandbox, deadlines));
    await sandbox.fault({ operation: cases.map(({ upstream }) => upstream), action });
    const started = performance.now();
    const late = cases.map((operation) => {
      const timeout: Expected =
        operation.effect === 'read'
          ? { ...refusal(504, 'upstream-timeout'), retryable: true }
          : {
              ...refusal(504, 'outcome-unknown'),
              outcome: 'unknown',
              retryable: operation.effect === 'repeatable',
            };
      return expectProblem(operation, timeout, hasty);
    });
    await Promise.all(late);
    expect(performance.now() - started).toBeLessThan(30_000);
  });
});

describe('reads', () => {
  const [find] = reads as [OperationCase];

  it.each(['500', '80001', '70001', '60000'])('succeed when %s happened once', async (code) => {
    await sandbox.fault({ operation: find.upstream, times: 1, action: { code } });
    expect((await send(gateway, find)).status).toBe(200);
    expect(await sandbox.journal(find.upstream)).toHaveLength(2);
  });

  it('are not repeated before the time that the platform names, and pass that time on', async () => {
    await sandbox.fault({
      operation: find.upstream,
      action: { httpStatus: 503, headers: { 'retry-after': '3' } },
    });
    const answer = await send(gateway, find);
    expect(answer.status).toBe(503);
    expect(answer.headers.get('retry-after')).toBe('3');
    expect(await sandbox.journal(find.upstream)).toHaveLength(1);
  });
});

describe("the platform's message", () => {
  const [bind] = operationCases as [OperationCase];

  it('reaches the caller when it is written for people, cleaned and cut', async () => {
    const message = `Bad name\r\n\u001b[31m${'x'.repeat(600)}`;
    await sandbox.fault({
      operation: bind.upstream,
      action: { code: '13004', message, cause: 'com.vendor.Internal: line 7' },
    });
    const answer = await send(gateway, bind);
    expect(answer.body['detail']).toMatch(/^Bad name \[31mx+$/);
    expect((answer.body['detail'] as string).length).toBe(500);
    expect(answer.text).not.toContain('com.vendor');
  });

  it('otherwise does not reach the caller, and never reaches caller or log with a secret in it', async () => {
    const password = newSecret('l');
    const secrets = [password, sandbox.appSecret];
    const order = operationCases.find(({ id }) => id === 'placeOrder') as OperationCase;
    const body = structuredClone(order.body) as {
      items: [{ assets: [{ products: [{ passwords?: string[] }] }] }];
    };
    body.items[0].assets[0].products[0].passwords = [password];
    const words = `secrets: ${secrets.join(' ')}`;
    await sandbox.fault({
      operation: order.upstream,
      times: 1,
      action: { code: '60002', message: words, cause: words },
    });
    const silent = await send(gateway, { ...order, body }, { undocumented: true });
    expect(silent.text).not.toContain('secrets:');
    await sandbox.fault({
      operation: order.upstream,
      action: { code: '13004', message: words, cause: words },
    });
    const spoken = await send(gateway, { ...order, body });
    expect(spoken.body['detail']).toBe('secrets: [secret] [secret]');
    const log = (await gateway.log()).join('\n');
    expect(log).toContain('secrets: [secret] [secret]');
    for (const secret of secrets) expect(log).not.toContain(secret);
  });
});

describe('a platform that is down', () => {
  it('is 503 with nothing processed, for writes too', async () => {
    const gone = await TestSandbox.start();
    const lonely = await TestGateway.start(sandbox, { UPSTREAM_BASE_URL: gone.url });
    await gone.close();
    for (const operation of operationCases) {
      const answer = await send(lonely, operation);
      expect(answer.status).toBe(503);
      expect(answer.body).toMatchObject({
        code: 'upstream-unavailable',
        outcome: 'not_processed',
        retryable: true,
      });
      expect(answer.headers.get('retry-after')).toBe('1');
    }
    await lonely.stop();
  });

  it('is 503 dependency-unavailable when the token endpoint is down', async () => {
    const gone = await TestSandbox.start();
    const lonely = await TestGateway.start(sandbox, { UPSTREAM_TOKEN_URL: gone.tokenUrl });
    await gone.close();
    for (const operation of operationCases) {
      const answer = await send(lonely, operation);
      expect(answer.status).toBe(503);
      expect(answer.body).toMatchObject({
        code: 'dependency-unavailable',
        outcome: 'not_processed',
        retryable: true,
      });
    }
    expect(await sandbox.calls()).toEqual([]);
    expect((await lonely.get('/health/ready')).body).toEqual({
      status: 'degraded',
      redis: 'off',
      orders: 'up',
      tokens: 'down',
      upstream: 'up',
      load: 'ok',
    });
    await lonely.stop();
  });

  it('is 502 when the token endpoint refuses the application', async () => {
    const refused = await TestGateway.start(sandbox, { UPSTREAM_APP_SECRET: 'not-the-secret' });
    const answer = await send(refused, operationCases[0] as OperationCase);
    expect(answer.status).toBe(502);
    expect(answer.body).toMatchObject({ code: 'upstream-credential-rejected', outcome: 'not_processed' });
    expect(await sandbox.calls()).toEqual([]);
    await refused.stop();
  });
});

it('a failure of the platform outside of a handler, as in a guard, is its problem too and not a 500', async () => {
  const own = ended(await startInProcess(sandbox));
  const aliases = own.app.get(AliasUsers);
  aliases.find = () => {
    throw new UpstreamFailure(operations.listMembers, 'refused', true, { status: 299, code: '60024' });
  };
  const answer = await own.get('/v1/enterprises/ent-harbour/members', { undocumented: true });
  expect(answer.status).toBe(404);
  expect(answer.body).toMatchObject({ code: 'asset-not-found', outcome: 'not_processed' });
});
