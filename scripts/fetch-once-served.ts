import { setTimeout as sleep } from 'node:timers/promises';

const SECOND_MS = 1_000;

/**
 * Works as `fetch`, but repeats a request as long as the gateway has done nothing and names a time. A slow machine may be too late for the
 * gateway's deadlines.
 */
export async function fetchOnceServed(url: string, init?: RequestInit): Promise<Response> {
  for (;;) {
    const response = await fetch(url, init);
    const seconds = response.headers.get('retry-after');
    if (response.status !== 503 || seconds === null) return response;
    const { outcome } = (await response.clone().json()) as { outcome?: string };
    if (outcome !== 'not_processed') return response;
    await sleep(Number(seconds) * SECOND_MS);
  }
}
