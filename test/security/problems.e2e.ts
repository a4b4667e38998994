import { randomBytes } from 'node:crypto';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CATALOGUE } from '../../sandbox/errors.ts';
import { leaksIn } from '../fuzz/leaks.ts';
import { newSecret } from '../support/canary.ts';
import { refusalCodes } from '../support/upstream-codes.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer, TestGateway } from '../support/gateway.ts';
import { type OperationCase, operationCases, send } from '../support/operations.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** What problems reveal (docs/faults.md, row S14). The runs of test/fuzz check the same for every response. */

/** Only these codes show the platform's message; 60009 is a problem of its own that quotes it. */
const SPEAKING = new Set(refusalCodes.filter(({ speaks }) => speaks).map(({ code }) => code));

const word = (what: string) => `${what}-${randomBytes(8).toString('hex')}`;
const cause = word('cause');
const message = word('message');
const elsewhere = word('elsewhere');

let sandbox: TestSandbox;
let gateway: TestGateway;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset());
afterAll(() => sandbox.close());

const start = async () => {
  gateway = await startInProcess(sandbox);
};
const stop = () => gateway.stop();

/** Every operation while the platform fails in this way: collects the responses and checks that none reveals internals. */
async function answersOf(action: object | undefined, hidden: readonly string[]): Promise<TestAnswer[]> {
  if (action) await sandbox.fault({ operation: '*', action });
  const { host, port } = new URL(sandbox.url);
  const own = [host, `:${port}`, process.cwd(), gateway.callersFile, sandbox.appKey, ...hidden];
  const answers: TestAnswer[] = [];
  for (const operation of operationCases) {
    const answer = await send(gateway, operation, { undocumented: true });
    expect(leaksIn(own, answer)).toBeUndefined();
    answers.push(answer);
  }
  return answers;
}

/** These codes mean that the platform, or the gateway's own credentials, do not work. */
const FAILURES = ['500', '80001', '70001', '60000', '60005', '33009'];

describe('S14 a refusal of the platform', () => {
  beforeAll(start);
  afterAll(stop);

  it("G6 shows no secret of the gateway, in every form in which the platform's message quotes it", async () => {
    const forms = (secret: string) => [
      secret,
      Buffer.from(`key:${secret}`).toString('base64'),
      Buffer.from(`key:${secret}`).toString('base64url'),
      Buffer.from(secret).toString('hex'),
      encodeURIComponent(secret),
    ];
    // Secrets of the application, of other users, and of the request's own body.
    const password = newSecret('m');
    const secrets = [sandbox.appSecret, sandbox.appKey, sandbox.seedPassword, password];
    for (const quoted of secrets.flatMap(forms)) {
      await sandbox.fault({ operation: '*', action: { code: '40001', message: `refused <${quoted}>` } });
      const { method, path } = operationCases.find(
        ({ upstream }) => upstream === 'resetPassword',
      ) as OperationCase;
      const answer = await gateway.request(method, path, { body: { password } });
      expect(answer.body['detail']).toMatch(/^refused <.*\[secret\].*>$/);
      for (const secret of secrets) expect(answer.text).not.toContain(secret);
      expect(answer.text).not.toContain(quoted);
      await sandbox.reset();
    }
  });

  it.each(Object.keys(CATALOGUE).filter((code) => !FAILURES.includes(code)))(
    'with %s shows its message if it is for the user, and never its cause',
    async (code) => {
      const isShown = SPEAKING.has(code);
      // The response must not contain a word that is not shown; a shown word may appear.
      const answers = await answersOf(
        { code, message, cause, data: { password: elsewhere } },
        isShown ? [cause, elsewhere] : [cause, elsewhere, message],
      );
      const failed = answers.filter(({ status }) => status >= 400);
      // 60027 is no failure for the operation that expects it.
      expect(failed.length).toBeGreaterThanOrEqual(operationCases.length - 1);
      for (const { body } of failed)
        if (isShown && body['code'] === 'upstream-rejected') expect(body['detail']).toBe(message);
    },
  );

  it('with an unknown code reveals nothing of it', async () => {
    const answers = await answersOf({ code: '98765', message, cause }, [cause, message]);
    for (const { body } of answers) expect(body).toMatchObject({ code: 'upstream-unmapped-error' });
    expect(await gateway.metrics()).toMatch(
      /^gateway_upstream_unmapped_codes_total\{operation="listAssets"\} [1-9]/m,
    );
  });
});

const failures: Readonly<Record<string, object>> = {
  ...Object.fromEntries(FAILURES.map((code) => [`the code ${code}`, { code, message, cause }])),
  'a page of HTML': { html: true },
  'a page with its stack': {
    raw: {
      text: `<pre>Error: ${message}\n    at handler (/srv/platform/app.js:10:3)</pre>`,
      contentType: 'text/html',
      status: 500,
    },
  },
  'JSON that is none': { raw: { text: `{"code":0,"data":"${message}`, contentType: 'application/json' } },
  'JSON of another form': { raw: { text: JSON.stringify([message]), contentType: 'application/json' } },
  'a redirect': { httpStatus: 302, headers: { location: `http://${elsewhere}.invalid/` } },
  'an error of its server': { httpStatus: 503, headers: { server: elsewhere, 'x-powered-by': message } },
  'bytes that are no HTTP': { wire: { text: `SSH-2.0-${message}\r\n` } },
  'a connection that breaks': { reset: 'before-headers' },
  'a connection that breaks in the middle': { reset: 'mid-body' },
  'half an answer': { truncate: 10 },
};

describe('S14 a failure of the platform', () => {
  // So that no breaker is open because of another test.
  beforeEach(start);
  afterEach(stop);

  it.each(Object.entries(failures))('as %s reveals no internals', async (_, action) => {
    for (const { status, headers } of await answersOf(action, [message, cause, elsewhere])) {
      expect(status).toBeGreaterThanOrEqual(500);
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    }
  });

  it('at the token endpoint reveals no internals', async () => {
    await sandbox.fault({ operation: 'token', action: { code: 'invalid_client', message, cause } });
    for (const { status } of await answersOf(undefined, [message, cause]))
      expect(status).toBeGreaterThanOrEqual(500);
  });
});

it('S14 the problem of an unreachable platform does not reveal its address', async () => {
  const away = await startInProcess(sandbox, { UPSTREAM_BASE_URL: 'http://127.0.0.1:9' });
  for (const operation of operationCases) {
    const answer = await send(away, operation);
    expect(answer.status).toBe(503);
    expect(leaksIn([':9', process.cwd()], answer)).toBeUndefined();
  }
  await away.stop();
});
