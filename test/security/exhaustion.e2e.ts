import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { Fleet } from '../support/fleet.ts';
import { orderOf } from '../support/order-body.ts';
import { type Conversation, converse } from '../support/raw-client.ts';
import { TestSandbox } from '../support/sandbox.ts';
import { startStrain } from '../support/strain-process.ts';

/** Row S11: everything that exhausts a process, at once. Each alone is a row of clients (K1 to K3, K18 to K21, K31, K38 to K42). */

const ASSETS = '/v1/enterprises/ent-harbour/assets';
const QUOTA = 50;
const FLOOD = 500;
const MIB = 1024 * 1024;

let sandbox: TestSandbox;
let fleet: Fleet;

beforeAll(async () => {
  sandbox = await TestSandbox.start();
  const flooder = { name: 'flooder', rateLimit: { requests: QUOTA, perSeconds: 3_600 } };
  fleet = await Fleet.start(sandbox, 1, { callers: [flooder, { name: 'neighbour' }] });
});
afterAll(async () => {
  await fleet.stop();
  await sandbox.close();
});

function residentMiB(of = fleet): number {
  const status = readFileSync(`/proc/${of.gateways[0]?.child.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+) kB/m.exec(status)?.[1]) / 1024;
}

function head(method: string, more: string): string {
  const key = fleet.keys['neighbour'] as string;
  return `${method} /v1/license-orders HTTP/1.1\r\nHost: gateway\r\nX-Api-Key: ${key}\r\nContent-Type: application/json\r\n${more}`;
}

const times = <T>(count: number, make: () => Promise<T>) => Promise.all(Array.from({ length: count }, make));

it('S11 in a flood with slow connections and bombs, the process lives, its memory is bounded, and other callers are served', async () => {
  const url = fleet.gateways[0]?.url as string;
  const ask = (name: string) => fleet.get(0, ASSETS, { 'x-api-key': fleet.keys[name] as string });
  expect((await ask('neighbour')).status).toBe(200);
  const before = residentMiB();
  const patient = { patienceMs: 60_000 };
  const bomb = (body: string) => () =>
    converse(
      url,
      `${head('POST', `Content-Length: ${body.length}\r\n`)}Connection: close\r\n\r\n${body}`,
      patient,
    );

  const over = new AbortController();
  const attack = Promise.all([
    times(FLOOD, () => ask('flooder')),
    times(100, () => converse(url, head('GET', 'X-Slow: '), patient)),
    times(100, () => converse(url, head('POST', 'Content-Length: 100\r\n\r\n{'), patient)),
    times(8, bomb('['.repeat(MIB - 1))),
    times(8, bomb(`{${'"a":1,'.repeat(100_000)}"a":1}`)),
    times(8, bomb(' '.repeat(10 * MIB))),
  ]).finally(() => over.abort());
  const served: number[] = [];
  let most = before;
  while (!over.signal.aborted) {
    served.push((await ask('neighbour')).status);
    most = Math.max(most, residentMiB());
  }
  const [flood, headers, bodies, ...bombs] = await attack;

  expect(new Set(served)).toEqual(new Set([200]));
  expect(flood.filter(({ status }) => status === 200)).toHaveLength(QUOTA);
  // 503 where a slow machine made those of the flood wait for too long.
  expect(new Set(flood.map(({ status }) => status)).difference(new Set([200, 429, 503]))).toEqual(new Set());
  expect(flood.some(({ status }) => status === 429)).toBe(true);
  expect([...headers, ...bodies].every(({ closed }) => closed)).toBe(true);
  const refused = (each: Conversation) => each.answers[0]?.status ?? 0;
  // 503 where the flood of the same caller has made its bombs wait for too long.
  for (const status of bombs.flat().map(refused)) expect([400, 413, 503]).toContain(status);
  expect(fleet.gateways[0]?.child.exitCode).toBeNull();
  // 200 connections, 500 requests and 100 MiB of bodies were under way.
  expect(most - before).toBeLessThan(300);
  expect(await sandbox.journal('batchOrder')).toEqual([]);
}, 180_000);

/** What a known caller gets while `attack` is under way: every status, and how long each response took (ms). */
async function besides<T>(attack: Promise<T>, ask: () => Promise<{ status: number }>) {
  const over = new AbortController();
  const ended = attack.finally(() => over.abort());
  const statuses: number[] = [];
  const ms: number[] = [];
  while (!over.signal.aborted) {
    const sentAt = performance.now();
    const { status } = await ask().catch(() => ({ status: 0 }));
    statuses.push(status);
    ms.push(performance.now() - sentAt);
  }
  return { statuses, ms, report: await ended };
}

const median = (ms: readonly number[]) =>
  [...ms].sort((one, other) => one - other)[Math.floor(ms.length / 2)] ?? Number.NaN;

const portOf = (of: Fleet) => Number(new URL(of.gateways[0]?.url as string).port);

it('K40 a flood of requests for what is public: known callers are served, before the flood, and so is health', async () => {
  const url = fleet.gateways[0]?.url as string;
  const attack = startStrain({
    port: portOf(fleet),
    seconds: 6,
    connections: 200,
  });
  const headers = { 'x-api-key': fleet.keys['neighbour'] as string, 'content-type': 'application/json' };
  const body = JSON.stringify(orderOf('SO-flood'));
  const ask = () => fetch(`${url}/v1/license-orders?validateOnly=true`, { method: 'POST', headers, body });
  const health: number[] = [];
  const probe = setInterval(() => {
    void fetch(`${url}/health/live`, { headers: { connection: 'close' } }).then(
      ({ status }) => health.push(status),
      () => health.push(0),
    );
  }, 200);
  const { statuses, ms, report } = await besides(attack, ask);
  clearInterval(probe);
  expect(new Set(statuses)).toEqual(new Set([200]));
  expect(new Set(health)).toEqual(new Set([200]));
  expect(report.floodMs.length).toBeGreaterThan(200);
  // One in 4 ms of those that are too frequent for probes, and one a second on each connection. Without that limit it is 20,000.
  expect(report.reached['/health/live 200']).toBeLessThan(4_000);
  // Both share the machine, and only one of them its place in the line.
  expect(median(ms)).toBeLessThan(median(report.floodMs) / 2);
}, 60_000);
