import { randomInt } from 'node:crypto';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { TestSandbox } from '../support/sandbox.ts';
import { drawProfiles, type Played } from './draw.ts';
import { enlarge, playProfile } from './story.ts';

/** The story on 2,000 platforms, two at a time. `PROFILES_SEED` repeats a run. */

const COUNT = 2_000;
const AT_ONCE = 2;
/** A gateway is killed in each of this number of stories. */
const KILL_EVERY = 100;
/** Time passes in each of this number of stories. */
const LATE_EVERY = 10;
const seed = Number(process.env['PROFILES_SEED'] ?? randomInt(2 ** 31));

const sandboxes: TestSandbox[] = [];
beforeAll(async () => {
  for (let each = 0; each < AT_ONCE; each++) {
    const sandbox = await TestSandbox.start();
    await enlarge(sandbox);
    sandboxes.push(sandbox);
  }
});
afterAll(() => Promise.all(sandboxes.map((sandbox) => sandbox.close())));

it(`PROFILES_SEED=${seed}: on every platform of ${COUNT} the story is true`, async () => {
  const profiles = drawProfiles(seed, COUNT);
  const wrong: { readonly profile: Played; readonly wrong: readonly string[] }[] = [];
  const queue = profiles.entries();
  const play = async (sandbox: TestSandbox) => {
    for (const [index, profile] of queue) {
      const isKilled = index % KILL_EVERY === KILL_EVERY - 1;
      const isLate = index % LATE_EVERY === 0;
      const faults = await playProfile(sandbox, profile, { isKilled, isLate }).catch((error: unknown) => [
        String(error),
      ]);
      if (faults.length > 0) wrong.push({ profile, wrong: faults });
    }
  };
  await Promise.all(sandboxes.map(play));
  process.stderr.write(
    `PROFILES_SEED=${seed}: ${COUNT - wrong.length} of ${COUNT} platforms without a fault\n`,
  );
  expect(wrong).toEqual([]);
});
