import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MAX_MOVES } from '../../src/events/log/move-log.ts';
import { askDatabase } from '../support/postgres.ts';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** The feed with as many events as are kept, and more. */

const EVENTS = '/v1/events';
const MORE = 20_000;
const ROUNDS = 300;
const PLACES = 30;
/** A search from one end of the feed would be thousands of times slower at the other one. */
const MAX_RATIO = 5;

const sandbox = useSandbox();
let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(sandbox, 1);
});
afterAll(() => fleet.stop());

it(`of ${MAX_MOVES} a page is read as fast wherever it begins; those beyond are dropped, and readers are told`, async () => {
  const inDatabase = (statement: string) => askDatabase(fleet.environment['DATABASE_URL'] ?? '', statement);
  expect((await fleet.post(0, '/v1/license-orders', orderOf('SO-many'))).status).toBe(201);
  const first = String((await fleet.get(0, `${EVENTS}?limit=1`)).body['next']);
  await inDatabase(`BEGIN;
    UPDATE numbers SET value = value + ${MAX_MOVES + MORE - 1} WHERE name = 'feed';
    INSERT INTO events SELECT platform, number + copy, kind, name, state, at, size, record
      FROM events, generate_series(1, ${MAX_MOVES + MORE - 1}) AS copy;
    COMMIT`);
  const atFirst = () => fleet.get(0, `${EVENTS}?after=${first}`);
  await until('those beyond are dropped', async () => Number((await atFirst()).body['oldest']) >= MORE);
  const gone = await atFirst();
  expect([gone.status, gone.body['code']]).toEqual([410, 'events-expired']);
  const oldest = Number(gone.body['oldest']);
  const cursorAt = (number: number) => String(number).padStart(first.length, '0');
  expect((await fleet.get(0, `${EVENTS}?after=${cursorAt(oldest)}&limit=1`)).status).toBe(200);

  const step = Math.floor(MAX_MOVES / ROUNDS);
  const cursors = Array.from({ length: ROUNDS }, (_, round) => cursorAt(oldest + (round + 1) * step));
  const took: number[] = [];
  // Twice, since the first requests of a process are slow.
  for (const cursor of [...cursors, ...cursors]) {
    const began = performance.now();
    const response = await fetch(`${fleet.gateways[0]?.url}${EVENTS}?after=${cursor}`, {
      headers: { 'x-api-key': fleet.key },
    });
    await response.arrayBuffer();
    took.push(performance.now() - began);
    expect(response.status).toBe(200);
  }
  took.splice(0, ROUNDS);
  const median = (some: readonly number[]) =>
    some.toSorted((one, other) => one - other)[some.length >> 1] ?? Infinity;
  // Anywhere: the medians of thirty places beside each other.
  const medians = Array.from({ length: ROUNDS / PLACES }, (_, at) =>
    median(took.slice(at * PLACES, (at + 1) * PLACES)),
  );
  process.stderr.write(
    `listEvents among ${MAX_MOVES}: median ${median(took).toFixed(1)} ms, ${Math.max(...medians).toFixed(1)} ms where it is slowest, with the way there and back\n`,
  );
  // The search for leaks needs no million copies of one event.
  await inDatabase(`DELETE FROM events WHERE number < ${oldest + MAX_MOVES - 1_000}`);
  expect(Math.max(...medians) / Math.min(...medians)).toBeLessThan(MAX_RATIO);
});
