import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { CallerLimits } from '../../src/caller/caller-limits.ts';
import { CallerRegistry } from '../../src/caller/caller.registry.ts';
import { JwtCallers } from '../../src/caller/jwt-callers.ts';
import { scopes } from '../../src/request/scopes.ts';
import { ObservedOrderLedger } from '../../src/order-ledger/observed-order-ledger.ts';
import { AliasUsers } from '../../src/upstream/alias-users.ts';
import { ValidationGuard } from '../../src/validation/validation.guard.ts';
import { endings } from '../support/endings.ts';
import { caseOf } from '../support/expected.ts';
import { type GatewayProcess, startGatewayProcess } from '../support/gateway-process.ts';
import { type GatewayInProcess, startInProcess } from '../support/gateway-in-process.ts';
import { type TestAnswer, TestGateway } from '../support/gateway.ts';
import { Issuer } from '../support/issuer.ts';
import { send } from '../support/operations.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';
import { credential } from '../support/settings.ts';

const { ended } = endings();
const sandbox = useSandbox();
beforeEach(() => sandbox.reset({ tokens: true }));

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

  const KEYED = ['findCustomers', 'disableLocks', 'placeOrder'];
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

  it.each<[string, readonly string[], () => unknown]>([
    ['keys', KEYED, () => jest.spyOn(gateway.app.get(CallerRegistry), 'byKey').mockImplementation(throws)],
    ['limits', KEYED, () => jest.spyOn(gateway.app.get(CallerLimits), 'admit').mockImplementation(throws)],
    [
      'acting users',
      ['listMembers', 'addMembers'],
      () => jest.spyOn(gateway.app.get(AliasUsers), 'find').mockImplementation(throws),
    ],
    [
      'validation',
      KEYED,
      () => jest.spyOn(ValidationGuard.prototype, 'canActivate').mockImplementation(throws),
    ],
    [
      'the order ledger',
      ['placeOrder'],
      () => jest.spyOn(gateway.app.get(ObservedOrderLedger), 'begin').mockImplementation(rejects),
    ],
  ])('of %s', async (_, ids, fail) => {
    fail();
    const key = gateway.keys['limited'] as string;
    for (const id of ids) await expectDenied(await send(gateway, caseOf(id), { key }));
    jest.restoreAllMocks();
    expect((await send(gateway, caseOf('findCustomers'), { key })).status).toBe(200);
  });

  it('of tokens', async () => {
    jest.spyOn(gateway.app.get(JwtCallers), 'verified').mockImplementation(rejects);
    const headers = {
      authorization: `Bearer ${await issuer.token({ azp: 'limited', scope: 'orders:read' })}`,
    };
    await expectDenied(await send(gateway, caseOf('findCustomers'), { key: null, headers }));
    jest.restoreAllMocks();
    expect((await send(gateway, caseOf('findCustomers'), { key: null, headers })).status).toBe(200);
  });
});

/** Risk 6 of the security design: the platform locks accounts that fail too often. */
describe("S6 a configured user's wrong password", () => {
  it('is tried at most three times an hour, with any number of callers', async () => {
    const callers = Array.from({ length: 20 }, (_, index) => ({
      name: `caller-${index}`,
      scopes: ['members:read'],
      enterprises: ['ent-harbour'],
      users: ['default'],
    }));
    const password = credential();
    // The gateway has no Redis, whose clock would not jump.
    let process!: GatewayProcess;
    const gateway = new TestGateway(callers);
    await gateway.open(sandbox, {}, async (environment) => {
      gateway.writeUsers({ default: { username: 'admin@harbour', password } });
      return (process = await startGatewayProcess(environment, { disturbed: true }));
    });
    ended(gateway);
    const attempts = async () =>
      (await sandbox.journal('token')).filter(({ body }) => (body as { username?: string }).username);
    const ask = (name: string) =>
      gateway.get('/v1/enterprises/ent-harbour/members', { key: gateway.keys[name] as string });

    for (const minute of [0, 2, 10, 25, 59]) {
      await process.disturb({ uptime: minute * 60_000 });
      // The gateway takes a clock that jumps, or a busy machine, for a late event loop. It refuses for a moment, and the callers repeat.
      let answers: Awaited<ReturnType<typeof ask>>[] = [];
      await until('the gateway serves all callers', async () => {
        answers = await Promise.all(callers.map(({ name }) => ask(name)));
        return answers.every(({ body }) => body['code'] !== 'overloaded');
      });
      expect(new Set(answers.map(({ status, body }) => `${status} ${String(body['code'])}`))).toEqual(
        new Set(['502 upstream-credential-rejected']),
      );
    }
    expect(await attempts()).toHaveLength(3);
    await process.disturb({ uptime: 63 * 60_000 });
    await until('it is tried once more in the next hour', async () => {
      await ask('caller-0');
      return (await attempts()).length === 4;
    });
    expect(gateway.logLines.join()).not.toContain(password);
  });
});
