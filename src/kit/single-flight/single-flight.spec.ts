import { expect, it } from '@jest/globals';
import { SingleFlight } from './single-flight.ts';

let begun: PromiseWithResolvers<string>[];
let flights: SingleFlight<string>;
const work = () => {
  begun.push(Promise.withResolvers());
  return (begun.at(-1) as PromiseWithResolvers<string>).promise;
};
const start = () => {
  begun = [];
  flights = new SingleFlight();
};

it('who comes while the work is under way gets its result, by key; after it the work begins again', async () => {
  start();
  const all = ['a', 'a', 'b'].map((key) => flights.run(key, work));
  expect(begun).toHaveLength(2);
  begun.forEach(({ resolve }, index) => resolve(`result ${index}`));
  expect(await Promise.all(all)).toEqual(['result 0', 'result 0', 'result 1']);
  void flights.run('a', work);
  expect(begun).toHaveLength(3);
});

it('a failure is that of all who joined, and nobody joins it later', async () => {
  start();
  const all = Promise.allSettled([flights.run('a', work), flights.run('a', work)]);
  begun[0]?.reject(new Error('away'));
  expect((await all).map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(flights.has('a')).toBe(false);
});

it('the next run begins when the one under way has ended, also badly, once for all who came meanwhile', async () => {
  start();
  const first = flights.run('a', work).catch(() => 'failed');
  const next = [flights.next('a', work), flights.next('a', work)];
  expect(begun).toHaveLength(1);
  begun[0]?.reject(new Error('away'));
  expect(await first).toBe('failed');
  await Promise.resolve();
  expect(begun).toHaveLength(2);
  const later = flights.next('a', work);
  begun[1]?.resolve('second');
  expect(await Promise.all(next)).toEqual(['second', 'second']);
  await Promise.resolve();
  expect(begun).toHaveLength(3);
  begun[2]?.resolve('third');
  expect(await later).toBe('third');
});

it('a run that is forgotten, and one whose result is still being stored, decide who joins', async () => {
  start();
  const stored = Promise.withResolvers<void>();
  const result = flights.begin('a', Promise.resolve('kept'), stored.promise);
  await result;
  expect(await flights.run('a', work)).toBe('kept');
  flights.forget('a');
  void flights.run('a', work);
  stored.resolve();
  await stored.promise;
  expect([begun.length, flights.has('a')]).toEqual([1, true]);
});
