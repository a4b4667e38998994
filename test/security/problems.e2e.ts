import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { CATALOGUE } from '../../sandbox/errors.ts';
import { leaksIn } from '../fuzz/leaks.ts';
import { newSecret } from '../support/canary.ts';
import { caseOf } from '../support/expected.ts';
import { refusalCodes } from '../support/upstream-codes.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { type OperationCase, operationCases, send } from '../support/operations.ts';
import { useStack } from '../support/stack.ts';

/** What problems reveal (docs/faults.md, row S14). The runs of test/fuzz check the same for every response. */

/** Only these codes show the platform's message; 60009 is a problem of its own that quotes it. */
const SPEAKING = new Set(refusalCodes.filter(({ speaks }) => speaks).map(({ code }) => code));

const word = (what: string) => `${what}-${randomBytes(8).toString('hex')}`;
const cause = word('cause');
const message = word('message');
const elsewhere = word('elsewhere');

const { sandbox, gateway } = useStack();

let asked = 0;
/**
 * Two operations, another two each time so that no breaker opens, while the platform fails in this way: collects the responses and checks
 * that none reveals internals.
 */
async function answersOf(fault: object, hidden: readonly string[], at = gateway): Promise<TestAnswer[]> {
  await sandbox.fault({ operation: '*', ...fault });
  const { host, port } = new URL(sandbox.url);
  const own = [host, `:${port}`, process.cwd(), at.callersFile, sandbox.appKey, ...hidden];
  const answers: TestAnswer[] = [];
  for (const step of [0, 11]) {
    const next = operationCases[(asked + step) % operationCases.length] as OperationCase;
    const answer = await send(at, next, { undocumented: true });
    expect([next.id, leaksIn(own, answer)]).toEqual([next.id, undefined]);
    answers.push(answer);
  }
  asked++;
  return answers;
}

/** These codes mean that the platform, or the gateway's own credentials, do not work. */
const FAILURES = ['500', '80001', '70001', '33009', '60005', '60000'];

describe('S14 a refusal of the platform', () => {
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
      const answer = await send(gateway, caseOf('resetMemberPassword'), { body: { password } });
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
        { action: { code, message, cause, data: { password: elsewhere } } },
        isShown ? [cause, elsewhere] : [cause, elsewhere, message],
      );
      const failed = answers.filter(({ status }) => status >= 400);
      // 60027 is no failure for the operation that expects it.
      expect(failed.length).toBeGreaterThanOrEqual(answers.length - 1);
      for (const { body } of failed)
        if (isShown && body['code'] === 'upstream-rejected') expect(body['detail']).toBe(message);
    },
  );

  it('with an unknown code reveals nothing of it', async () => {
    const answers = await answersOf({ action: { code: '98765', message, cause } }, [cause, message]);
    for (const { body } of answers) expect(body).toMatchObject({ code: 'upstream-unmapped-error' });
    expect(await gateway.metrics()).toMatch(
      /^gateway_upstream_unmapped_codes_total\{operation="\w+"\} [1-9]/m,
    );
  });
});

/** The failures that make the gateway distrust its credentials come last. */
const failures: Readonly<Record<string, object>> = {
  'a page with its stack': {
    raw: {
      text: `<pre>Error: ${message}\n    at handler (/srv/platform/app.js:10:3)</pre>`,
      contentType: 'text/html',
      status: 500,
    },
  },
  'JSON of another form': { raw: { text: JSON.stringify([message]), contentType: 'application/json' } },
  'a redirect': { httpStatus: 302, headers: { location: `http://${elsewhere}.invalid/` } },
  'an error of its server': { httpStatus: 503, headers: { server: elsewhere, 'x-powered-by': message } },
  'bytes that are no HTTP': { wire: { text: `SSH-2.0-${message}\r\n` } },
  ...Object.fromEntries(FAILURES.map((code) => [`the code ${code}`, { code, message, cause }])),
};

describe('S14 a failure of the platform', () => {
  const expectFailed = (answers: readonly TestAnswer[]) => {
    for (const { status, headers } of answers) {
      expect(status).toBeGreaterThanOrEqual(500);
      expect(headers.get('content-type')).toMatch(/^application\/problem\+json/);
    }
  };

  it.each(Object.entries(failures))('as %s reveals no internals', async (_, action) => {
    expectFailed(await answersOf({ action }, [message, cause, elsewhere]));
    expect((await sandbox.calls()).length).toBeGreaterThan(1);
  });

  it('at the token endpoint reveals no internals', async () => {
    const fresh = await TestGateway.start(sandbox);
    const action = { code: 'invalid_client', message, cause };
    expectFailed(await answersOf({ operation: 'token', action }, [message, cause], fresh));
    expect(await sandbox.journal('token')).not.toEqual([]);
    await fresh.stop();
  });

  it('that no connection reaches does not reveal its address', async () => {
    const away = await TestGateway.start(sandbox, { UPSTREAM_BASE_URL: 'http://127.0.0.1:9' });
    for (const { status, body } of await answersOf({ action: { html: true } }, [':9'], away))
      expect([status, body['outcome']]).toEqual([503, 'not_processed']);
    await away.stop();
  });
});
