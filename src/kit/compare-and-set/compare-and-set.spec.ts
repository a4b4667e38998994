import { beforeEach, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { endings } from '../../../test/support/endings.ts';
import { startRedis } from '../../../test/support/redis.ts';
import type { RunCommand } from '../redis-script/redis-script.ts';
import { atomicStep, replaceValue } from './compare-and-set.ts';

const { ended, atEnd } = endings();
let client: Redis;
const run: RunCommand = (command) => command(client);

beforeEach(async () => {
  client = new Redis(ended(await startRedis()).url);
  atEnd(() => client.disconnect());
});

const LIFE_MS = 60_000;
const valueOf = (value: string | undefined) => ({ index: 0, value: String(value), lifeMs: LIFE_MS });

it('loses no step of owners that take theirs at once', async () => {
  const addOne = () =>
    atomicStep(run, ['count'], ([kept]) => {
      const next = String(Number(kept?.value ?? 0) + 1);
      return { result: next, changes: [valueOf(next)] };
    });
  const results = await Promise.all(Array.from({ length: 20 }, addOne));
  expect(new Set(results).size).toBe(20);
  expect(await client.get('count')).toBe('20');
});

it('decides on all keys and the time of Redis, and changes, deletes or leaves them', async () => {
  await client.set('a', 'with an end', 'PX', LIFE_MS);
  await client.set('b', 'without one');
  await client.lpush('c', 'of another type');
  const [seconds] = await client.time();
  const seen = await atomicStep(run, ['a', 'b', 'c', 'd'], (kept, now) => ({
    result: { kept, now },
    changes: [
      { index: 0, value: '', lifeMs: 0 },
      { index: 3, value: 'made', lifeMs: LIFE_MS },
    ],
  }));
  const [a, ...others] = seen.kept;
  expect([a?.value, (a?.endsInMs ?? 0) > 0]).toEqual(['with an end', true]);
  expect(others).toEqual([{ value: 'without one', endsInMs: -1 }, undefined, undefined]);
  expect(Math.abs(seen.now - Number(seconds) * 1_000)).toBeLessThan(LIFE_MS);
  expect(await client.mget('a', 'b', 'd')).toEqual([null, 'without one', 'made']);
  expect(await client.pttl('d')).toBeGreaterThan(0);
  const unchanged = await atomicStep(run, ['d'], ([kept]) => ({ result: kept?.value, changes: [] }));
  expect(unchanged).toBe('made');
});

it('replaces or deletes the value that was read, with the end of its life, and no other', async () => {
  await client.set('a', 'read', 'PX', LIFE_MS);
  expect(await replaceValue(run, 'a', 'read', 'new')).toBe(true);
  expect(await replaceValue(run, 'a', 'read', 'newer')).toBe(false);
  expect(await client.get('a')).toBe('new');
  const lifeMs = await client.pttl('a');
  expect([lifeMs > 0, lifeMs <= LIFE_MS]).toEqual([true, true]);
  expect(await replaceValue(run, 'a', 'read', undefined)).toBe(false);
  expect(await client.get('a')).toBe('new');
  expect(await replaceValue(run, 'a', 'new', undefined)).toBe(true);
  expect(await replaceValue(run, 'a', 'new', 'newer')).toBe(false);
  expect(await client.exists('a')).toBe(0);
});
