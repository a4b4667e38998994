import { expect, it } from '@jest/globals';
import { LimitPerKey } from './limit-per-key.ts';

it('runs as many tasks of each key at a time, and those of other keys beside them', async () => {
  const limit = new LimitPerKey(1);
  const { promise, resolve } = Promise.withResolvers<void>();
  const ended: string[] = [];
  const run = (key: string, name: string, until?: Promise<void>) =>
    limit.run(key, async () => {
      await until;
      ended.push(name);
    });
  const first = run('one', 'first', promise);
  const second = run('one', 'second');
  expect([limit.isFull('one'), limit.isFull('other')]).toEqual([true, false]);
  await run('other', 'third');
  expect(ended).toEqual(['third']);
  resolve();
  await Promise.all([first, second]);
  expect([ended, limit.isFull('one')]).toEqual([['third', 'first', 'second'], false]);
});

it('goes on after a task that failed', async () => {
  const limit = new LimitPerKey(1);
  await expect(limit.run('one', () => Promise.reject(new Error('failed')))).rejects.toThrow('failed');
  expect(await limit.run('one', () => Promise.resolve('done'))).toBe('done');
});
