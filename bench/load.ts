import { quantile } from './figures.ts';

/** Open load: a fixed number of requests a second, independent of the responses, as from callers that do not know each other. */

export interface Sample {
  /** HTTP status; 0 without a response. */
  readonly status: number;
  readonly ms: number;
  /** Seconds since the load began, when the request was sent. */
  readonly at: number;
  readonly retryAfter: number | undefined;
}

interface Load {
  readonly rate: number;
  readonly seconds: number;
  /** Sends the request of that number and resolves with its response. */
  readonly send: (index: number) => Promise<Response>;
}

const TICK_MS = 10;

export async function load({ rate, seconds, send }: Load): Promise<Sample[]> {
  const samples: Promise<Sample>[] = [];
  const started = performance.now();
  await new Promise<void>((resolve) => {
    const timer = setInterval(() => {
      const elapsed = (performance.now() - started) / 1_000;
      const due = Math.floor(Math.min(elapsed, seconds) * rate);
      while (samples.length < due) samples.push(sample(samples.length, started, send));
      if (elapsed < seconds) return;
      clearInterval(timer);
      resolve();
    }, TICK_MS);
  });
  return Promise.all(samples);
}

async function sample(index: number, started: number, send: Load['send']): Promise<Sample> {
  const sentAt = performance.now();
  const at = (sentAt - started) / 1_000;
  try {
    const response = await send(index);
    await response.arrayBuffer();
    const retryAfter = Number(response.headers.get('retry-after') ?? Number.NaN);
    return {
      status: response.status,
      ms: performance.now() - sentAt,
      at,
      retryAfter: Number.isNaN(retryAfter) ? undefined : retryAfter,
    };
  } catch {
    return { status: 0, ms: performance.now() - sentAt, at, retryAfter: undefined };
  }
}

/** The time within which that share of the requests got its response, in ms. */
export function percentile(samples: readonly Sample[], part: number): number {
  return quantile(
    samples.map(({ ms }) => ms),
    part,
  );
}

export function share(samples: readonly Sample[], status: number): number {
  return samples.filter((each) => each.status === status).length / samples.length;
}
