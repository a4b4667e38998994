import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { expect, it } from '@jest/globals';
import { figuresOf, runFuzz } from './run.ts';

/*
 * Needs the build (`nest build`). The same commit tries the same; another interface is another seed. `npm run fuzz` is random, and the
 * long form; set FUZZ_SEED to the seed that it printed to repeat its run.
 */
const documentHash = createHash('sha256').update(readFileSync('config/openapi.json')).digest();
const seed = Number(process.env['FUZZ_SEED'] ?? documentHash.readUInt32BE() >>> 1);
const say = (text: string) => process.stderr.write(`${text}\n`);

it('Requests from the document, and sequences of them, find no error', async () => {
  const report = await runFuzz({ seed, cases: 600, sequences: 30 });
  say(figuresOf(report));
  expect(report.violations).toEqual([]);
  // The planned number, and not all of them refusals.
  expect(report.cases.cases).toBeGreaterThanOrEqual(570);
  expect(report.cases.valid.succeeded).toBeGreaterThan(report.cases.valid.all / 4);
  expect(report.sequences.sequences).toBeGreaterThanOrEqual(30);
}, 600_000);
