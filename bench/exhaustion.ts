import { fork } from 'node:child_process';
import { once } from 'node:events';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import type { Fleet } from '../test/support/fleet.ts';
import { orderOf } from '../test/support/order-body.ts';
import { PUBLIC, startStrain } from '../test/support/strain-process.ts';
import type { Strain } from '../test/support/strain.ts';
import { CUSTOMERS, gatewayOf, pidsOf, type Scenario } from './hostile.ts';
import { percentile } from './load.ts';
import type { Noticed, Probe } from './prober.ts';
import { cpuSeconds, forgetPeak, pidOf, residentMiB } from './processes.ts';

/** Requests a second of the known caller. */
const RATE = 50;
/** Of the caller without the attack, once it is warm. */
const QUIET_SECONDS = 20;
/** Those that the bounded caller's pages are of. */
const ORDERS = 500;

export type Attack = Omit<Strain, 'port' | 'seconds' | 'key'>;

/** What callers without a key, and one with few rights, can do. */
export const attacks = {
  'idle connections': { idle: 12_000 },
  bodies: { bodies: 1_500 },
  floods: { floods: 100 },
  pages: { pages: 5 },
  'wrong writes': { writes: 5 },
} as const satisfies Record<string, Attack>;

/** A caller that is taken over: it may list orders of one enterprise, and lock assets. */
export const bounded = {
  name: 'bounded',
  scopes: ['orders:read', 'locks:write'],
  enterprises: ['ent-harbour'],
  channels: ['crm'],
};

/** What a known caller notices of an attack. */
export const exhaustion =
  (attack: Attack, seconds: number): Scenario =>
  async (fleet) => {
    const { url, child } = gatewayOf(fleet);
    const gateway = pidsOf(fleet);
    await placeOrders(fleet);
    const prober = fork(fileURLToPath(new URL('prober.ts', import.meta.url)), {
      execArgv: ['--no-warnings'],
      env: { PATH: process.env['PATH'] },
    });
    prefer(pidOf(prober), -10);
    const probe = async (forSeconds: number): Promise<Noticed> => {
      const answer = once(prober, 'message');
      const wanted: Probe = { url, key: fleet.key, rate: RATE, seconds: forSeconds };
      prober.send(wanted);
      return (await answer)[0] as Noticed;
    };
    // What is made at the first request for it is made before the attack.
    for (const path of PUBLIC) await askOnce(url + path, fleet.key);
    await askOnce(`${url}/v1/license-orders?pageSize=100`, fleet.keys[bounded.name] as string);
    await probe(5);
    const quiet = await probe(QUIET_SECONDS);

    const fresh: Promise<number>[] = [];
    forgetPeak(gateway);
    const watch = setInterval(() => {
      for (const path of [CUSTOMERS, '/health/live']) fresh.push(askOnce(url + path, fleet.key));
    }, 1_000);
    const cpuBefore = cpuSeconds(gateway);
    const port = Number(new URL(url).port);
    const key = fleet.keys[bounded.name] as string;
    const strain = startStrain({ ...attack, port, seconds: seconds + 1, key });
    const beside = await probe(seconds);
    const isAlive = child.exitCode === null && child.signalCode === null;
    const state = isAlive
      ? `alive, ${residentMiB(gateway).peak.toFixed(0)} MiB at most, ${((100 * (cpuSeconds(gateway) - cpuBefore)) / seconds).toFixed(0)} % of a core`
      : 'ENDED';
    clearInterval(watch);
    prober.disconnect();
    const ofFresh = await Promise.all(fresh);
    const { reached } = await strain;

    const failures = beside.samples.filter(({ status }) => status !== 200).map(({ status }) => status);
    const failedFresh = ofFresh.filter((status) => status !== 200).length;
    const times = ([before, after]: readonly [number, number]) =>
      `${before.toFixed(1)} → ${after.toFixed(1)} ms (${(after / before).toFixed(1)} ×)`;
    const both = (part: number) =>
      [percentile(quiet.samples, part), percentile(beside.samples, part)] as const;
    const p99 = both(0.99);
    const each = (what: string, many: number) => `${what} ${(many / (seconds + 1)).toFixed(0)}/s`;
    return {
      measured:
        `${state}; ` +
        `a known caller: ${failures.length} of ${beside.samples.length} failed${failures.length > 0 ? ` (${[...new Set(failures)].join()})` : ''}, ` +
        `p50 ${times(both(0.5))}, p90 ${times(both(0.9))}, p99 ${times(p99)}, its own delay ${times([quiet.ownDelay, beside.ownDelay])}; ` +
        `${failedFresh} of ${ofFresh.length} on new connections failed\n` +
        `             attackers: ${Object.entries(reached)
          .map(([what, many]) => each(what, many))
          .join(', ')}`,
      holds: isAlive && failures.length === 0 && failedFresh === 0 && p99[1] <= 2 * p99[0],
    };
  };

/** The priority of a process before other work of the machine. */
function prefer(pid: number, priority: number): void {
  try {
    setPriority(pid, priority);
  } catch {
    // Only root may.
  }
}

/** An order that names no enterprise would be on none of the bounded caller's pages. */
async function placeOrders(fleet: Fleet): Promise<void> {
  const items = orderOf('').items.map((item) => ({
    ...item,
    customer: { enterpriseGlobalId: bounded.enterprises[0] },
  }));
  let next = 0;
  const place = async (): Promise<void> => {
    while (next < ORDERS) await fleet.post(0, '/v1/license-orders', orderOf(`SO-old-${next++}`, { items }));
  };
  await Promise.all(Array.from({ length: 16 }, place));
}

/** On a connection of its own. */
async function askOnce(url: string, key: string): Promise<number> {
  try {
    const response = await fetch(url, { headers: { 'x-api-key': key, connection: 'close' } });
    await response.arrayBuffer();
    return response.status;
  } catch {
    return 0;
  }
}
