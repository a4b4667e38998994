import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { LongReads } from './long-reads.ts';

const reader = { caller: { name: 'one' } };
const never = new Promise<void>(() => undefined);

beforeEach(() => {
  jest.useFakeTimers();
});
afterEach(() => {
  jest.useRealTimers();
});

it('S36 a large result that is never sent keeps the next one waiting for 30 s, and no other read', async () => {
  const reads = new LongReads();
  const large = (result: string, sent?: Promise<void>) =>
    reads.runUntilSent(
      reader,
      () => Promise.resolve(result),
      () => sent,
    );
  expect(await large('first', never)).toBe('first');
  expect(await reads.run(reader, () => Promise.resolve('other'))).toBe('other');
  let next: string | undefined;
  const second = large('second').then((result) => (next = result));
  await jest.advanceTimersByTimeAsync(29_000);
  expect(next).toBeUndefined();
  await jest.advanceTimersByTimeAsync(1_000);
  expect(await second).toBe('second');
});

it('goes on when the result was sent, and after a read that failed', async () => {
  const reads = new LongReads();
  const { promise: sent, resolve } = Promise.withResolvers<void>();
  const failed = () => Promise.reject(new Error('failed'));
  const first = reads.runUntilSent(
    reader,
    () => Promise.resolve('first'),
    () => sent,
  );
  const second = reads.runUntilSent(reader, failed, () => undefined);
  const third = reads.runUntilSent(
    reader,
    () => Promise.resolve('third'),
    () => undefined,
  );
  expect(await first).toBe('first');
  resolve();
  await expect(second).rejects.toThrow('failed');
  expect(await third).toBe('third');
});
