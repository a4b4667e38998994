import { spawnSync } from 'node:child_process';
import { availableParallelism } from 'node:os';
import { Agent, request } from 'undici';
import { orderOf as smallOrder } from '../test/support/order-body.ts';
import { startStrain } from '../test/support/strain-process.ts';
import type { Strain } from '../test/support/strain.ts';
import { gatewayOf, orderOf, pidsOf, type Scenario, VALIDATE } from './hostile.ts';
import { load, percentile, type Sample } from './load.ts';
import { forgetPeak, residentMiB } from './processes.ts';

/** What the orders that are placed first do not make longer. */
const CUSTOMERS = '/v1/customers?channelCode=crm&channelCustomerId=CH-1001';
/** Of the known caller. */
const RATE = 50;
const SECONDS = 60;
/** Those that the bounded caller's pages are of. */
const ORDERS = 500;
const ATTACK: Omit<Strain, 'port' | 'bounded'> = {
  seconds: SECONDS + 1,
  idle: 12_000,
  bodies: 1_500,
  floods: 100,
};

/** A caller that is taken over: it may list orders of one enterprise, and lock assets. */
export const bounded = {
  name: 'bounded',
  scopes: ['orders:read', 'locks:write'],
  enterprises: ['ent-harbour'],
  channels: ['crm'],
};

/** Everything that callers without a key, and one with few rights, can do at once, and what a known caller notices of it. */
export const exhaustion: Scenario = async (fleet) => {
  const { url, child } = gatewayOf(fleet);
  // Else attackers, platform and gateway would take turns on the same core, and the figures be theirs.
  if (availableParallelism() > 1) spawnSync('taskset', ['-a', '-p', '-c', '0', String(child.pid)]);
  const dispatcher = new Agent({ connections: 20, pipelining: 1 });
  const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json' };
  const send = async (path: string, body?: string): Promise<Response> => {
    const response = await request(url + path, {
      dispatcher,
      headers,
      method: body === undefined ? 'GET' : 'POST',
      body,
    });
    await response.body.dump();
    return new Response(null, { status: response.statusCode });
  };
  const order = orderOf(5);
  const one = (index: number) => (index % 2 === 0 ? send(VALIDATE, order) : send(CUSTOMERS));

  // An order that names no enterprise is on none of the bounded caller's pages.
  const items = smallOrder('').items.map((item) => ({
    ...item,
    customer: { enterpriseGlobalId: bounded.enterprises[0] },
  }));
  let next = 0;
  const placeOrders = async (): Promise<void> => {
    while (next < ORDERS)
      await send('/v1/license-orders', JSON.stringify(smallOrder(`SO-old-${next++}`, { items })));
  };
  await Promise.all(Array.from({ length: 16 }, placeOrders));
  await load({ rate: RATE, seconds: 5, send: one });
  const before = await load({ rate: RATE, seconds: SECONDS / 3, send: one });

  const key = fleet.keys[bounded.name] as string;
  const attack = startStrain({
    ...ATTACK,
    port: Number(new URL(url).port),
    bounded: { key, pages: 5, writes: 5 },
  });
  const fresh: Promise<number>[] = [];
  const pids = pidsOf(fleet);
  forgetPeak(pids);
  const watch = setInterval(() => {
    for (const path of [CUSTOMERS, '/health/live']) fresh.push(askOnce(url + path, headers));
  }, 1_000);
  const beside = await load({ rate: RATE, seconds: SECONDS, send: one });
  clearInterval(watch);
  const ofFresh = await Promise.all(fresh);
  const report = await attack;
  await dispatcher.close();

  const isAlive = child.exitCode === null && child.signalCode === null;
  const state = isAlive ? `alive, ${residentMiB(pids).peak.toFixed(0)} MiB at most` : 'ENDED';
  const failures = beside.filter(({ status }) => status !== 200).map(({ status }) => status);
  const failed = failures.length;
  const failedFresh = ofFresh.filter((status) => status !== 200).length;
  const figures = (part: number) =>
    `${percentile(before, part).toFixed(1)} → ${percentile(beside, part).toFixed(1)} ms`;
  return {
    measured:
      `${state}; a known caller: ${failed} of ${beside.length} failed${failed > 0 ? ` (${[...new Set(failures)].join()})` : ''}, ` +
      `p50 ${figures(0.5)}, p90 ${figures(0.9)}, p99 ${figures(0.99)}; ${failedFresh} of ${ofFresh.length} on new connections failed; ` +
      `${report.floodMs.length} responses to floods, to the bounded caller ${JSON.stringify(report.bounded)}`,
    holds: isAlive && failed === 0 && failedFresh === 0 && p99(beside) <= 2 * p99(before),
  };
};

const p99 = (samples: readonly Sample[]) => percentile(samples, 0.99);

/** On a connection of its own. */
async function askOnce(url: string, headers: Record<string, string>): Promise<number> {
  try {
    const response = await fetch(url, { headers: { ...headers, connection: 'close' } });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
