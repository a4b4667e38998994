import { expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { endings } from '../../../test/support/endings.ts';
import { startRedis } from '../../../test/support/redis.ts';
import type { RunCommand } from '../redis-script/redis-script.ts';
import { isLeaseFree, keepLease, underLease } from './lease.ts';

const { ended, atEnd } = endings();

async function openRedis() {
  const client = new Redis(ended(await startRedis()).url);
  atEnd(() => client.disconnect());
  const run: RunCommand = (command) => command(client);
  return { client, run };
}

const soon = () => performance.now() + 100;
const later = () => performance.now() + 600_000;

it('gives one owner the lease at a time, and the next one when it is released', async () => {
  const { run } = await openRedis();
  let inside = 0;
  let most = 0;
  const work = async () => {
    most = Math.max(most, ++inside);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
    return 'done';
  };
  const all = Array.from({ length: 5 }, () =>
    underLease(run, 'a', { lifeMs: 60_000, giveUpAt: later() }, work),
  );
  expect(await Promise.all(all)).toEqual(all.map(() => 'done'));
  expect(most).toBe(1);
});

it('gives up in time where another owner keeps it', async () => {
  const { client, run } = await openRedis();
  await client.set('a', 'somebody', 'PX', 60_000);
  const work = () => Promise.resolve('done');
  expect(await underLease(run, 'a', { lifeMs: 1_000, giveUpAt: soon() }, work)).toBeUndefined();
  expect(await client.get('a')).toBe('somebody');
});

it('is not released by its last owner where another one has it', async () => {
  const { client, run } = await openRedis();
  const result = await underLease(run, 'a', { lifeMs: 1, giveUpAt: later() }, () =>
    client.set('a', 'the next', 'PX', 60_000),
  );
  expect(result).toBe('OK');
  expect(await client.get('a')).toBe('the next');
});

it('is taken again by an owner of the same name, which the reply did not reach', async () => {
  const { client, run } = await openRedis();
  await client.set('a', 'me', 'PX', 60_000);
  const work = () => Promise.resolve('done');
  expect(await underLease(run, 'a', { lifeMs: 1_000, giveUpAt: soon(), owner: 'me' }, work)).toBe('done');
  expect(await client.exists('a')).toBe(0);
});

it('is not held off by a key that the gateway did not write', async () => {
  const { client, run } = await openRedis();
  await client.set('without an end', 'foreign');
  await client.lpush('of another type', 'foreign');
  for (const key of ['without an end', 'of another type']) {
    const holder = await underLease(run, key, { lifeMs: 60_000, giveUpAt: soon(), owner: 'me' }, () =>
      client.get(key),
    );
    expect(holder).toBe('me');
    expect(await client.exists(key)).toBe(0);
  }
});

it('is renewed while its owner has it, and not after another owner may have had it', async () => {
  const { client, run } = await openRedis();
  const lease = { lifeMs: 60_000, owner: 'me' };
  await client.set('a', 'me', 'PX', 30_000);
  expect(await keepLease(run, 'a', lease)).toBe(true);
  expect(await client.pttl('a')).toBeGreaterThan(30_000);
  for (const lost of [() => client.set('a', 'another', 'PX', 30_000), () => client.del('a')]) {
    await lost();
    expect(await keepLease(run, 'a', lease)).toBe(false);
    expect(await client.get('a')).not.toBe('me');
  }
});

it('is released where the work fails', async () => {
  const { client, run } = await openRedis();
  const fails = underLease(run, 'a', { lifeMs: 60_000, giveUpAt: later() }, () =>
    Promise.reject(new Error('the work failed')),
  );
  await expect(fails).rejects.toThrow('the work failed');
  expect(await client.exists('a')).toBe(0);
});

it('has the same rule in the process as in Redis', async () => {
  const { client, run } = await openRedis();
  await client.set('own', 'me', 'PX', 60_000);
  await client.set("another's", 'another', 'PX', 60_000);
  await client.set('without an end', 'another');
  for (const key of ['missing', 'own', "another's", 'without an end']) {
    const value = await client.get(key);
    const entry = value === null ? undefined : { value, endsInMs: await client.pttl(key) };
    const isTaken = await underLease(run, key, { lifeMs: 60_000, giveUpAt: 0, owner: 'me' }, () =>
      Promise.resolve(true),
    );
    expect([key, isLeaseFree(entry, 'me')]).toEqual([key, isTaken ?? false]);
  }
});
