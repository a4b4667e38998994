import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Fleet } from '../support/fleet.ts';
import { playRounds } from '../support/maintenance-rounds.ts';
import { useSandbox } from '../support/stack.ts';

/** The long form of what `maintenance.e2e.ts` asks for. */

const ROUNDS = 1_000;

const sandbox = useSandbox();
let fleet: Fleet;
beforeAll(async () => {
  fleet = await Fleet.start(sandbox, 3);
});
afterAll(() => fleet.stop());

it(`in ${ROUNDS} rounds of three gateways no order begins after setMaintenance has answered`, async () => {
  const { placed, stopped, begunInside } = await playRounds(fleet, ROUNDS);
  expect(begunInside).toEqual([]);
  expect(placed).toBeGreaterThan(ROUNDS);
  expect(stopped).toBeGreaterThan(ROUNDS);
});
