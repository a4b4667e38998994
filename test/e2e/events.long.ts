import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { MAX_MOVES } from '../../src/order-ledger/move-log.ts';
import { storeKeys } from '../../src/order-ledger/store-keys.ts';
import { environmentName } from '../../src/redis/key-names.ts';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { ask, until } from '../support/redis.ts';
import { useSandbox } from '../support/stack.ts';

/** The feed with as many events as are kept, and more. */

const EVENTS = '/v1/events';
const MORE = 20_000;
const AT_ONCE = 10_000;
const ROUNDS = 300;
const PLACES = 30;
const LIMIT_MS = 10;

/** Copies the entry of the stream: KEYS: the stream; ARGV: how often, then the entry. */
const COPY = `for _ = 1, ARGV[1] do redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2)) end`;

const sandbox = useSandbox();
let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(sandbox, 1);
});
afterAll(() => fleet.stop());

it(`of ${MAX_MOVES} a page is read in ${LIMIT_MS} ms, wherever it begins; those beyond are dropped, and readers are told`, async () => {
  expect((await fleet.post(0, '/v1/license-orders', orderOf('SO-many'))).status).toBe(201);
  const { moves } = storeKeys(environmentName(new URL(sandbox.url)));
  await ask(fleet.redis, async (client) => {
    const [[, entry] = ['', []]] = await client.xrange(moves, '-', '+', 'COUNT', 1);
    for (let count = 1; count < MAX_MOVES + MORE; count += AT_ONCE)
      await client.eval(COPY, 1, moves, Math.min(AT_ONCE, MAX_MOVES + MORE - count), ...entry);
    expect(await client.xlen(moves)).toBe(MAX_MOVES + MORE);
  });
  const first = (await fleet.get(0, `${EVENTS}?limit=1`)).body['next'];
  await until('those beyond are dropped', () =>
    ask(fleet.redis, async (client) => (await client.xlen(moves)) === MAX_MOVES),
  );
  const gone = await fleet.get(0, `${EVENTS}?after=${String(first)}`);
  expect([gone.status, gone.body['code']]).toEqual([410, 'events-expired']);
  const oldest = String(gone.body['oldest']);
  expect((await fleet.get(0, `${EVENTS}?after=${oldest}&limit=1`)).status).toBe(200);

  const ids = await ask(fleet.redis, async (client) => {
    const step = Math.floor(MAX_MOVES / ROUNDS);
    const found: string[] = [];
    let after = '-';
    for (let round = 0; round < ROUNDS; round++) {
      const entries = await client.xrange(moves, after, '+', 'COUNT', step);
      after = entries.at(-1)?.[0] ?? after;
      found.push(after);
    }
    return found;
  });
  const cursors = ids.map((id) => {
    const [time = '', sequence = ''] = id.split('-');
    return `${time.padStart(15, '0')}-${sequence.padStart(10, '0')}`;
  });
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
  expect(Math.max(...medians)).toBeLessThanOrEqual(LIMIT_MS);
  // The search for leaks needs no million copies of one event.
  await ask(fleet.redis, (client) => client.xtrim(moves, 'MAXLEN', '=', 1_000));
});
