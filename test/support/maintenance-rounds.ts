import { setTimeout as wait } from 'node:timers/promises';
import type { Fleet } from './fleet.ts';
import { orderOf } from './order-body.ts';
import { until } from './redis.ts';

const MAINTENANCE = '/v1/maintenance';
const ORDERS = '/v1/license-orders';
const PAGE = 1_000;

interface Window {
  /** When the operator had the response, and when the end was sent; by the clock that both the tests and PostgreSQL read. */
  readonly from: number;
  readonly until: number;
}

export interface Rounds {
  readonly placed: number;
  readonly stopped: number;
  /** Orders that began although they were stopped. */
  readonly begunInside: readonly string[];
}

/** Sets and ends a maintenance so many times while orders come to every gateway, each time by another one; half-way one is killed. */
export async function playRounds(fleet: Fleet, rounds: number): Promise<Rounds> {
  const windows: Window[] = [];
  const over = new AbortController();
  let number = 0;
  let stopped = 0;
  const place = async (gateway: number) => {
    while (!over.signal.aborted) {
      const { status } = await fleet
        .post(gateway, ORDERS, orderOf(`SO-M${number++}`))
        .catch(() => ({ status: 0 }));
      if (status === 503) stopped++;
      if (status === 0) await wait(20);
    }
  };
  const workers = fleet.gateways.flatMap((_, gateway) => [place(gateway), place(gateway)]);
  for (let round = 0; round < rounds; round++) {
    const gateway = round % fleet.gateways.length;
    if (round === Math.floor(rounds / 2)) await replace(fleet, 0);
    const terms = { stops: 'orders', until: new Date(Date.now() + 60_000).toISOString(), reason: 'a round' };
    let from = 0;
    await until('it is set', async () => {
      const { status } = await fleet.request('PUT', gateway, MAINTENANCE, terms);
      from = Date.now();
      return status === 200;
    });
    const before = stopped;
    await until('orders are stopped', () => stopped > before + fleet.gateways.length);
    windows.push({ from, until: Date.now() });
    await until(
      'it is over',
      async () => (await fleet.request('DELETE', gateway, MAINTENANCE)).status === 204,
    );
  }
  over.abort();
  await Promise.all(workers);
  const records = await allOrders(fleet);
  const isInside = ({ submittedAt }: Order) => {
    const at = Date.parse(submittedAt);
    return windows.some(({ from, until: end }) => from < at && at < end);
  };
  return {
    placed: records.length,
    stopped,
    begunInside: records.filter(isInside).map(({ channelOrderId }) => channelOrderId),
  };
}

async function replace(fleet: Fleet, index: number): Promise<void> {
  const gateway = fleet.gateways[index];
  gateway?.child.kill('SIGKILL');
  await gateway?.ended;
  await fleet.launch({}, undefined, index);
}

interface Order {
  readonly channelOrderId: string;
  readonly submittedAt: string;
}

async function allOrders(fleet: Fleet): Promise<Order[]> {
  const orders: Order[] = [];
  for (let page = 1; ; page++) {
    const { body } = await fleet.get(0, `${ORDERS}?page=${page}&pageSize=${PAGE}`);
    orders.push(...(body['items'] as Order[]));
    if (page >= Number(body['totalPages'])) return orders;
  }
}
