import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it, jest } from '@jest/globals';
import { OrderLedgerKeeper } from '../../src/order-ledger/order-ledger-keeper.ts';
import { newEncryptionKey } from '../support/canary.ts';
import { endings } from '../support/endings.ts';
import { startInProcess } from '../support/gateway-in-process.ts';
import { ledgerBegin } from '../support/ledger-order.ts';
import { ask, freePort, type RunningRedis, startRedis, until } from '../support/redis.ts';
import { credential } from '../support/settings.ts';
import { TestSandbox } from '../support/sandbox.ts';

/** `npm run guard-init`, as an operator calls it. */

jest.setTimeout(180_000);

const keys = newEncryptionKey();
const platform = 'https://platform.example';

const { atEnd } = endings();

async function newServer(...args: string[]): Promise<RunningRedis> {
  const server = await startRedis(args);
  atEnd(() => server.stop());
  return server;
}

interface Ended {
  readonly code: number;
  readonly output: string;
}

async function ledgerInit(
  url: string,
  options: string[] = [],
  more: Record<string, string> = {},
): Promise<Ended> {
  const child = spawn('npm', ['run', '--silent', 'guard-init', '--', ...options], {
    env: {
      PATH: process.env['PATH'],
      HOME: process.env['HOME'],
      UPSTREAM_BASE_URL: platform,
      UPSTREAM_TOKEN_URL: `${platform}/token`,
      UPSTREAM_APP_KEY: credential(),
      UPSTREAM_APP_SECRET: credential(),
      CALLERS_FILE: 'unused',
      GUARD_REDIS_URL: url,
      ENCRYPTION_KEYS: keys,
      ...more,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
  child.stderr.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const [code] = (await once(child, 'close')) as [number];
  return { code, output };
}

const keysOf = (server: RunningRedis) => ask(server, (client) => client.keys('*'));

describe('npm run guard-init', () => {
  it('makes an empty store ready, once', async () => {
    const server = await newServer();
    const first = await ledgerInit(server.url, ['--yes']);
    expect(first).toMatchObject({ code: 0, output: expect.stringMatching(/has no orders[^]*Ready/) });
    const key = (await keysOf(server)).find((each) => each.endsWith(':epoch'));
    const epoch = await ask(server, (client) => client.get(String(key)));
    expect(epoch).toMatch(/^operator:\d{13}:[\w-]{22}$/);
    expect(first.output).not.toContain(String(epoch).slice(-22));

    const second = await ledgerInit(server.url, ['--yes']);
    expect(second).toMatchObject({ code: 0, output: expect.stringContaining('nothing to do') });
    expect(await ask(server, (client) => client.get(String(key)))).toBe(epoch);
  });

  it('changes nothing without a confirmation, or with an unknown option', async () => {
    const server = await newServer();
    expect(await ledgerInit(server.url)).toMatchObject({
      code: 1,
      output: expect.stringContaining('give --yes'),
    });
    expect(await ledgerInit(server.url, ['--force'])).toMatchObject({
      code: 1,
      output: expect.stringMatching(/^usage/),
    });
    expect(await keysOf(server)).toEqual([]);
  });

  it('refuses a store that evicts, is a replica or is down, and says what to set', async () => {
    const evicting = await newServer('--maxmemory-policy', 'volatile-lru');
    const replica = await newServer('--replicaof', '127.0.0.1', String(evicting.port));
    const secret = credential();
    expect(await ledgerInit(evicting.url, ['--yes'])).toMatchObject({
      code: 1,
      output: expect.stringContaining('set maxmemory-policy noeviction'),
    });
    expect(await ledgerInit(replica.url, ['--yes'])).toMatchObject({
      code: 1,
      output: expect.stringContaining('name the master'),
    });
    const away = await ledgerInit(`redis://operator:${secret}@127.0.0.1:${await freePort()}`, ['--yes']);
    expect(away).toMatchObject({ code: 1, output: expect.stringContaining('does not answer') });
    expect(away.output).not.toContain(secret);
    // What was seen of its replicas is no order store.
    expect((await keysOf(evicting)).filter((key) => !key.endsWith(':replicas'))).toEqual([]);
  });

  it('names what the environment lacks', async () => {
    const { code, output } = await ledgerInit('', ['--yes']);
    expect([code, output]).toEqual([1, expect.stringContaining('there is no order store')]);
    const keyless = await ledgerInit('redis://127.0.0.1:1', ['--yes'], { ENCRYPTION_KEYS: '' });
    expect([keyless.code, keyless.output]).toEqual([
      1,
      expect.stringContaining('ENCRYPTION_KEYS is required'),
    ]);
  });

  it('lets a running gateway accept orders again, without a restart, and counts the records', async () => {
    const server = await newServer();
    const sandbox = await TestSandbox.start();
    atEnd(() => sandbox.close());
    const gateway = await startInProcess(sandbox, { GUARD_REDIS_URL: server.url, ENCRYPTION_KEYS: keys });
    atEnd(() => gateway.stop());
    const { store } = gateway.app.get(OrderLedgerKeeper);
    const begin = (channelOrderId: string) => store.begin(ledgerBegin(channelOrderId, { leaseMs: 600_000 }));
    await begin('SO-1');
    await ask(server, (client) => client.flushall());
    await expect(begin('SO-2')).rejects.toMatchObject({ reason: 'stopped' });

    const here = { UPSTREAM_BASE_URL: sandbox.url };
    expect(await ledgerInit(server.url, ['--yes'], here)).toMatchObject({ code: 0 });
    await until('orders are taken', async () => (await begin('SO-2')).kind === 'begun');
    await begin('SO-3');
    const again = await ledgerInit(server.url, ['--yes'], here);
    expect(again.output).toContain('Orders in the order store: 2 sending.');
  });
});
