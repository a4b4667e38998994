import { readFileSync } from 'node:fs';
import type { Socket } from 'node:net';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Fleet } from '../support/fleet.ts';
import type { GatewayProcess } from '../support/gateway-process.ts';
import { converse } from '../support/raw-client.ts';
import { useSandbox } from '../support/stack.ts';

/** Row S11: everything that exhausts a process, at once. Each alone is a row of clients (K1 to K3, K18 to K21, K31, K38 to K42). */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const QUOTA = 50;
const FLOOD = 300;
const MIB = 1024 * 1024;

const sandbox = useSandbox();
let fleet: Fleet;
let gateway: GatewayProcess;

beforeAll(async () => {
  const flooder = { name: 'flooder', rateLimit: { requests: QUOTA, perSeconds: 3_600 } };
  fleet = await Fleet.start(sandbox, 1, { callers: [flooder, { name: 'neighbour' }] });
  gateway = fleet.gateways[0] as GatewayProcess;
});
afterAll(() => fleet.stop());

function residentMiB(): number {
  const status = readFileSync(`/proc/${gateway.child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

function head(method: string, more: string): string {
  const key = fleet.keys['neighbour'] as string;
  return `${method} /v1/license-orders HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n${more}`;
}

const times = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make));

/** What a known caller gets while `attack` is under way, request after request. */
async function besides<T>(attack: Promise<T>, ask: () => Promise<unknown>): Promise<T> {
  const over = new AbortController();
  const ended = attack.finally(() => over.abort());
  while (!over.signal.aborted) await ask();
  return ended;
}

it('S11 in a flood with slow connections and bombs, the process lives, its memory is bounded, and other callers are served', async () => {
  const ask = (name: string) => fleet.get(0, ASSETS, { 'x-api-key': fleet.keys[name] as string });
  expect((await ask('neighbour')).status).toBe(200);
  const before = residentMiB();
  const patienceMs = 60_000;
  const bomb = (body: string) => () =>
    converse(
      gateway.url,
      `${head('POST', `Content-Length: ${body.length}\r\n`)}Connection: close\r\n\r\n${body}`,
      { patienceMs },
    );
  const open: Socket[] = [];
  const slow = (bytes: string) => () =>
    converse(gateway.url, bytes, { patienceMs, after: (socket) => open.push(socket) });
  const waiting = Promise.all([
    times(100, slow(head('GET', 'X-Slow: '))),
    times(100, slow(head('POST', 'Content-Length: 100\r\n\r\n{'))),
  ]);

  const attack = Promise.all([
    times(FLOOD, () => ask('flooder')),
    times(8, bomb('['.repeat(MIB - 1))),
    times(8, bomb(`{${'"a":1,'.repeat(100_000)}"a":1}`)),
    times(8, bomb(' '.repeat(10 * MIB))),
  ]);
  const served: number[] = [];
  let most = before;
  const [flood, ...bombs] = await besides(attack, async () => {
    served.push((await ask('neighbour')).status);
    most = Math.max(most, residentMiB());
  });
  for (const socket of open) socket.destroy();
  await waiting;

  expect(new Set(served)).toEqual(new Set([200]));
  expect(flood.filter(({ status }) => status === 200)).toHaveLength(QUOTA);
  // 503 where a slow machine made those of the flood wait for too long.
  expect(new Set(flood.map(({ status }) => status)).difference(new Set([200, 429, 503]))).toEqual(new Set());
  expect(flood.some(({ status }) => status === 429)).toBe(true);
  // 503 where the flood of the same caller has made its bombs wait for too long.
  for (const { answers } of bombs.flat()) expect([400, 413, 503]).toContain(answers[0]?.status);
  expect(gateway.child.exitCode).toBeNull();
  // 200 connections, 300 requests and 100 MiB of bodies were under way.
  expect(most - before).toBeLessThan(300);
  expect(await sandbox.journal('batchOrder')).toEqual([]);
});
