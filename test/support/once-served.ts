import { setTimeout as wait } from 'node:timers/promises';
import { areTestsOver, beginWait } from './told.ts';

interface Response {
  readonly status: number;
  readonly body: Readonly<Record<string, unknown>>;
}

/**
 * The first response that is no refusal for lack of time. On a busy machine Redis, or the gateway between the record of a write and its
 * first byte, may be later than the gateway waits: then it has done nothing and says so, or still undoes what it began.
 */
export async function onceServed<T extends Response>(ask: () => Promise<T>): Promise<T> {
  const endWait = beginWait('a request is served');
  try {
    for (;;) {
      const response = await ask();
      const { status, body } = response;
      const isLate = status === 503 && body['outcome'] === 'not_processed';
      if ((!isLate && body['code'] !== 'request-in-progress') || areTestsOver()) return response;
      await wait(25);
    }
  } finally {
    endWait();
  }
}
