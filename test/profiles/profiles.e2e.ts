import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { useSandbox } from '../support/stack.ts';
import { drawProfiles } from './draw.ts';
import { enlarge, playProfile } from './story.ts';

/**
 * The same story on some thirty platforms that read the interface in different ways: every pair of two values of two readings is among them.
 * `PROFILES_SEED` repeats a run.
 */

/** Time passes in each of this number of stories. */
const LATE_EVERY = 8;
const seed = Number(process.env['PROFILES_SEED'] ?? randomInt(2 ** 31));
const profiles = drawProfiles(seed);

const sandbox = useSandbox();
beforeAll(() => enlarge(sandbox));

describe(`PROFILES_SEED=${seed}`, () => {
  it.each(profiles.map((profile, index) => ({ index, profile })))(
    'platform $index',
    async ({ profile, index }) => {
      const isLate = index % LATE_EVERY === 0;
      const wrong = await playProfile(sandbox, profile, { isKilled: index === profiles.length - 1, isLate });
      expect({ profile, wrong }).toEqual({ profile, wrong: [] });
    },
  );
});
