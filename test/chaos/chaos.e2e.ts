import { randomInt } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { client } from './client/story.ts';
import { play, type Report } from './engine.ts';
import { imports } from './imports/story.ts';
import { orders } from './orders/story.ts';

/* The short forms of the stories. They need the build. A seed that was printed goes into CHAOS_SEED to replay the plan. */

const seed = Number(process.env['CHAOS_SEED'] ?? randomInt(2 ** 31));
const say = (text: string) => process.stderr.write(`${text}\n`);

describe('Orders while gateways, their database and Redis are killed, and the platform fails', () => {
  const sizes = {
    ...{ seed, ofEach: 1, orders: 60, submits: 3, processes: 3, kills: 2, fileKills: 3 },
    ...{ databaseKills: 1, restarts: 1, cuts: 1, redisKills: 1 },
  };
  const seldom = ['orphans', 'hang-ups', 'settlement', 'strangers'];
  const only = Object.keys(orders.acts).filter((act) => !seldom.includes(act));
  let report: Report;
  beforeAll(async () => {
    report = await play(orders, sizes, { only });
    say(report.text);
  });

  it('S2 are carried out at most once, reported truly, and found afterwards', () => {
    expect(report.faults).toEqual([]);
    expect(report.figures['orders']).toBeGreaterThanOrEqual(sizes.orders);
    expect(report.figures['carried out by the platform']).toBeGreaterThan(0);
    expect(report.figures).toMatchObject({ 'gateways killed': 6, 'databases killed': 2, 'Redis killed': 1 });
  });

  it('S19 are in the trail of writes: one line for each response', () => {
    expect(report.faults.filter((fault) => fault.includes('trail'))).toEqual([]);
    expect(report.figures['responses looked for in the trail']).toBeGreaterThan(sizes.orders);
  });

  it.each([
    ['D38 go on by themselves with a synchronous standby, and none is lost or placed twice', 'failover'],
    ['D39 stop where a standby takes over that lacks commits, until it is confirmed', 'lagging-failover'],
    ['D40 stop where a base backup was restored, until it is confirmed', 'gone-back'],
    ['D41 do not run again when the clock of the server steps', 'clock-steps'],
    ['D42 have begun, once, where the reply to the commit of their beginning is lost', 'lost-replies'],
    ['D43 are kept in a file while their gateway is killed again and again', 'file-killed'],
  ])('%s', (_, act) => {
    expect(report.text).toContain(`${act} `);
    expect(report.faults.filter((fault) => fault.startsWith(`${act}: `))).toEqual([]);
  });
});

it('J5 imports add no member twice and give every row a true result while gateways and the database are killed', async () => {
  const sizes = { seed: seed | 1, imports: 2, rows: 150, processes: 3, kills: 2, databaseKills: 1 };
  const { faults, figures, text } = await play(imports, sizes, { only: ['crowd'] });
  say(text);
  expect(faults).toEqual([]);
  expect(figures['calls spoiled']).toBeGreaterThan(0);
});

it('K44 orders by the client, while the gateway is killed and started again, are placed once or in doubt', async () => {
  const sizes = { seed, orders: 24, processes: 1, kills: 1, atOnce: 8, waitMs: 20_000 };
  const { faults, figures, text } = await play(client, sizes);
  say(text);
  expect(faults).toEqual([]);
  expect(figures['orders']).toBe(sizes.orders);
  // How many depends on what the machine does in the time that the client waits.
  expect(figures['succeeded']).toBeGreaterThan(0);
});
