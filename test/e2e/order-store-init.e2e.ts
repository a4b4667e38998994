import { spawnSync } from 'node:child_process';
import { expect, it } from '@jest/globals';
import { newEncryptionKey } from '../support/canary.ts';
import { orderStoreInit } from '../support/confirm-store.ts';
import { endings } from '../support/endings.ts';
import { ask, freePort, type RunningRedis, startRedis } from '../support/redis.ts';
import { credential } from '../support/settings.ts';

/** order-store-init, as an operator calls it. */

const ENCRYPTION_KEYS = newEncryptionKey();
const platform = 'https://platform.example';

const { ended } = endings();

const newServer = async (...args: string[]) => ended(await startRedis(args));
const environmentOf = (url: string) => ({
  UPSTREAM_BASE_URL: platform,
  UPSTREAM_TOKEN_URL: `${platform}/token`,
  UPSTREAM_APP_KEY: credential(),
  UPSTREAM_APP_SECRET: credential(),
  CALLERS_FILE: 'unused',
  ORDER_REDIS_URL: url,
  ENCRYPTION_KEYS,
});
const keysOf = (server: RunningRedis) => ask(server, (client) => client.keys('*'));
const epochOf = (server: RunningRedis) =>
  ask(server, async (client) => client.get((await client.keys('*:epoch'))[0] ?? ''));

it('npm run order-store-init makes an empty store ready, once, and nothing without a confirmation or with an unknown option', async () => {
  const server = await newServer();
  const environment = environmentOf(server.url);
  for (const [options, said] of [
    [[], /give --yes/],
    [['--force'], /^usage/],
  ] as const) {
    const refused = await orderStoreInit(environment, ...options);
    expect(refused).toEqual({ code: 1, output: expect.stringMatching(said) });
  }
  expect(await keysOf(server)).toEqual([]);

  const { PATH = '', HOME = '' } = process.env;
  const { status, stdout } = spawnSync('npm', ['run', '--silent', 'order-store-init', '--', '--yes'], {
    env: { PATH, HOME, ...environment },
    encoding: 'utf8',
  });
  expect([status, stdout]).toEqual([0, expect.stringMatching(/has no orders[^]*Ready/)]);
  const epoch = await epochOf(server);
  expect(epoch).toMatch(/^operator:\d{13}:[\w-]{22}$/);
  expect(stdout).not.toContain(String(epoch).slice(-22));

  const second = await orderStoreInit(environment, '--yes');
  expect(second).toEqual({ code: 0, output: expect.stringContaining('nothing to do') });
  expect(await epochOf(server)).toBe(epoch);
});

it('order-store-init refuses a store that evicts, is a replica or is down, and a wrong environment, and says what to set', async () => {
  const evicting = await newServer('--maxmemory-policy', 'volatile-lru');
  const replica = await newServer('--replicaof', '127.0.0.1', String(evicting.port));
  const secret = credential();
  const away = `redis://operator:${secret}@127.0.0.1:${await freePort()}`;
  for (const [environment, said] of [
    [environmentOf(evicting.url), 'set maxmemory-policy noeviction'],
    [environmentOf(replica.url), 'name the master'],
    [environmentOf(away), 'does not answer'],
    [environmentOf(''), 'there is no order store'],
    [{ ...environmentOf(away), ENCRYPTION_KEYS: '' }, 'ENCRYPTION_KEYS is required'],
  ] as const) {
    const refused = await orderStoreInit(environment, '--yes');
    expect(refused).toEqual({ code: 1, output: expect.stringContaining(said) });
    expect(refused.output).not.toContain(secret);
  }
  // What was seen of its replicas is no order store.
  expect((await keysOf(evicting)).filter((key) => !key.endsWith(':replicas'))).toEqual([]);
});
