import { randomInt } from 'node:crypto';
import { expect, it } from '@jest/globals';
import { runLeak } from './leak.ts';
import { figuresOf, LONG, MAX_BYTES_A_ROUND, runFuzz } from './run.ts';

/* The long forms. FUZZ_SEED repeats the run that printed it. */
const seed = Number(process.env['FUZZ_SEED'] ?? randomInt(2 ** 31));
const say = (text: string) => process.stderr.write(`${text}\n`);

it('Many requests from the document, and sequences of them, find no error', async () => {
  const report = await runFuzz({ ...LONG, seed });
  say(figuresOf(report));
  expect(report.violations).toEqual([]);
});

it('Rounds of requests, refusals, failures and hang-ups leave nothing behind', async () => {
  const { rounds, requests, slopes, left } = await runLeak({ rounds: 100, warmUp: 20 });
  say(`leak: ${rounds} rounds, ${requests} requests, bytes a round ${JSON.stringify(slopes)}`);
  expect(left).toEqual({});
  expect(slopes.data).toBeLessThan(MAX_BYTES_A_ROUND);
});
