import { randomInt } from 'node:crypto';
import { beforeAll, expect, it } from '@jest/globals';
import { play, type Report } from '../chaos/engine.ts';
import { topology } from './story.ts';

/* The short form; all scenes, in each form of ORDER_REDIS_URL, are in the long one. */

const sizes = { seed: randomInt(2 ** 31), orders: 6, rounds: 1, gateways: 2 };
/** Rows of docs/faults.md. */
const rows = [
  ['N1', 'sentinel: master killed'],
  ['N6', 'sentinel: replicas cut off'],
] as const;

let report: Report;
beforeAll(async () => {
  report = await play(topology, sizes, { only: rows.map(([, act]) => act) });
  process.stderr.write(`${report.text}\n`);
});

it.each(rows)('%s %s: no order is placed twice, and no response is false', (_, act) => {
  expect(report.faults.filter((fault) => fault.startsWith(act))).toEqual([]);
  const orders = `${act.replaceAll(/:? /g, '-')}-1: orders`;
  expect(report.figures[orders]).toBeGreaterThanOrEqual(sizes.orders);
});
