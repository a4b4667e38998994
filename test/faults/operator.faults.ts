import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { version } from '../../src/shared/shipped-file.ts';
import { newSecret } from '../support/canary.ts';
import { metric } from '../support/expected.ts';
import type { TestAnswer } from '../support/gateway.ts';
import { until } from '../support/redis.ts';
import { orderOf } from '../support/order-body.ts';
import { useStack } from '../support/stack.ts';

/** What the shipped gateway tells an operator who has only one replica to ask: its readiness, its metrics and the console's Attention. */

const folder = mkdtempSync(join(tmpdir(), 'operator-'));
const profileFile = join(folder, 'profile.json');
const profile = JSON.stringify({ version: 1, readings: {}, codes: {} });
writeFileSync(profileFile, profile);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const { sandbox, gateway } = useStack({
  environment: { UPSTREAM_DEADLINE_MS: '1500', PLATFORM_PROFILE_FILE: profileFile },
  callers: [
    {
      name: 'crm',
      ...{ scopes: ['orders:write'], enterprises: ['*'], channels: ['*'] },
      budgets: { orders: 1, deletions: 0 },
    },
    { name: 'hasty', scopes: [], rateLimit: { requests: 1, perSeconds: 3_600 } },
  ],
});

/** A gateway whose database can be told to refuse reads. */
const own = useStack({
  database: 'postgres',
  environment: { ESTATE_REFRESH: '6h', WEBHOOK_HOSTS: '127.0.0.1' },
  callers: [{ name: 'crm', scopes: [], budgets: { orders: 5 } }],
});

interface Row {
  readonly level: string;
  readonly title: string;
  readonly detail: string;
  readonly alert?: string;
}
async function attentionOf({ managementUrl }: typeof gateway): Promise<Row[]> {
  const state = await (await fetch(`${managementUrl}/console/state`)).json();
  return (state as { attention: Row[] }).attention;
}
async function rowsOf(alert: string): Promise<Row[]> {
  return (await attentionOf(gateway)).filter((each) => each.alert === alert);
}
const ready = async () => {
  const { status, body } = await gateway.get('/health/ready', { key: null });
  return { httpStatus: status, ...body };
};

/** Resolves once a read is served. A slow machine may lack the time for a read of a healthy platform, too. */
const served = () => until('a read is served', async () => (await gateway.get(ASSETS)).status === 200);

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const MEMBERS = '/v1/enterprises/ent-harbour/members';

describe('G16 the platform hangs while there are few calls', () => {
  const row = 'gateway_upstream_failures_in_a_row{group="orderReads"}';

  it('is told by readiness, the console and a metric from the third timeout on, until a call succeeds', async () => {
    await served();
    await sandbox.fault({ operation: 'listAssets', action: { hang: true } });
    for (const calls of [1, 2]) {
      expect((await gateway.get(ASSETS)).status).toBe(504);
      expect([await metric(gateway, row), await rowsOf('PlatformFailing')]).toEqual([calls, []]);
    }
    expect(await ready()).toMatchObject({ httpStatus: 200, upstream: 'up' });
    expect((await gateway.get(ASSETS)).status).toBe(504);
    expect(await rowsOf('PlatformFailing')).toMatchObject([
      {
        level: 'act',
        title: 'The platform does not answer',
        detail: expect.stringMatching(
          /^3 of the last 3 calls of orderReads timed out since \d\d:\d\d UTC(, the latest at \d\d:\d\d UTC)?$/,
        ),
      },
    ]);
    expect(await ready()).toMatchObject({ httpStatus: 200, status: 'degraded', upstream: 'slow' });
    expect(await metric(gateway, 'gateway_upstream_breaker_state{group="orderReads"}')).toBe(0);

    await sandbox.reset();
    await served();
    expect([await metric(gateway, row), await rowsOf('PlatformFailing')]).toEqual([0, []]);
    expect(await ready()).toMatchObject({ httpStatus: 200, status: 'ok', upstream: 'up' });
  });
});

it('G16 a token endpoint that serves no login is shown, while the gateway has its own tokens', async () => {
  await served();
  const login = { username: 'anna@harbour', password: sandbox.seedPassword };
  const logIn = async () => (await gateway.post('/v1/sessions', login)).status;
  await sandbox.fault({ operation: 'token', action: { httpStatus: 503 } });
  expect(await logIn()).toBe(503);
  await served();
  expect(await rowsOf('TokenEndpointFailing')).toMatchObject([
    { level: 'act', title: 'Users cannot log in' },
  ]);
  await sandbox.reset();
  await until('a user can log in', async () => (await logIn()) === 201);
  expect(await rowsOf('TokenEndpointFailing')).toEqual([]);
});

describe('G17 the new content of a file is refused while the gateway runs', () => {
  it.each([
    ['CALLERS_FILE', 'callers-rejected', gateway.callersFile, () => gateway.writeCallers(), /no JSON/],
    [
      'PLATFORM_PROFILE_FILE',
      'profile-rejected',
      profileFile,
      () => writeFileSync(profileFile, profile),
      /no JSON/,
    ],
  ] as const)(
    '%s: the console and a metric say so until it is mended',
    async (file, event, path, mend, why) => {
      const gauge = `gateway_followed_file_refused{file="${file}"}`;
      const refused = gateway.logged(event);
      writeFileSync(path, '{ "no" }');
      await refused;
      expect(await metric(gateway, gauge)).toBe(1);
      const [row] = await rowsOf('FileRefused');
      expect(row?.title).toBe(`The new content of ${file} is refused`);
      expect(row?.detail).toMatch(why);
      expect(row?.detail).toContain(`${file} must be the path of a usable file: `);
      const taken = gateway.logged(event.replace('rejected', 'reloaded'));
      mend();
      await taken;
      expect([await metric(gateway, gauge), await rowsOf('FileRefused')]).toEqual([0, []]);
    },
  );
});

