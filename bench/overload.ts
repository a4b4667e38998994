import { readFileSync } from 'node:fs';
import { Agent, request } from 'undici';
import type { Fleet } from '../test/support/fleet.ts';
import { gatewayOf, orderOf, type Scenario, VALIDATE } from './hostile.ts';
import { load, percentile, type Sample } from './load.ts';

/** CPU time of the gateway so far (s). */
function cpuOf(fleet: Fleet): number {
  const fields =
    readFileSync(`/proc/${gatewayOf(fleet).child.pid}/stat`, 'utf8')
      .split(') ')[1]
      ?.split(' ') ?? [];
  const TICKS_A_SECOND = 100;
  return (Number(fields[11]) + Number(fields[12])) / TICKS_A_SECOND;
}

/** Served requests for each second of CPU time, since on a shared machine the gateway's share of time varies. */
export const overload: Scenario = async (fleet) => {
  const body = orderOf(50);
  const headers = { 'x-api-key': fleet.key, 'content-type': 'application/json' };
  // Lighter than fetch, so that the bench itself costs little.
  const agent = new Agent({ pipelining: 1, headersTimeout: 0, bodyTimeout: 0 });
  const one = async (path = VALIDATE): Promise<Response> => {
    const order = path === VALIDATE ? { method: 'POST' as const, body } : {};
    const answer = await request(gatewayOf(fleet).url + path, { dispatcher: agent, headers, ...order });
    await answer.body.dump();
    return new Response(null, { status: answer.statusCode });
  };
  const served = (samples: readonly Sample[]) => samples.filter(({ status }) => status === 200);
  /** As fast as the gateway serves eight callers, each with one request at a time. */
  const saturate = async (seconds: number) => {
    const end = performance.now() + seconds * 1_000;
    const before = cpuOf(fleet);
    let count = 0;
    const caller = async () => {
      while (performance.now() < end) if ((await one()).status === 200) count++;
    };
    await Promise.all(Array.from({ length: 8 }, caller));
    return { rate: count / seconds, perCpuSecond: count / (cpuOf(fleet) - before) };
  };
  await saturate(5);
  const peak = await saturate(10);
  // Connections that are already open, since opening them costs too.
  await Promise.all(Array.from({ length: 1_500 }, () => one('/health/live')));
  const seconds = 30;
  const before = cpuOf(fleet);
  const over = await load({ rate: 2 * peak.rate, seconds, send: () => one() });
  const share = served(over).length / (cpuOf(fleet) - before) / peak.perCpuSecond;
  const after = await load({ rate: peak.rate / 2, seconds: 10, send: () => one() });
  await agent.destroy();
  const refused = over.filter(({ status }) => status === 503);
  const late = after.filter(({ status, ms }) => status !== 200 || ms > 500);
  const recovery = Math.max(0, ...late.map(({ at, ms }) => at + ms / 1_000));
  const refusal = percentile(refused, 0.99);
  const lost = over.length - served(over).length - refused.length;
  const took = (samples: readonly Sample[], part: number) => `${percentile(samples, part).toFixed(0)} ms`;
  return {
    measured:
      `peak ${peak.rate.toFixed(0)}/s; ${(share * 100).toFixed(0)} % of it served per CPU second (${(served(over).length / seconds).toFixed(0)}/s), ` +
      `half in ${took(served(over), 0.5)}; half refused in ${took(refused, 0.5)}, 99 % in ${took(refused, 0.99)}; ` +
      `${lost} neither; recovered after ${recovery.toFixed(1)} s`,
    holds: share >= 0.9 && refusal <= 50 && recovery <= 5 && lost === 0,
  };
};
