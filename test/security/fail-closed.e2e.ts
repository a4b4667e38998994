import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CallerGuard } from '../../src/caller/caller.guard.ts';
import { CallerLimits } from '../../src/caller/caller-limits.ts';
import { CallerRegistry } from '../../src/caller/caller.registry.ts';
import { JwtCallers } from '../../src/caller/jwt-callers.ts';
import { RateWindow } from '../../src/caller/rate-window.ts';
import { scopes } from '../../src/caller/scopes.ts';
import { OrderLedgerKeeper } from '../../src/order-ledger/order-ledger-keeper.ts';
import { AliasUsers } from '../../src/session/alias-users.ts';
import { RequestValidationPipe } from '../../src/validation/validation.pipe.ts';
import { caseOf } from '../support/expected.ts';
import { startGatewayProcess } from '../support/gateway-process.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { Issuer } from '../support/issuer.ts';
import { send } from '../support/operations.ts';
import { startRedis, until } from '../support/redis.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { credential } from '../support/settings.ts';
import { newApiKey, newEncryptionKey } from '../support/canary.ts';

let sandbox: TestSandbox;
beforeAll(async () => {
  sandbox = await TestSandbox.start();
});
beforeEach(() => sandbox.reset({ tokens: true }));
afterAll(() => sandbox.close());

/** Risk 15 of the security design: a guard that fails open. */
describe('S15 a failure inside the gateway denies:', () => {
  const LIMITED = { rateLimit: { requests: 1_000_000, perSeconds: 3_600 } };
  let issuer: Issuer;
  let gateway: GatewayInProcess;

  beforeAll(async () => {
    issuer = await Issuer.start();
    gateway = await startInProcess(sandbox, issuer.environment, [
      { name: 'limited', scopes: [...scopes], enterprises: ['*'], channels: ['*'], users: ['*'], ...LIMITED },
    ]);
  });
  afterEach(() => {
    jest.restoreAllMocks();
  });
  afterAll(async () => {
    await gateway.stop();
    await issuer.close();
  });

  const MESSAGE = 'must not be seen';
  const throws = () => {
    throw new RangeError(MESSAGE);
  };
  const rejects = () => Promise.reject(new RangeError(MESSAGE));

  async function expectDenied(answer: TestAnswer): Promise<void> {
    expect([answer.status, answer.body['code']]).toEqual([500, 'internal-error']);
    expect(answer.text).not.toContain(MESSAGE);
    expect(await sandbox.calls()).toEqual([]);
  }

  it.each<[string, () => unknown]>([
    ['keys', () => jest.spyOn(gateway.app.get(CallerRegistry), 'byKey').mockImplementation(throws)],
    ['limits', () => jest.spyOn(gateway.app.get(CallerLimits), 'admit').mockImplementation(throws)],
    ['limits, later', () => jest.spyOn(gateway.app.get(CallerLimits), 'admit').mockImplementation(rejects)],
    ['windows', () => jest.spyOn(RateWindow.prototype, 'take').mockImplementation(throws)],
    ['windows, later', () => jest.spyOn(RateWindow.prototype, 'take').mockImplementation(rejects)],
    [
      'the guard of routes',
      () => jest.spyOn(CallerGuard.prototype, 'canActivate').mockImplementation(throws),
    ],
    ['acting users', () => jest.spyOn(gateway.app.get(AliasUsers), 'find').mockImplementation(throws)],
    ['validation', () => jest.spyOn(RequestValidationPipe.prototype, 'transform').mockImplementation(throws)],
  ])('of %s', async (what, fail) => {
    fail();
    const key = gateway.keys['limited'] as string;
    const ids =
      what === 'acting users'
        ? ['listMembers', 'addMembers']
        : ['findCustomers', 'disableLocks', 'placeOrder'];
    for (const id of ids) await expectDenied(await send(gateway, caseOf(id), { key }));
    jest.restoreAllMocks();
    expect((await send(gateway, caseOf('findCustomers'), { key })).status).toBe(200);
  });

  it.each([
    ['tokens', 'recognised', throws],
    ['tokens that are verified', 'verified', throws],
    ['tokens, later', 'verified', rejects],
  ] as const)('of %s', async (_, method, fail) => {
    jest.spyOn(gateway.app.get(JwtCallers), method).mockImplementation(fail as () => never);
    const headers = {
      authorization: `Bearer ${await issuer.token({ azp: 'limited', scope: 'orders:read' })}`,
    };
    await expectDenied(await send(gateway, caseOf('findCustomers'), { key: null, headers }));
    jest.restoreAllMocks();
    expect((await send(gateway, caseOf('findCustomers'), { key: null, headers })).status).toBe(200);
  });

  it('of the order store, in the process', async () => {
    const { store } = gateway.app.get(OrderLedgerKeeper);
    jest.spyOn(store, 'begin').mockImplementation(rejects);
    await expectDenied(await send(gateway, caseOf('placeOrder')));
  });

  it("of the order store's server", async () => {
    const redis = await startRedis(['--appendonly', 'yes', '--appendfsync', 'always']);
    const ENCRYPTION_KEYS = newEncryptionKey();
    const guarded = await TestGateway.start(sandbox, { GUARD_REDIS_URL: redis.url, ENCRYPTION_KEYS });
    await redis.stop();
    const answer = await send(guarded, caseOf('placeOrder'));
    expect(answer.status).toBe(503);
    expect(answer.body).toMatchObject({ code: 'dependency-unavailable', outcome: 'not_processed' });
    expect(await sandbox.calls()).toEqual([]);
    await guarded.stop();
  });
});

