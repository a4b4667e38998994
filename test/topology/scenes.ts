import { setTimeout as sleep } from 'node:timers/promises';
import { isDenial, isSuccess } from '../chaos/orders/check.ts';
import { numbered } from '../chaos/orders/desk.ts';
import type { Fault } from '../chaos/orders/plan.ts';
import { until } from '../support/redis.ts';
import type { Kind } from './servers.ts';
import type { Site } from './site.ts';

interface Played {
  /** Violations, beside those of orders. */
  readonly faults?: readonly string[];
  /** The store has lost records, as intended: the only check is that no order is placed twice. */
  readonly lost?: boolean;
}

/** `orders`: how many are submitted on each side of the event. */
type Scene = (site: Site, name: string, orders: number) => Promise<Played>;

/** The platform's behaviour meanwhile: mostly success, sometimes slow, sometimes with an unknown outcome. */
const MIX: readonly Fault[] = [
  ...(['none', 'none', 'none', 'slow', 'none', 'reset-after-commit', 'none', 'none', 'code-13004'] as const),
];

const secondsSince = (at: number, end = performance.now()) => Math.round((end - at) / 10) / 100;

/** Submits orders to every gateway until it is ended, each order to two gateways at once. */
function crowd(site: Site, name: string): { ordersOf: () => readonly string[]; end: () => Promise<void> } {
  const ending = new AbortController();
  const { signal } = ending;
  const names: string[] = [];
  const worker = async (gateway: number) => {
    while (!signal.aborted) {
      const channelOrderId = `${name}-${names.length}`;
      names.push(channelOrderId);
      const fault = MIX[names.length % MIX.length] as Fault;
      const next = (gateway + 1) % site.gateways.length;
      await Promise.all([
        site.desk.submit(channelOrderId, { at: [gateway, next], fault, signal }),
        site.desk.submit(channelOrderId, { at: [next, gateway], fault, signal }),
      ]);
      await sleep(100);
    }
  };
  const workers = site.gateways.map(worker);
  return {
    ordersOf: () => names,
    end: async () => {
      ending.abort();
      await Promise.all(workers);
    },
  };
}

/**
 * Runs the event during the orders, and waits until as many orders are placed after it as before. Returns when it was, and how long it was
 * until the first order.
 */
async function amid(
  site: Site,
  name: string,
  orders: number,
  happen: () => Promise<unknown>,
): Promise<{ at: number; seconds: number }> {
  const coming = crowd(site, name);
  const before = site.placedSince().length;
  await until('orders are placed', () => site.placedSince().length >= before + orders);
  const at = performance.now();
  await happen();
  await until('orders are placed again', () => site.placedSince(at).length >= orders);
  await coming.end();
  // Once more, after the event.
  for (const channelOrderId of coming.ordersOf()) {
    const index = Number(channelOrderId.slice(name.length + 1)) + 1;
    await site.desk.submit(channelOrderId, { fault: MIX[index % MIX.length] as Fault });
  }
  const first = Math.min(...site.placedSince(at).map(({ ended }) => ended));
  return { at, seconds: secondsSince(at, first) };
}

/** The same, after which every gateway knows of every replica. */
async function through(site: Site, name: string, orders: number, happen: () => Promise<unknown>) {
  const { at, seconds } = await amid(site, name, orders, happen);
  await whole(site);
  site.count(`${name}: first order after`, seconds);
  return at;
}

async function whole(site: Site): Promise<void> {
  await joined(site);
  await site.allAre('up');
  // A gateway notices within two seconds that a replica is back. Until then the other replicas are enough for it, and a failover may lose
  // what they alone have.
  await until('every gateway waits for every replica', async () => {
    const { length } = await site.store.replicas();
    return site.gateways.every((gateway) => site.replicasKnownTo(gateway) === length);
  });
}

async function joined(site: Site): Promise<void> {
  await until('every replica follows the one master', async () => {
    const master = await site.store.master();
    const replicas = await site.store.replicas();
    const masters = await Promise.all(replicas.map((replica) => replica.isMaster()));
    return replicas.length > 0 && (await master.followers()) === replicas.length && !masters.includes(true);
  });
}