it('G18 a budget that is used up is told with its caller, and one of 0, which has no share, is not', async () => {
  const key = gateway.keys['crm'] ?? null;
  await until('an order uses the budget up', async () => {
    return (await gateway.post('/v1/license-orders', orderOf('SO-G18'), { key })).status === 201;
  });
  await until('the budgets are measured', async () => (await rowsOf('BudgetNearlyUsed')).length > 0);
  expect(await rowsOf('BudgetNearlyUsed')).toMatchObject([
    { title: 'A budget is used up', detail: expect.stringMatching(/^crm has used 100 % of its orders of /) },
  ]);
  const ratios = (await gateway.metrics()).match(/^gateway_budget_used_ratio\{.*$/gm);
  expect(ratios).toEqual([expect.stringMatching(/budget="orders"\} 1$/)]);
});

describe('G19 the credentials of a user are refused', () => {
  it('the console says when they are tried again, and that replaced ones are tried at once', async () => {
    const users = { default: { username: 'admin@harbour', password: sandbox.seedPassword } };
    const changed = async (password: string) => {
      const taken = gateway.logged('users-reloaded');
      gateway.writeUsers({ ...users, anna: { username: 'anna@harbour', password } });
      await taken;
    };
    const asAnna = () => gateway.get(MEMBERS, { headers: { 'x-acting-user': 'anna' } });
    await changed(newSecret('u'));
    await until('the password is refused', async () => {
      return (await asAnna()).body['code'] === 'upstream-credential-rejected';
    });
    expect(await rowsOf('CredentialsRefused')).toMatchObject([
      {
        title: 'The platform refuses the password of user:anna',
        detail: expect.stringMatching(
          /invalid_grant to user:anna: check UPSTREAM_USERS_FILE\. The first call after \d\d:\d\d:\d\d UTC tries again$/,
        ),
      },
    ]);
    // One user is not the gateway.
    expect(await ready()).toMatchObject({ tokens: 'up' });
    await changed(sandbox.seedPassword);
    expect(await rowsOf('CredentialsRefused')).toEqual([]);
    await until('the password is taken', async () => {
      const { status, body } = await asAnna();
      expect(body['code']).not.toBe('upstream-credential-rejected');
      return status < 500;
    });
    expect(await rowsOf('CredentialsRefused')).toEqual([]);
  });
});

describe('G20 a problem names what is missing, or which limit was reached', () => {
  it('the rate of the caller, with its limit', async () => {
    const me = () => gateway.get('/v1/callers/me', { key: gateway.keys['hasty'] ?? null });
    await me();
    expect((await me()).body).toMatchObject({
      code: 'too-many-requests',
      detail: 'The rate limit of the caller is reached: 1 request in 3600 s.',
    });
  });

  it('the token endpoint', async () => {
    await sandbox.revokeTokens();
    await sandbox.fault({ operation: 'token', action: { httpStatus: 500 } });
    let body: TestAnswer['body'] = {};
    await until('there is no token', async () => {
      ({ body } = await gateway.get(ASSETS));
      return body['code'] === 'dependency-unavailable';
    });
    expect(body['detail']).toMatch(/^The token endpoint of the platform gives the gateway no access token\./);
  });
});

it('G21 the version that runs is in the metrics, and in what the console says of the replica', async () => {
  const text = await gateway.metrics();
  expect(text).toMatch(
    new RegExp(`^gateway_build_info\\{version="${version}",node="\\d+\\.\\d+\\.\\d+"\\} 1$`, 'm'),
  );
});

describe('G27 the database does not answer a read of what the console counts', () => {
  const titles = async () => (await attentionOf(own.gateway)).map(({ title }) => title);
  const isUnknown = (title: string) => title.startsWith('Not known');

  beforeAll(async () => {
    await own.sandbox.fault({ operation: 'batchOrder', action: { reset: 'before-headers' } });
    await until('an order is in doubt', async () => {
      return (await own.gateway.post('/v1/license-orders', orderOf('SO-G27'))).status === 502;
    });
  });

  it.each([
    ['writes', /^Not known: orders/],
    ['attempts', /^Not known: results of searches for orders$/],
    ['jobs', /^Not known: imports$/],
    ['webhooks', /^Not known: webhooks$/],
    ['estate_enterprises', /^Not known: the estate$/],
    ['uses', /^Not known: budgets$/],
  ])(
    'the table %s: it is told as not known, and not as well, until the read succeeds',
    async (table, title) => {
      expect((await titles()).filter(isUnknown)).toEqual([]);
      const other = new Client(own.databaseUrl());
      await other.connect();
      try {
        await other.query(`BEGIN; LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
        await until('it is told, and orders are not refused', async () => {
          const all = await titles();
          return all.some((each) => title.test(each)) && !all.includes('Orders are refused');
        });
      } finally {
        await other.end();
      }
      await until('it is known', async () => !(await titles()).some(isUnknown));
    },
  );
});