/** Risk 6 of the security design: the platform locks accounts that fail too often. */
describe("S6 a configured user's wrong password", () => {
  it('is tried at most three times an hour, also with a thousand callers', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'wrong-password-'));
    const keys = Array.from({ length: 1_000 }, () => newApiKey());
    const callers = keys.map(({ hash }, index) => ({
      name: `caller-${index}`,
      keys: [hash],
      scopes: ['members:read'],
      enterprises: ['ent-harbour'],
      users: ['default'],
    }));
    const password = credential();
    const users = { default: { username: 'admin@harbour', password } };
    writeFileSync(join(folder, 'callers.json'), JSON.stringify({ callers }));
    writeFileSync(join(folder, 'users.json'), JSON.stringify(users));
    const gateway = await startGatewayProcess(
      {
        UPSTREAM_BASE_URL: sandbox.url,
        UPSTREAM_TOKEN_URL: sandbox.tokenUrl,
        UPSTREAM_APP_KEY: sandbox.appKey,
        UPSTREAM_APP_SECRET: sandbox.appSecret,
        CALLERS_FILE: join(folder, 'callers.json'),
        UPSTREAM_USERS_FILE: join(folder, 'users.json'),
      },
      { disturbed: true },
    );
    const attempts = async () =>
      (await sandbox.journal('token')).filter(({ body }) => (body as { username?: string }).username);
    const ask = async ({ key }: { key: string }) => {
      const url = `${gateway.url}/v1/enterprises/ent-harbour/members`;
      const response = await fetch(url, { headers: { 'x-api-key': key } });
      return { status: response.status, body: (await response.json()) as { code: string } };
    };

    const minutes = [0, 2, 10, 25, 59];
    for (const [index, minute] of minutes.entries()) {
      await gateway.disturb({ uptime: minute * 60_000 });
      const share = keys.length / minutes.length;
      const answers = await Promise.all(keys.slice(index * share, (index + 1) * share).map(ask));
      expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([502]));
      expect(new Set(answers.map(({ body }) => body.code))).toEqual(
        new Set(['upstream-credential-rejected']),
      );
      // To the gateway a clock that jumps all the time is a late event loop, so the test gives it a moment without jumps.
      await wait(600);
    }
    expect(await attempts()).toHaveLength(3);
    await gateway.disturb({ uptime: 63 * 60_000 });
    await until('it is tried once more in the next hour', async () => {
      await ask(keys[0] as { key: string });
      return (await attempts()).length === 4;
    });
    expect(gateway.output()).not.toContain(password);
    await gateway.stop();
    rmSync(folder, { recursive: true, force: true });
  });
});
