import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SeededRandom } from '../../../sandbox/random.ts';
import { type Fault, faultRules } from '../../../test/chaos/plan.ts';
import { Fleet } from '../../../test/support/fleet.ts';
import type { GatewayProcess } from '../../../test/support/gateway-process.ts';
import { freePort, startRedis, until } from '../../../test/support/redis.ts';
import { TestSandbox } from '../../../test/support/sandbox.ts';
import { isProblem, Licensing, OrderNotSettled, type PlaceOrderInput } from '../../src/licensing.ts';

export interface ChaosOptions {
  readonly orders: number;
  /** kill -9 of the gateway, which is started again on the same port. */
  readonly kills: number;
  readonly seed: number;
  /** Orders that are under way at the same time. */
  readonly atOnce: number;
  /** How long the client waits for an order. */
  readonly waitMs: number;
}

export interface Report {
  readonly orders: number;
  readonly kills: number;
  readonly seconds: number;
  /** What the client made of the orders: a state, or why it was refused. */
  readonly ends: Readonly<Record<string, number>>;
  readonly commits: number;
  readonly violations: readonly string[];
}

/** What the platform does to an order; by the share of orders in percent. */
const FAULTS: readonly (readonly [Fault, number])[] = [
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
  in_doubt: [0, 1],
  sending: [0, 1],
  unseen: [0, 1],
};

/** Orders by the client while the gateway is killed: each is placed once, refused, or in doubt, and the client says which. */
export async function runChaos({ orders, kills, seed, atOnce, waitMs }: ChaosOptions): Promise<Report> {
  const started = performance.now();
  const random = new SeededRandom(seed);
  const sandbox = await TestSandbox.start({ seed });
  await sandbox.fault(faultRules());
  const store = await startRedis([
    '--dir',
    mkdtempSync(join(tmpdir(), 'order-store-')),
    '--appendonly',
    'yes',
    '--appendfsync',
    'always',
  ]);
  const fleet = await Fleet.start(sandbox, 0, {});
  const port = String(await freePort());
  const launch = () =>
    fleet.launch(
      { PORT: port, GUARD_REDIS_URL: store.url, UPSTREAM_ORDER_DEADLINE_MS: '1000' },
      undefined,
      0,
    );
  const ends = new Map<string, string>();
  try {
    await launch();
    const licensing = new Licensing({
      baseUrl: `http://127.0.0.1:${port}`,
      apiKey: fleet.key,
      random: () => random.next(),
    });
    const left = Array.from({ length: orders }, (_, index) =>
      orderOf(`client-${seed}-${index}`, drawn(random)),
    ).values();
    const place = async () => {
      for (const order of left) ends.set(order.channelOrderId, await endOf(licensing, order, waitMs));
    };
    const placing = Promise.all(Array.from({ length: atOnce }, place));
    for (let kill = 1; kill <= kills; kill++) {
      const due = (orders * kill) / (kills + 1);
      await until('the next kill is due', () => ends.size >= due - atOnce);
      const [gateway] = fleet.gateways as [GatewayProcess];
      gateway.child.kill('SIGKILL');
      await gateway.ended;
      await launch();
    }
    await placing;
    const commits = Map.groupBy(await sandbox.commits(), ({ channelOrderId }) => channelOrderId);
    const violations = [...ends].flatMap(([number, end]) => {
      const count = commits.get(number)?.length ?? 0;
      return FITS[end]?.includes(count) ? [] : [`${number}: ${end}, carried out ${count} times`];
    });
    const twice = [...commits]
      .filter(([, its]) => its.length > 1)
      .map(([number]) => `${number}: carried out twice`);
    const counts = Map.groupBy(ends.values(), (end) => end);
    return {
      ...{ orders: ends.size, kills, seconds: (performance.now() - started) / 1_000, commits: commits.size },
      ends: Object.fromEntries([...counts].map(([end, its]) => [end, its.length])),
      violations: [...violations, ...twice],
    };
  } finally {
    await fleet.stop();
    await store.stop();
    await sandbox.close();
  }
}

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
  for (const [fault, share] of FAULTS) if ((point -= share) < 0) return fault;
  return 'none';
}

function orderOf(channelOrderId: string, fault: Fault): PlaceOrderInput {
  const customer = { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' };
  const assets = [{ products: [{ productUri: 'draft.pro', limitConcurrent: 1 }] }];
  return {
    channelCode: 'crm',
    channelOrderId,
    items: [{ orderType: 'new_buy', licenseType: 'softkey', branch: { code: fault }, customer, assets }],
  };
}
