import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { PresentCallers } from '../caller/present-callers.ts';
import { Metrics } from '../observability/metrics.ts';
import { PageTurns } from './page-turns.ts';

let turns: PageTurns;
let present: PresentCallers;
/** Pages in the order in which they were begun, each with the function that ends it. */
let begun: { name: string; end: () => void }[];
beforeEach(() => {
  present = new PresentCallers();
  turns = new PageTurns(new Metrics(), present);
  begun = [];
});

function ask(caller: string, name: string, abandon?: AbortSignal): Promise<string> {
  return turns.take(caller, abandon, () => {
    const { promise, resolve } = Promise.withResolvers<string>();
    begun.push({ name, end: () => resolve(name) });
    return promise;
  });
}

const names = () => begun.map(({ name }) => name).join(' ');
const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('K37 pages of orders', () => {
  it('are read one at a time for each caller, two in the process, and each caller has its turn', async () => {
    const pages = [
      ask('a', 'a1'),
      ask('a', 'a2'),
      ask('a', 'a3'),
      ask('b', 'b1'),
      ask('c', 'c1'),
      ask('b', 'b2'),
    ];
    expect(names()).toBe('a1 b1');
    for (const then of ['a1 b1 c1', 'a1 b1 c1 a2', 'a1 b1 c1 a2 b2', 'a1 b1 c1 a2 b2 a3']) {
      begun[then.split(' ').length - 3]?.end();
      await settle();
      expect(names()).toBe(then);
    }
    for (const { end } of begun) end();
    expect(await Promise.all(pages)).toEqual(['a1', 'a2', 'a3', 'b1', 'c1', 'b2']);
  });

  it('of a caller are followed by a rest of twice their time while another caller is there', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'queueMicrotask', 'nextTick'] });
    try {
      const end = async (index: number, afterMs: number) => {
        jest.advanceTimersByTime(afterMs);
        begun[index]?.end();
        await settle();
      };
      const pages = [ask('a', 'a1'), ask('a', 'a2'), ask('a', 'a3')];
      present.arrived('a', performance.now());
      await end(0, 20);
      // The caller is alone.
      expect(names()).toBe('a1 a2');
      present.arrived('b', performance.now());
      await end(1, 20);
      expect(names()).toBe('a1 a2');
      const other = ask('b', 'b1');
      expect(names()).toBe('a1 a2 b1');
      jest.advanceTimersByTime(39);
      await settle();
      expect(names()).toBe('a1 a2 b1');
      jest.advanceTimersByTime(1);
      await settle();
      expect(names()).toBe('a1 a2 b1 a3');
      for (const each of begun) each.end();
      await Promise.all([...pages, other]);
    } finally {
      jest.useRealTimers();
    }
  });

  it('go on after one has failed', async () => {
    const failed = turns.take('a', undefined, () => Promise.reject(new Error('Redis is away')));
    const next = ask('a', 'a1');
    await expect(failed).rejects.toThrow('Redis is away');
    begun[0]?.end();
    expect(await next).toBe('a1');
  });

  it('are not read for a caller that has hung up', async () => {
    const gone = new AbortController();
    void ask('a', 'a1');
    const second = ask('a', 'a2', gone.signal);
    const third = ask('a', 'a3');
    gone.abort();
    await expect(second).rejects.toThrow();
    begun[0]?.end();
    await settle();
    expect(names()).toBe('a1 a3');
    begun[1]?.end();
    expect(await third).toBe('a3');
  });

  it('are refused with 503 `overloaded` after a wait of 5 s', async () => {
    jest.useFakeTimers({ doNotFake: ['setImmediate', 'queueMicrotask', 'nextTick'] });
    try {
      void ask('a', 'a1');
      const second = ask('a', 'a2');
      jest.advanceTimersByTime(4_900);
      const third = ask('a', 'a3');
      jest.advanceTimersByTime(200);
      await expect(second).rejects.toMatchObject({ slug: 'overloaded', headers: { 'retry-after': '1' } });
      begun[0]?.end();
      await settle();
      expect(names()).toBe('a1 a3');
      begun[1]?.end();
      expect(await third).toBe('a3');
    } finally {
      jest.useRealTimers();
    }
  });
});
