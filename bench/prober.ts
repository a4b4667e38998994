import { monitorEventLoopDelay } from 'node:perf_hooks';
import { Agent, request } from 'undici';
import { CUSTOMERS, orderOf, VALIDATE } from './hostile.ts';
import { load, type Sample } from './load.ts';

/**
 * A known caller in a process of its own, so that neither attackers nor the platform take its time: its message says for how long it
 * sends, and its answer is what it noticed.
 */
export interface Probe {
  readonly url: string;
  readonly key: string;
  /** Requests a second. */
  readonly rate: number;
  readonly seconds: number;
}

export interface Noticed {
  readonly samples: readonly Sample[];
  /** By how much timers of this process itself were late, at the 99th percentile (ms): what a request may seem to take longer. */
  readonly ownDelay: number;
}

const ORDER = orderOf(5);

const CONNECTIONS = 20;
const dispatcher = new Agent({ connections: CONNECTIONS, pipelining: 1 });
const delay = monitorEventLoopDelay({ resolution: 1 });
async function probe({ url, key, rate, seconds }: Probe): Promise<Noticed> {
  const headers = { 'x-api-key': key, 'content-type': 'application/json' };
  const send = async (index: number): Promise<Response> => {
    const isOrder = index % 2 === 0;
    const response = await request(url + (isOrder ? VALIDATE : CUSTOMERS), {
      dispatcher,
      headers,
      method: isOrder ? 'POST' : 'GET',
      body: isOrder ? ORDER : null,
    });
    await response.body.dump();
    return new Response(null, { status: response.statusCode });
  };
  // What it notices is not how long it takes to connect.
  await Promise.all(Array.from({ length: CONNECTIONS }, (_, index) => send(index)));
  delay.reset();
  delay.enable();
  const samples = await load({ rate, seconds, send });
  delay.disable();
  return { samples, ownDelay: delay.percentile(99) / 1e6 };
}

process.on('message', (message) => {
  void probe(message as Probe).then((noticed) => process.send?.(noticed));
});
