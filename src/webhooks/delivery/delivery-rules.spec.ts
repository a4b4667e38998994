import { describe, expect, it } from '@jest/globals';
import type { Webhook } from '../store/webhook-record.ts';
import {
  afterAttempt,
  failingSinceOf,
  lanesOf,
  newDelivery,
  nextAttemptIn,
  progressAfter,
  stateOf,
  wants,
} from './delivery-rules.ts';
import type { Sent } from './receivers.ts';
import { signingSecretsOf } from './signature.ts';

const NOW = Date.parse('2026-11-26T08:00:00Z');
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const sent = (status: number | null, over: Partial<Sent> = {}): Sent => ({
  ...{ status, failure: status === null ? 'timeout' : null, durationMs: 5, ...over },
});
const webhook: Webhook = {
  ...{ webhookId: 'w', caller: 'c', url: 'https://hook.example/', types: ['job.failed'], description: null },
  ...{ offReason: null, createdAt: NOW, enabledAt: NOW, secret: 'one' },
};
const fresh = newDelivery('job.failed', 'job-1', NOW);
const nowhere = { cursor: '', lastDeliveredAt: null, failingSince: null, pending: 1 };

describe('after an attempt', () => {
  it('what is taken is delivered, with any 2xx', () => {
    for (const status of [200, 201, 204, 299])
      expect(afterAttempt(fresh, sent(status), NOW)).toMatchObject({
        ...{ state: 'delivered', attempts: 1, lastStatus: status, lastError: null, nextAttemptAt: null },
      });
  });

  it('all else waits 5 s, 1 min, 5 min, 30 min, 2 h, 6 h, 12 h and 24 h, a tenth more at most, and has failed then', () => {
    const waits = [5_000, MINUTE, 5 * MINUTE, 30 * MINUTE, 2 * HOUR, 6 * HOUR, 12 * HOUR, 24 * HOUR];
    let delivery = fresh;
    for (const [index, wait] of waits.entries()) {
      delivery = afterAttempt(delivery, sent([302, 400, 500, null][index % 4] as number | null), NOW);
      expect(delivery).toMatchObject({ state: 'pending', attempts: index + 1 });
      const waited = (delivery.nextAttemptAt ?? 0) - NOW;
      expect([wait, waited >= wait && waited <= wait * 1.1, Number.isInteger(waited)]).toEqual([
        ...[wait, true, true],
      ]);
    }
    expect(afterAttempt(delivery, sent(503), NOW)).toMatchObject({
      ...{ state: 'failed', attempts: 9, lastError: 'status-503', nextAttemptAt: null },
    });
  });

  it('the receiver is left alone for as long as it asks', () => {
    const asked = sent(429, { retryAfterS: 1_800 });
    expect(afterAttempt(fresh, asked, NOW).nextAttemptAt).toBe(NOW + 1_800_000);
  });

  it('waits that the receiver names are no steps of the schedule, for two days', () => {
    const asked = sent(429, { retryAfterS: 1 });
    let delivery = fresh;
    for (let count = 1; count <= 100; count++) {
      delivery = afterAttempt(delivery, asked, NOW + count);
      expect(delivery).toMatchObject({ attempts: count, nextAttemptAt: NOW + count + 1_000 });
    }
    const stepped = afterAttempt(delivery, sent(500), NOW);
    expect(stepped).toMatchObject({ state: 'pending', attempts: 101 });
    expect((stepped.nextAttemptAt ?? 0) - NOW).toBeLessThanOrEqual(5_500);
    // After that, the waits are steps of the schedule, and the longer of the two waits counts.
    const [late, hour] = [NOW + 48 * HOUR, sent(503, { retryAfterS: 3_600 })];
    for (let steps = 0; steps < 8; steps++) delivery = afterAttempt(delivery, hour, late);
    expect((delivery.nextAttemptAt ?? 0) - late).toBeGreaterThanOrEqual(24 * HOUR);
    expect(afterAttempt(delivery, hour, late)).toMatchObject({ state: 'failed', attempts: 109 });
  });

  it('a wait of no time is none', () => {
    const asked = sent(429, { retryAfterS: 0 });
    expect(afterAttempt(fresh, asked, NOW).nextAttemptAt).toBeGreaterThanOrEqual(NOW + 5_000);
  });

  it('a failure is told without a word of the receiver', () => {
    const failed = (one: Sent) => afterAttempt(fresh, one, NOW).lastError;
    expect([sent(null), sent(404)].map(failed)).toEqual(['timeout', 'status-404']);
  });

  it('the webhook fails from the first failure to the next success, or until nothing waits', () => {
    const failing = progressAfter(nowhere, sent(500), NOW);
    expect(progressAfter(failing, sent(null), NOW + MINUTE).failingSince).toBe(NOW);
    expect(stateOf(webhook, failing)).toBe('failing');
    expect(progressAfter(failing, sent(200), NOW + HOUR)).toMatchObject({
      ...{ failingSince: null, lastDeliveredAt: NOW + HOUR },
    });
    const givenUp = { ...failing, pending: 0 };
    expect([failingSinceOf(webhook, givenUp), stateOf(webhook, givenUp)]).toEqual([null, 'ok']);
    const switchedOn = { ...webhook, enabledAt: NOW + 1 };
    expect([failingSinceOf(switchedOn, failing), stateOf(switchedOn, failing)]).toEqual([null, 'ok']);
  });
});

describe('what is sent', () => {
  it('is of the types that the webhook wants', () => {
    expect(['job.failed', 'job.succeeded'].map((type) => wants(webhook, type))).toEqual([true, false]);
    expect(wants({ ...webhook, types: ['*'] }, 'job.succeeded')).toBe(true);
  });

  it('is signed with each former secret too, up to its end', () => {
    const former = { secret: 'zero', until: NOW + 2 };
    const earlier = [{ secret: 'minus one', until: NOW + 1 }];
    const rotated = { ...webhook, former, earlier };
    expect([NOW, NOW + 1, NOW + 2].map((now) => signingSecretsOf(rotated, now))).toEqual([
      ...[['one', 'zero', 'minus one'], ['one', 'zero'], ['one']],
    ]);
    expect(signingSecretsOf({ ...webhook, former }, NOW)).toEqual(['one', 'zero']);
    expect(signingSecretsOf(webhook, NOW)).toEqual(['one']);
  });

  it('goes in the order of events within a record, and a record waits for its first', () => {
    const deliveries = new Map([
      ['3', fresh],
      ['1', { ...fresh, attempts: 1, nextAttemptAt: NOW + HOUR }],
      ['2', { ...fresh, lane: 'job-2', nextAttemptAt: NOW + MINUTE }],
    ]);
    expect(lanesOf(deliveries)).toEqual([['1', '3'], ['2']]);
    expect(nextAttemptIn(deliveries)).toBe(NOW + MINUTE);
    expect(nextAttemptIn(new Map())).toBeNull();
  });
});
