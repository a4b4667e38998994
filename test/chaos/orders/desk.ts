import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Fleet } from '../../support/fleet.ts';
import type { GatewayProcess } from '../../support/gateway-process.ts';
import { orderOf } from '../../support/order-body.ts';
import { until } from '../../support/redis.ts';
import type { TestSandbox } from '../../support/sandbox.ts';
import { type Answer, duplicatesIn, type Found, isSuccess, violationsOf } from './check.ts';
import type { Fault } from './plan.ts';

const PAUSE_MS = 150;
const HAD_NO_TIME = new Set<unknown>(['dependency-unavailable', 'overloaded']);
const LOOK_UPS_AT_ONCE = 20;

interface Submission {
  /** The gateways to which it goes, one after the other. */
  readonly at?: readonly number[];
  readonly fault?: Fault;
  readonly tries?: number;
  /** A refusal because the gateway or its store had no time is no try: a slow machine may refuse for longer than tries last. */
  readonly isPatient?: boolean;
  /** The last time for an attempt. */
  readonly signal?: AbortSignal;
}

interface Answered {
  readonly requestId: string;
  readonly gateway: number;
  readonly by: GatewayProcess;
  /** The start, by performance.now(). */
  readonly began: number;
  readonly ended: number;
  readonly answer: Answer;
  /** True if this request placed the order, and not an earlier one. */
  readonly isFirst: boolean;
}

/** The callers of orders: what they send, what they were told, and whether it is true. */
export class OrderDesk {
  readonly answered: Answered[] = [];
  /** Orders to which a gateway that lives gave no response in a minute. */
  readonly unanswered: string[] = [];
  submits = 0;
  readonly #fleet: Fleet;
  readonly #sandbox: TestSandbox;
  readonly #told = new Map<string, Answer[]>();
  readonly #tries: number;
  #asked = 0;

  /** `tries`: how often a caller sends an order that was not processed. */
  constructor(fleet: Fleet, sandbox: TestSandbox, tries = 8) {
    this.#tries = tries;
    this.#fleet = fleet;
    this.#sandbox = sandbox;
  }

  /** Submits the order to that gateway, once. */
  async place(
    gateway: number,
    channelOrderId: string,
    fault: Fault = 'none',
    signal = AbortSignal.timeout(60_000),
  ): Promise<Answer> {
    this.submits++;
    const by = this.#fleet.gateways[gateway] as GatewayProcess;
    const requestId = randomUUID();
    const began = performance.now();
    const order = orderOf(channelOrderId);
    const items = order.items.map((item) => ({ ...item, branch: { code: fault } }));
    let answer: Answer = { status: 0 };
    try {
      const response = await fetch(`${by.url}/v1/license-orders`, {
        method: 'POST',
        headers: {
          'x-api-key': this.#fleet.key,
          'content-type': 'application/json',
          'x-request-id': requestId,
        },
        body: JSON.stringify({ ...order, items }),
        signal,
      });
      answer = { ...((await response.json()) as Omit<Answer, 'status'>), status: response.status };
      const isFirst = isSuccess(answer) && !response.headers.has('idempotent-replayed');
      this.answered.push({ requestId, gateway, by, began, ended: performance.now(), answer, isFirst });
    } catch (error) {
      // No response: the outcome is unknown to the caller.
      if ((error as Error).name === 'TimeoutError') this.unanswered.push(channelOrderId);
    }
    const answers = this.#told.get(channelOrderId);
    if (answers) answers.push(answer);
    else this.#told.set(channelOrderId, [answer]);
    return answer;
  }

  /** A usual caller: it sends an order again that was not processed, or had no response, to the next of these gateways. */
  async submit(
    channelOrderId: string,
    {
      at = [...this.#fleet.gateways.keys()],
      fault = 'none',
      tries = this.#tries,
      isPatient,
      signal,
    }: Submission = {},
  ): Promise<Answer> {
    for (let attempt = 0; ;) {
      const answer = await this.place(at[attempt % at.length] as number, channelOrderId, fault);
      const again = answer.status === 0 || answer.status === 409 || answer.status === 503;
      if (!isPatient || !HAD_NO_TIME.has(answer.code)) attempt++;
      if (!again || attempt >= tries || signal?.aborted) return answer;
      await sleep(PAUSE_MS);
    }
  }

  /**
   * Sends the order to that gateway until it processes the order: a busy machine may be too slow for the database at first, which has no
   * effect.
   */
  async insist(...order: Parameters<OrderDesk['place']>): Promise<Answer> {
    for (;;) {
      const answer = await this.place(...order);
      if (answer.status !== 503 || answer.outcome !== 'not_processed') return answer;
      await sleep(PAUSE_MS);
    }
  }

  /** The record of an order, once nobody is sending it: asks each gateway in turn until one responds; undefined without a record. */
  async find(channelOrderId: string): Promise<Found | undefined> {
    let found: Found | undefined;
    const isFound = async () => {
      const { gateways, key } = this.#fleet;
      const { url } = gateways[this.#asked++ % gateways.length] as GatewayProcess;
      const response = await fetch(`${url}/v1/license-orders/crm/${channelOrderId}`, {
        headers: { 'x-api-key': key },
      });
      const body = (await response.json()) as Found;
      found = response.status === 200 ? body : undefined;
      // An orphaned order is in doubt once its lease has ended.
      return response.status === 404 || (response.status === 200 && body.state !== 'sending');
    };
    await until(`${channelOrderId} can be looked up`, isFound);
    return found;
  }

  /** Orders that the platform has got, each as often as it was sent. */
  async arrived(): Promise<string[]> {
    const journal = await this.#sandbox.journal('batchOrder');
    return journal.map(({ body }) => (body as { channelOrderId: string }).channelOrderId);
  }

  /**
   * Compares what callers were told, and the records, with the orders that the platform carried out, since the last time. `lost`:
   * records are missing, so only duplicate orders count.
   */
  async judge({ forgetful = false, lost = false } = {}): Promise<{ orders: number; faults: string[] }> {
    const told = [...this.#told].map(([channelOrderId, answers]) => ({ channelOrderId, answers }));
    this.#told.clear();
    const { length: orders } = told;
    // No record can change the duplicates that are there already.
    const early = duplicatesIn(await this.#sandbox.commits());
    if (lost || early.length > 0) return { orders, faults: early };
    const records = new Map<string, Found>();
    await inParallel(told, LOOK_UPS_AT_ONCE, async ({ channelOrderId }) => {
      const record = await this.find(channelOrderId);
      if (record) records.set(channelOrderId, record);
    });
    return { orders, faults: violationsOf(told, await this.#sandbox.commits(), records, forgetful) };
  }
}

export function numbered(name: string, count: number): string[] {
  return Array.from({ length: count }, (_, index) => `${name}-${index}`);
}

/** Runs all of them in their order, a bounded number at a time. */
export async function inParallel<T>(
  all: readonly T[],
  atOnce: number,
  work: (one: T, index: number) => Promise<unknown>,
): Promise<void> {
  const left = all.entries();
  const worker = async () => {
    for (const [index, one] of left) await work(one, index);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
}
