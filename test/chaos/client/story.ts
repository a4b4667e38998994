import { SeededRandom } from '../../../sandbox/random.ts';
import {
  isProblem,
  Licensing,
  OrderNotSettled,
  type PlaceOrderInput,
} from '../../../client/src/licensing.ts';
import { orderOf } from '../../support/order-body.ts';
import { freePort, until } from '../../support/redis.ts';
import type { Sizes, Story } from '../engine.ts';
import { duplicatesIn } from '../orders/check.ts';
import { inParallel } from '../orders/desk.ts';
import { DEADLINE_MS, type Fault, faultRules } from '../orders/plan.ts';
import { ChaosStage, partsOf } from '../stage.ts';

interface ClientSizes extends Sizes {
  readonly processes: number;
  readonly orders: number;
  /** kill -9 of the gateway, which is started again on the same port. */
  readonly kills: number;
  /** Orders that are under way at the same time. */
  readonly atOnce: number;
  /** How long the client waits for an order. */
  readonly waitMs: number;
}

/** What the platform does to an order; by the share of orders in percent. */
const SHARES: readonly (readonly [Fault, number])[] = [
  ['none', 70],
  ['slow', 15],
  ['reset-after-commit', 4],
  ['reset-before', 3],
  ['code-500-committed', 3],
  ['code-13004', 5],
];
/** What the numbers of commits may be, by how the order ended for the caller. */
const FITS: Readonly<Record<string, readonly number[]>> = {
  succeeded: [1],
  'upstream-rejected': [0],
  // The gateway had no time to send it, and the client none to place it again.
  not_sent: [0],
  in_doubt: [0, 1],
  sending: [0, 1],
  unseen: [0, 1],
};

/** Orders by the client package while the gateway is killed: each is placed once, refused, or in doubt, and the client says which. */
export const client: Story<ChaosStage, ClientSizes> = {
  command: 'npm run chaos:client',
  sizes: { orders: 1_000, processes: 1, kills: 20, atOnce: 20, waitMs: 40_000 },
  set: async ({ processes, seed }) => {
    const environment = { PORT: String(await freePort()), UPSTREAM_ORDER_DEADLINE_MS: String(DEADLINE_MS) };
    const stage = new ChaosStage(await partsOf({ processes, seed, environment }));
    await stage.sandbox.fault(faultRules());
    return stage;
  },
  acts: {
    'gateway-killed': async (stage, { orders, kills, atOnce, waitMs, seed }) => {
      const random = new SeededRandom(seed);
      const licensing = new Licensing({
        baseUrl: stage.gateway(0).url,
        apiKey: stage.fleet.key,
        random: () => random.next(),
      });
      const planned = Array.from({ length: orders }, (_, index) =>
        inputOf(`client-${seed}-${index}`, drawn(random)),
      );
      const ends = new Map<string, string>();
      const placing = inParallel(planned, atOnce, async (order) =>
        ends.set(order.channelOrderId, await endOf(licensing, order, waitMs)),
      );
      for (let kill = 1; kill <= kills; kill++) {
        const due = (orders * kill) / (kills + 1);
        await until('the next kill is due', () => ends.size >= due - atOnce);
        await stage.killGateway(0);
      }
      await placing;
      const commits = await stage.sandbox.commits();
      const carriedOut = Map.groupBy(commits, ({ channelOrderId }) => channelOrderId);
      stage.count('orders', ends.size);
      for (const end of ends.values()) stage.count(end);
      const untrue = [...ends].flatMap(([number, end]) => {
        const count = carriedOut.get(number)?.length ?? 0;
        return FITS[end]?.includes(count) ? [] : [`${number}: ${end}, carried out ${count} times`];
      });
      return [...untrue, ...duplicatesIn(commits)];
    },
  },
  variants: {},
};

async function endOf(licensing: Licensing, order: PlaceOrderInput, timeoutMs: number): Promise<string> {
  try {
    return (await licensing.orders.placeAndWait(order, { timeoutMs, pollMs: 500 })).state;
  } catch (error) {
    if (error instanceof OrderNotSettled) return error.record?.state ?? 'unseen';
    if (isProblem(error)) return error.outcome === 'not_processed' ? error.code : 'unseen';
    throw error;
  }
}

function drawn(random: SeededRandom): Fault {
  let point = random.next() * 100;
  for (const [fault, share] of SHARES) if ((point -= share) < 0) return fault;
  return 'none';
}

function inputOf(channelOrderId: string, fault: Fault): PlaceOrderInput {
  const order = orderOf(channelOrderId);
  return {
    ...order,
    items: order.items.map((item) => ({ ...item, branch: { code: fault } })),
  } as PlaceOrderInput;
}