/** How long orders were down in `ready` without a break, at the gateway with the longest time; and at how many gateways. */
function downSince(site: Site, name: string, since: number): number {
  const lengths = site.gateways.map((gateway) => {
    const changes = site.readyChanges.filter((change) => change.gateway === gateway && change.at >= since);
    const downs = changes.map(({ orders, at }, index) =>
      orders === 'down' ? secondsSince(at, changes[index + 1]?.at ?? at) : 0,
    );
    return Math.max(0, ...downs);
  });
  site.count(`${name}: ready down for`, Math.max(...lengths));
  return lengths.filter((length) => length > 0).length;
}

/** Every gateway refuses orders, sends nothing, and says so in a line and a metric. */
async function refusals(site: Site, name: string): Promise<string[]> {
  const faults: string[] = [];
  const before = (await site.desk.arrived()).length;
  for (const gateway of site.gateways) {
    if (!isDenial(await site.desk.place(gateway, `${name}-refused-${gateway}`)))
      faults.push(`${gateway} took an order`);
    if (!site.events(gateway).has('order-store-stopped'))
      faults.push(`${gateway} has no line of it in its log`);
    // It is measured twice a second.
    await until(`the metric of ${gateway} says so`, async () => (await site.stopped(gateway, 'none')) === 0);
  }
  if ((await site.desk.arrived()).length > before) faults.push('something was sent');
  return faults;
}

/** The store has lost writes: orders stop everywhere until an operator confirms the store. */
async function confirmed(site: Site, name: string): Promise<string[]> {
  const faults = await refusals(site, name);
  const said = await site.confirm();
  site.count(`${name}: missing`, Number(/(\d+) are missing/.exec(said)?.[1] ?? Number.NaN));
  await site.allAre('up');
  if (!isSuccess(await site.desk.submit(`${name}-after`)))
    faults.push('no order is placed after an operator confirmed');
  return faults;
}

/** kill -9 of the master, which comes back as a replica. */
const failOver: Scene = async (site, name, orders) => {
  const killed = await site.store.master();
  const { at, seconds } = await amid(site, name, orders, () => killed.kill9());
  site.count(`${name}: first order after`, seconds);
  await killed.start();
  await whole(site);
  const gateways = downSince(site, name, at);
  const silent = site.gateways.filter((gateway) => !site.events(gateway).has('redis-away'));
  const told = gateways < site.gateways.length ? [`ready said it at ${gateways} gateways only`] : [];
  return { faults: [...told, ...silent.map((gateway) => `gateway ${gateway} logged nothing`)] };
};

/** An operator has another server take over. */
const switchOver: Scene = async (site, name, orders) => {
  const before = await site.store.master();
  await through(site, name, orders, async () => {
    await site.store.switchOver();
    await until('another is the master', async () => (await site.store.master()) !== before);
  });
  return {};
};

/** REPLICAOF on the master while gateways write to it, behind the back of the sentinels. */
const demoted: Scene = async (site, name, orders) => {
  const master = await site.store.master();
  const [replica] = await site.store.replicas();
  await through(site, name, orders, () =>
    master.ask((client) => client.call('REPLICAOF', '127.0.0.1', String(replica?.port))),
  );
  return {};
};

/** Every server of the order store is killed at once and started again with its data. */
const powerCut: Scene = async (site, name, orders) => {
  const at = await through(site, name, orders, async () => {
    await Promise.all(site.store.nodes.map((node) => node.kill9()));
    await site.allAre('down');
    await Promise.all(site.store.nodes.map((node) => node.start()));
  });
  downSince(site, name, at);
  return {};
};

