import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { cheapInputs, type Cost, costOf, TELLS_TURNS } from '../support/cheap-input.ts';
import { Fleet } from '../support/fleet.ts';
import { TestSandbox } from '../support/sandbox.ts';

const MOST_MS = 100;
const MOST_MIB = 150;
/** What other work of the machine adds to a figure is not the gateway's. */
const TRIES = 3;
/** Of the gateway's own limits of time, where the machine has no time for it: it says so. */
const TOO_BUSY = [503];

let sandbox: TestSandbox;
let fleet: Fleet;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  fleet = await Fleet.start(sandbox, 1, { how: { nodeOptions: TELLS_TURNS } });
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});

it.each(cheapInputs.map((input) => [input.name, input] as const))(
  'K58 %s: other callers wait for a tenth of a second at most, and it takes little memory',
  async (_, input) => {
    const costs: Cost[] = [];
    const least = (of: 'turnMs' | 'moreMiB') => Math.min(...costs.map((cost) => cost[of]));
    do {
      costs.push(await costOf(fleet, input, 1));
    } while (costs.length < TRIES && (least('turnMs') > MOST_MS || least('moreMiB') > MOST_MIB));
    for (const status of costs.flatMap(({ statuses }) => statuses))
      expect([input.status, ...TOO_BUSY]).toContain(status);
    expect(least('turnMs')).toBeLessThanOrEqual(MOST_MS);
    expect(least('moreMiB')).toBeLessThanOrEqual(MOST_MIB);
    expect(fleet.gateways[0]?.child.exitCode).toBeNull();
  },
  120_000,
);

it('K58 five files of commas at once take little memory', async () => {
  const commas = cheapInputs.find(({ name }) => name === 'CSV: a row of commas');
  if (!commas) throw new Error('no such input');
  const { moreMiB } = await costOf(fleet, commas, 5);
  expect(moreMiB).toBeLessThanOrEqual(MOST_MIB);
}, 120_000);
