import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { afterFailure, type FailureRecord, keptMs, recordSchema, TokenFailure } from './token-failure.ts';

const HOUR_MS = 3_600_000;
const unavailable = new TokenFailure('unavailable', 'no_answer', { ofEndpoint: true });
const rejected = new TokenFailure('rejected', 'invalid_grant');
const noJitter = () => 0;

/** Returns the holds in seconds of this many failures in a row. Each request is made as soon as the hold before it ends. */
function holds(failure: TokenFailure, times: number): number[] {
  let record: FailureRecord | undefined;
  let now = 0;
  return Array.from({ length: times }, () => {
    const next = afterFailure(record, failure, now, noJitter);
    record = next.record;
    now += next.holdMs;
    return next.holdMs / 1_000;
  });
}

describe('after a failure the gateway does not ask again', () => {
  it('for 1, 2, 4 … 60 s where there was no response', () => {
    expect(holds(unavailable, 9)).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
  });

  it('for as long as the platform says', () => {
    const named = new TokenFailure('unavailable', 'error_response', { retryAfter: 1_800, ofEndpoint: true });
    expect(holds(named, 3)).toEqual([1_800, 1_800, 1_800]);
  });

  it('and the waits that the platform names are no steps of the backoff', () => {
    const named = new TokenFailure('unavailable', 'error_response', { retryAfter: 1, ofEndpoint: true });
    let record: FailureRecord | undefined;
    for (let count = 0; count < 20; count++) record = afterFailure(record, named, 0, noJitter).record;
    expect(recordSchema.parse(record)).toEqual(record);
    const holdsAfter = [unavailable, named, unavailable].map((failure) => {
      const next = afterFailure(record, failure, 0, noJitter);
      record = next.record;
      return next.holdMs;
    });
    expect(holdsAfter).toEqual([1_000, 1_000, 2_000]);
  });

  it('for a minute, then 15, and past the third try until the hour since the first is over, where credentials were refused', () => {
    expect(holds(rejected, 4)).toEqual([60, 900, 2_640.001, 900]);
  });

  it('for a little longer than that, and never shorter, so that replicas do not move in step', () => {
    const step = fc.record({ random: fc.double({ min: 0, max: 0.999, noNaN: true }), count: fc.nat(10) });
    fc.assert(
      fc.property(step, ({ random, count }) => {
        const before = count === 0 ? undefined : recordWith({ count });
        const plain = afterFailure(before, unavailable, 0, noJitter).holdMs;
        const { holdMs } = afterFailure(before, unavailable, 0, () => random);
        expect(holdMs).toBeGreaterThanOrEqual(plain);
        expect(holdMs).toBeLessThanOrEqual(plain * 1.1 + 1);
      }),
    );
  });
});

describe('refused credentials', () => {
  it('are those of a password too that may have been refused in unknown words', () => {
    const unknown = { ofPassword: true };
    expect(holds(new TokenFailure('unavailable', 'error_response', unknown), 4)).toEqual([
      60, 900, 2_640.001, 900,
    ]);
    const limited = new TokenFailure('unavailable', 'error_response', { ...unknown, retryAfter: 300 });
    expect(holds(limited, 2)).toEqual([300, 900]);
    const { record } = afterFailure(undefined, unavailable, 0, noJitter);
    const { holdMs } = afterFailure(record, new TokenFailure('unavailable', 'a_word', unknown), 0, noJitter);
    expect(holdMs).toBe(60_000);
  });

  it('are tried at most three times in any hour, also with other failures in between and after long pauses', () => {
    const step = fc.record({ refused: fc.boolean(), lateMs: fc.nat(2 * HOUR_MS) });
    const againRefused = { refused: true, lateMs: 0 };
    const failedForSixMinutes = { refused: false, lateMs: 360_000 };
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const tries: number[] = [];
        let record: FailureRecord | undefined;
        let now = 1_700_000_000_000;
        for (const { refused, lateMs } of steps) {
          const next = afterFailure(record, refused ? rejected : unavailable, now);
          if (refused) tries.push(now);
          record = next.record;
          const kept = keptMs(record, next.holdMs);
          const passed = next.holdMs + lateMs;
          now += passed;
          if (passed > kept) record = undefined;
        }
        for (const at of tries) {
          const within = tries.filter((other) => other >= at && other < at + HOUR_MS);
          // A failure of another kind between them allows a further try, but never a fourth.
          expect(within.length).toBeLessThanOrEqual(3);
        }
      }),
      {
        numRuns: 1_000,
        examples: [[[againRefused, failedForSixMinutes, againRefused, againRefused, againRefused]]],
      },
    );
  });
});

it('a record is read back as it was written', () => {
  const { record } = afterFailure(undefined, rejected, 5);
  expect(recordSchema.parse(JSON.parse(JSON.stringify(record)))).toEqual(record);
});

function recordWith(given: Partial<FailureRecord>): FailureRecord {
  return { kind: 'unavailable', reason: 'no_answer', ofEndpoint: true, count: 1, refusedAt: [], ...given };
}