/** The master and a gateway reach only each other, or a replica and a sentinel too, while both sides get the same orders. */
async function split(site: Site, name: string, orders: number, withReplica: boolean): Promise<Played> {
  const master = await site.store.master();
  const [replica] = await site.store.replicas();
  // By default a replica that is cut off counts as connected for a minute.
  if (withReplica)
    for (const node of site.store.nodes)
      await node.ask((client) => client.config('SET', 'repl-timeout', '5'));
  // By the sentinel the gateway finds the master again after a timeout. Two sentinels outside choose another master.
  const more = withReplica && replica ? [replica.host, ...site.store.sentinels.slice(0, 1)] : [];
  const inside = 0;
  const outside = site.gateways.filter((gateway) => gateway !== inside);
  const names = numbered(name, orders * 2);
  const at = performance.now();
  site.network.isolate(site.hostOf(inside), master.host, ...more);
  const placedBy = (gateways: readonly number[]) =>
    site.placedSince(at).filter(({ gateway }) => gateways.includes(gateway));
  const ending = new AbortController();
  const onIsland = Promise.all(
    names.map(async (channelOrderId, index) => {
      await sleep(index * 20);
      while (!ending.signal.aborted && !isSuccess(await site.desk.place(inside, channelOrderId)))
        await sleep(100);
    }),
  );
  await Promise.all(
    names.map(async (channelOrderId, index) => {
      await sleep(index * 20);
      await site.desk.submit(channelOrderId, { at: outside, ...(withReplica && { tries: 10 }) });
    }),
  );
  // With a replica it goes on once the others count as gone.
  if (withReplica) {
    await until('the island takes orders', () => placedBy([inside]).length > 0);
    await until('another is the master outside', async () => (await site.store.master()) !== master);
  }
  ending.abort();
  await onIsland;
  for (const [where, gateways] of Object.entries({ outside, 'on the island': [inside] })) {
    const ends = placedBy(gateways).map(({ ended }) => ended);
    site.count(`${name}: placed ${where}`, ends.length);
    if (ends.length > 0) site.count(`${name}: first ${where} after`, secondsSince(at, Math.min(...ends)));
  }
  site.network.mend();
  if (placedBy([inside]).length === 0) {
    await whole(site);
    for (const channelOrderId of names)
      await Promise.all(site.gateways.map((gateway) => site.desk.submit(channelOrderId, { at: [gateway] })));
    return {};
  }
  const faults = withReplica ? [] : ['a master without a replica took orders'];
  // The next master does not know what the island has placed.
  await joined(site);
  // The others learn it from the gateway of the island, within the second in which it connects to the next master.
  for (const gateway of site.gateways)
    await until(
      `${gateway} notices that writes are missing`,
      async () => (await site.stopped(gateway, 'count')) === 1,
    );
  return { faults: [...faults, ...(await confirmed(site, name))], lost: true };
}

/** The replicas get no more writes, while all hosts reach the master. */
const mute: Scene = async (site, name, orders) => {
  const master: string = (await site.store.master()).host;
  const replicas = new Set<string>((await site.store.replicas()).map(({ host }) => host));
  site.network.cut(
    (one, other) => (one === master && replicas.has(other)) || (other === master && replicas.has(one)),
  );
  const names = numbered(name, orders);
  const before = (await site.desk.arrived()).length;
  const answers = await Promise.all(names.map((each) => site.desk.submit(each, { tries: 3 })));
  const sent = (await site.desk.arrived()).length - before;
  await site.allAre('down');
  const faults = await refusals(site, name);
  site.network.mend();
  await whole(site);
  for (const channelOrderId of names) await site.desk.submit(channelOrderId);
  if (sent > 0) faults.push(`${sent} orders were sent that only the master knew of`);
  // Refused, or still in progress by the record that only the master has.
  const others = answers.filter(({ status }) => status !== 503 && status !== 409);
  if (others.length > 0) faults.push(`${others.length} callers were told ${JSON.stringify(others[0])}`);
  return { faults };
};

const several: readonly Kind[] = ['sentinel', 'cluster'];

/** What happens, and on which kinds of order stores. */
export const scenes: Readonly<Record<string, readonly [on: readonly Kind[], play: Scene]>> = {
  'master killed': [several, failOver],
  'masters switched': [several, switchOver],
  'split brain': [several, (site, name, orders) => split(site, name, orders, false)],
  'split brain with a replica': [['sentinel'], (site, name, orders) => split(site, name, orders, true)],
  'replicas cut off': [several, mute],
  'master demoted': [['sentinel'], demoted],
  'power cut': [several, powerCut],
};
