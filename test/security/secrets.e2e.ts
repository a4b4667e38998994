import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { OrderService } from '../../src/order/order.service.ts';
import { newEncryptionKey, newSecret } from '../support/canary.ts';
import { emptyDatabase } from '../support/database.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { leakShapes } from '../support/leak-shapes.ts';
import { ask, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';

/**
 * Secrets stay inside. After the run, test/canary scans everything that the gateway wrote in any test; the tests here provoke the
 * gateway.
 */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';

let sandbox: TestSandbox;
let redis: RunningRedis;
let gateway: GatewayInProcess;
let database: Awaited<ReturnType<typeof emptyDatabase>>;

beforeAll(async () => {
  [sandbox, redis] = await Promise.all([TestSandbox.start(), startRedis()]);
  database = await emptyDatabase('file');
  gateway = await startInProcess(sandbox, {
    ...{ REDIS_URL: redis.url, DATABASE_URL: database.url, ENCRYPTION_KEYS: newEncryptionKey() },
  });
});
beforeEach(() => sandbox.reset());
afterAll(async () => {
  await gateway.stop();
  await Promise.all([redis.stop(), sandbox.close()]);
  await database.remove();
});

describe('an unexpected error with a secret in it', () => {
  // A secret that the gateway cannot know and mask: it must choose what it shows.
  const secret = `${newSecret('t')}1`;
  const encoded = Buffer.from(secret).toString('base64').slice(4, -6);

  // Every shape: error-summary.spec.ts.
  const SHAPES = ['message', 'nested cause', 'URL with credentials', 'stack made up'];

  it.each(SHAPES)(
    'S3 by %s, thrown in a request: neither the problem nor the log shows it',
    async (shape) => {
      const orders = gateway.app.get(OrderService, { strict: false });
      const spy = jest.spyOn(orders, 'listAssets').mockRejectedValue(leakShapes(secret)[shape] as never);
      const from = gateway.logLines.length;
      const answer = await gateway.get(ASSETS, { headers: { 'cache-control': 'no-cache' } });
      spy.mockRestore();
      expect(answer.status).toBe(500);
      expect(answer.body).toMatchObject({ code: 'internal-error', outcome: 'unknown' });
      const lines = gateway.logLines.slice(from).join('\n');
      expect(lines).toContain('"event":"internal-error"');
      for (const form of [secret, encoded]) {
        expect(answer.text + JSON.stringify([...answer.headers])).not.toContain(form);
        expect(lines).not.toContain(form);
      }
    },
  );

  it('S3 of each kind, uncaught: the last log lines of the process do not show it', async () => {
    const dying = await startGatewayProcess(gateway.environment(sandbox), { disturbed: true });
    await sandbox.fault({ operation: 'listAssets', times: 1, action: { delayMs: 3_000 } });
    // The process ends only after this request.
    const holding = fetch(dying.url + ASSETS, { headers: { 'x-api-key': gateway.key } });
    await until('the call is under way', async () => (await sandbox.journal('listAssets')).length > 0);
    for (const shape of SHAPES)
      for (const fail of ['exception', 'rejection'] as const) await dying.disturb({ fail, secret, shape });
    expect((await holding).status).toBe(200);
    expect(await dying.ended).toBe(1);
    const told = dying.output().match(/"event":"(uncaught-exception|unhandled-rejection)"/g) ?? [];
    expect(told).toHaveLength(2 * SHAPES.length);
    for (const form of [secret, encoded]) expect(dying.output()).not.toContain(form);
  });
});

it('S3 a start that fails with an unexpected error does not show a secret in it', async () => {
  const password = `${newSecret('r')}:+%/é`;
  // The preload throws an error with the gateway's configuration in its message.
  const words =
    "'cannot use ' + process.env.REDIS_URL + ' nor ' + decodeURIComponent(new URL(process.env.REDIS_URL).password)";
  // The gateway listens to this event only once it has been built.
  const code = `process.prependListener('newListener', (event) => { if (event === 'uncaughtException') throw new Error(${words}); });`;
  const failure = await startGatewayProcess(
    {
      ...gateway.environment(sandbox),
      REDIS_URL: redis.url.replace('//', `//:${encodeURIComponent(password)}@`),
      ENCRYPTION_KEYS: newEncryptionKey('k9'),
    },
    { nodeOptions: `--import data:text/javascript,${encodeURIComponent(code)}` },
  ).then(
    () => 'it started',
    (error: unknown) => (error as Error).message,
  );
  expect(failure).toContain('cannot use [secret] nor [secret]');
  expect(failure).not.toContain(password.slice(0, 20));
});

describe("employees' passwords", () => {
  const passwords = {
    first: newSecret('m'),
    other: newSecret('m'),
    wrong: newSecret('m'),
    next: newSecret('m'),
  };
  const shown = (answer: TestAnswer) => answer.text + JSON.stringify([...answer.headers]);

  it('S7 are passed on, and appear in no response or log line, and neither in Redis nor in the database, with every outcome', async () => {
    const from = gateway.logLines.length;
    const key = (name: string) => ({ headers: { 'idempotency-key': `passwords-of-${name}-1` } });
    const member = (account: string, password: unknown) => ({ account, password, name: 'New Comer' });
    const add = (name: string, ...members: object[]) => gateway.post(MEMBERS, { members }, key(name));
    const answers: TestAnswer[] = [];
    // Added; partly refused; refused as a whole with a quoted password; lost; malformed.
    answers.push(await add('added', member('newcomer', passwords.first)));
    answers.push(await add('partly', member('anna', passwords.first), member('second', passwords.other)));
    const message = `the password ${passwords.wrong} is too easy`;
    await sandbox.fault({ operation: 'addMembers', times: 1, action: { code: '50003', message } });
    answers.push(await add('refused', member('third', passwords.wrong)));
    await sandbox.fault({ operation: 'addMembers', times: 1, action: { reset: 'before-headers' } });
    answers.push(await add('lost', member('fourth', passwords.other)));
    answers.push(await add('wrong', member('f!fth', passwords.wrong), member('sixth', [passwords.wrong])));
    const reset = (body: object) =>
      gateway.request('PUT', `${MEMBERS}/mem-harbour-anna/password`, { body, undocumented: true });
    answers.push(await reset({ password: passwords.next }));
    answers.push(await reset({ password: { nested: passwords.next } }));
    expect(answers.map(({ status }) => status)).toEqual([201, 207, 422, 502, 400, 204, 400]);

    // These credentials do reach the platform.
    for (const [username, password] of [
      ['newcomer@harbour', passwords.first],
      ['anna@harbour', passwords.next],
    ])
      expect((await gateway.post('/v1/sessions', { username, password })).status).toBe(201);
    const kept = await ask(redis, async (client) => {
      const keys = await client.keys('*');
      const dumps = await Promise.all(keys.map((each) => client.dumpBuffer(each)));
      const file = database.url.slice('sqlite:'.length);
      const written = [file, `${file}-wal`].map((path) => readFileSync(path, 'latin1'));
      return [...keys, ...dumps.map((dump) => dump?.toString('latin1') ?? ''), ...written].join('\n');
    });
    // The records of these writes.
    expect(kept).toContain('write/tester/');
    const logged = gateway.logLines.slice(from).join('\n');
    expect(logged).toContain('"event":"audit"');
    for (const password of Object.values(passwords)) {
      expect(answers.map(shown).join('\n')).not.toContain(password);
      expect(kept).not.toContain(password);
      expect(logged).not.toContain(password);
    }
  });
});
