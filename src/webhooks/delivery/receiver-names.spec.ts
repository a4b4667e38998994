import dns from 'node:dns';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, beforeEach, expect, it, jest } from '@jest/globals';
import { ReceiverNames } from './receiver-names.ts';

type Answer = (error: Error | null, found?: readonly object[]) => void;

const FOUND = [{ address: '192.0.2.1', family: 4 }];
let now: number;
/** The look-ups in their order, each with its answer. */
let asked: [name: string, answer: Answer][];
let names: ReceiverNames;

beforeEach(() => {
  [now, asked] = [0, []];
  names = new ReceiverNames(10_000);
  jest.spyOn(performance, 'now').mockImplementation(() => now);
  jest
    .spyOn(dns, 'lookup')
    .mockImplementation(((name: string, _: object, answer: Answer) => asked.push([name, answer])) as never);
});
afterEach(() => void jest.restoreAllMocks());

const resolve = (name: string) => names.resolve(name, {}).catch((error: Error) => error.message);
const inOrder = () => asked.map(([name]) => name);
/** Ends the look-up in progress after this time. */
async function endLookUp(ms: number, ...given: Parameters<Answer>): Promise<void> {
  await nextTurn();
  now += ms;
  asked.at(-1)?.[1](...given);
  await nextTurn();
}

it('S34 A name whose look-up was slow and failed fails at once for 30 s, and then waits behind the other names', async () => {
  const slow = resolve('slow.example');
  await endLookUp(5_000, new Error('no server answers'));
  expect(await slow).toBe('no server answers');
  now += 29_999;
  expect(await resolve('slow.example')).toBe('the last look-up was slow and failed a moment ago');
  now += 1;
  const all = ['first.example', 'slow.example', 'second.example', 'third.example'].map(resolve);
  for (let each = 0; each < 3; each++) await endLookUp(1, null, FOUND);
  expect(inOrder()).toEqual([
    ...['slow.example', 'first.example', 'second.example', 'third.example', 'slow.example'],
  ]);
  await endLookUp(1, null, FOUND);
  expect(await Promise.all(all)).toEqual([FOUND, FOUND, FOUND, FOUND]);
  // The last look-up of the name was not slow, so the name no longer waits behind the others.
  const again = ['first.example', 'slow.example', 'second.example'].map(resolve);
  for (let each = 0; each < 3; each++) await endLookUp(1, null, FOUND);
  await Promise.all(again);
  expect(inOrder().slice(-3)).toEqual(['first.example', 'slow.example', 'second.example']);
});

it('S34 A slow name that resolves does not fail, and one that fails fast is looked up again', async () => {
  const slow = resolve('slow.example');
  await endLookUp(5_000, null, FOUND);
  const unknown = resolve('unknown.example');
  await endLookUp(1, new Error('unknown'));
  expect(await Promise.all([slow, unknown])).toEqual([FOUND, 'unknown']);
  const again = ['slow.example', 'unknown.example'].map(resolve);
  for (let each = 0; each < 2; each++) await endLookUp(1, null, FOUND);
  expect(await Promise.all(again)).toEqual([FOUND, FOUND]);
  expect(inOrder().slice(-2)).toEqual(['unknown.example', 'slow.example']);
});

it('S34 A slow name behind many others fails when the delivery that waits for it has ended', async () => {
  const slow = resolve('slow.example');
  await endLookUp(5_000, null, FOUND);
  await slow;
  const others = ['first.example', 'second.example', 'third.example'].map(resolve);
  const late = resolve('slow.example');
  await endLookUp(6_000, null, FOUND);
  await endLookUp(6_000, null, FOUND);
  await nextTurn();
  expect(await late).toBe('the look-up waited too long for others');
  expect(await others[1]).toEqual(FOUND);
  expect(inOrder().filter((name) => name === 'slow.example')).toHaveLength(1);
});
