import { setTimeout as wait } from 'node:timers/promises';

interface Response {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

const PATIENCE_MS = 60_000;

/**
 * The first response that is no refusal for lack of time. On a busy machine Redis, or the gateway between the record of a write and its
 * first byte, may be later than the gateway waits: then it has done nothing and says so, or still undoes what it began.
 */
export async function onceServed<T extends Response>(ask: () => Promise<T>): Promise<T> {
  const giveUpAt = performance.now() + PATIENCE_MS;
  for (;;) {
    const response = await ask();
    const { status, body } = response;
    const isLate = status === 503 && body['outcome'] === 'not_processed';
    if ((!isLate && body['code'] !== 'request-in-progress') || performance.now() > giveUpAt) return response;
    await wait(25);
  }
}
