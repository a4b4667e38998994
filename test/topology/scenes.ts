import { cpSync, readdirSync, renameSync, rmSync, statSync, truncateSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isDenial, isSuccess } from '../chaos/orders/check.ts';
import type { Fault } from '../chaos/orders/plan.ts';
import { type Node, type OrderStore, untilElected } from './servers.ts';
import type { Site } from './site.ts';

/** Times are in seconds. */
type Figures = Readonly<Record<string, number | string>>;

interface Scene {
  /** What happens, for the report. */
  readonly what: string;
  readonly on: readonly OrderStore['kind'][];
  readonly play: (site: Site, name: string, size: Size) => Promise<Played>;
}

interface Played {
  readonly figures: Figures;
  /** Violations, beside those of orders. */
  readonly faults?: readonly string[];
  /** The store has lost records, as intended: the only check is that no order is placed twice. */
  readonly lost?: boolean;
}

export interface Size {
  /** Orders that are submitted on each side of the event. */
  readonly orders: number;
}

/** The platform's behaviour meanwhile: mostly success, sometimes slow, sometimes with an unknown outcome. */
const MIX: readonly Fault[] = [
  'none',
  'none',
  'none',
  'slow',
  'none',
  'reset-after-commit',
  'none',
  'none',
  'code-13004',
];

/** Submits orders to every gateway until it is ended, each order to two gateways at once. */
function crowd(site: Site, name: string): { ordersOf: () => readonly string[]; end: () => Promise<void> } {
  const ending = new AbortController();
  const names: string[] = [];
  const worker = async (gateway: number) => {
    while (!ending.signal.aborted) {
      const channelOrderId = `${name}-${names.length}`;
      names.push(channelOrderId);
      const fault = MIX[names.length % MIX.length] as Fault;
      const next = (gateway + 1) % site.gateways.length;
      const { signal } = ending;
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

/** Runs the event during the orders, and waits until as many orders are placed after it as before. */
async function amid(
  site: Site,
  name: string,
  { orders }: Size,
  happen: () => Promise<number>,
): Promise<{ first: number; seconds: number }> {
  const coming = crowd(site, name);
  const before = site.placedSince().length;
  await untilElected('orders are placed', () => site.placedSince().length >= before + orders);
  const at = await happen();
  const after = () => site.placedSince(at);
  await untilElected('orders are placed again', () => after().length >= orders);
  await coming.end();
  // Once more, after the event.
  for (const channelOrderId of coming.ordersOf()) {
    const index = Number(channelOrderId.slice(name.length + 1)) + 1;
    await site.desk.submit(channelOrderId, { fault: MIX[index % MIX.length] as Fault });
  }
  const [first] = after().toSorted((one, other) => one.ended - other.ended);
  return { first: at, seconds: ((first?.ended ?? at) - at) / 1_000 };
}

async function whole(site: Site): Promise<void> {
  await joined(site);
  await site.allAre('up');
  // A gateway notices within two seconds that a replica is back. Until then the other replicas are enough for it, and a failover may lose
  // what they alone have.
  await untilElected('every gateway waits for every replica', async () => {
    const { length } = await site.store.replicas();
    return site.gateways.every((gateway) => site.replicasKnownTo(gateway) === length);
  });
}

async function joined(site: Site): Promise<void> {
  await untilElected('every replica follows the one master', async () => {
    const master = await site.store.master();
    const replicas = await site.store.replicas();
    const info = await master.ask((client) => client.info('replication'));
    const online = info.match(/state=online/g)?.length ?? 0;
    const masters = await Promise.all(replicas.map((replica) => replica.isMaster()));
    return online === replicas.length && replicas.length > 0 && !masters.includes(true);
  });
}

/** 1 while orders are admitted. */
const TAKEN_METRIC = 'gateway_order_store_stopped{reason="none"}';
/** 1 while the store has lost writes. */
const COUNT_METRIC = 'gateway_order_store_stopped{reason="count"}';

const rounded = (seconds: number) => Math.round(seconds * 100) / 100;

/** How long orders were down in `ready` without a break, at the gateway with the longest time. */
function downSince(site: Site, since: number): { gateways: number; seconds: number } {
  const lengths = site.gateways.map((gateway) => {
    const changes = site.readyChanges.filter((change) => change.gateway === gateway && change.at >= since);
    let longest = 0;
    for (const [index, { orders, at }] of changes.entries())
      if (orders === 'down') longest = Math.max(longest, ((changes[index + 1]?.at ?? at) - at) / 1_000);
    return longest;
  });
  return { gateways: lengths.filter((length) => length > 0).length, seconds: rounded(Math.max(...lengths)) };
}

async function failOver(site: Site, name: string, size: Size): Promise<Played> {
  let killed: Node | undefined;
  const { first, seconds } = await amid(site, name, size, async () => {
    killed = await site.store.master();
    const at = performance.now();
    await killed.kill9();
    return at;
  });
  await killed?.start();
  await whole(site);
  const down = downSince(site, first);
  const faults =
    down.gateways === site.gateways.length ? [] : [`ready said it at ${down.gateways} gateways only`];
  for (const gateway of site.gateways)
    if (!site.events(gateway).has('redis-away')) faults.push(`gateway ${gateway} logged nothing`);
  return { figures: { 'first order after': rounded(seconds), 'ready down for': down.seconds }, faults };
}

async function switchOver(site: Site, name: string, size: Size): Promise<Played> {
  const before = await site.store.master();
  const { seconds } = await amid(site, name, size, async () => {
    const at = performance.now();
    await site.store.switchOver();
    await untilElected('another is the master', async () => (await site.store.master()) !== before);
    return at;
  });
  await whole(site);
  return { figures: { 'first order after': rounded(seconds) } };
}

/** The master and one gateway reach only each other, while both sides get the same orders. `with` is on their side. */
async function split(site: Site, name: string, { orders }: Size, withReplica: boolean): Promise<Played> {
  const master = await site.store.master();
  const [replica] = await site.store.replicas();
  // By default a replica that is cut off counts as connected for a minute.
  if (withReplica)
    for (const node of site.store.nodes)
      await node.ask((client) => client.config('SET', 'repl-timeout', '5'));
  // By the sentinel the gateway finds the master again after a timeout. Two sentinels outside choose another master.
  const island = [
    master.host,
    ...(withReplica && replica ? [replica.host, ...site.store.sentinels.slice(0, 1)] : []),
  ];
  const inside = 0;
  const outside = site.gateways.filter((gateway) => gateway !== inside);
  const names = Array.from({ length: orders * 2 }, (_, index) => `${name}-${index}`);
  const at = performance.now();
  site.network.isolate(site.hostOf(inside), ...island);
  const ending = new AbortController();
  let insidePlaced = 0;
  let firstInside = Infinity;
  const onIsland = Promise.all(
    names.map(async (channelOrderId, index) => {
      await sleep(index * 20);
      while (!ending.signal.aborted) {
        const answer = await site.desk.place(inside, channelOrderId);
        if (isSuccess(answer)) {
          insidePlaced++;
          firstInside = Math.min(firstInside, performance.now());
          return;
        }
        await sleep(100);
      }
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
    await untilElected('the island takes orders', () => insidePlaced > 0);
    await untilElected('another is the master outside', async () => (await site.store.master()) !== master);
  }
  const first = site
    .placedSince(at)
    .filter(({ gateway }) => gateway !== inside)
    .reduce((least, { ended }) => Math.min(least, ended), Infinity);
  ending.abort();
  await onIsland;
  const saidInside = await site.ready(inside);
  site.network.mend();
  const after = (time: number) => (Number.isFinite(time) ? rounded((time - at) / 1_000) : 'none');
  const figures = {
    'first order after': after(first),
    'first on the island after': after(firstInside),
    'placed on the island': insidePlaced,
    'ready on the island': saidInside,
  };
  if (insidePlaced === 0) {
    await whole(site);
    for (const channelOrderId of names)
      await Promise.all(site.gateways.map((gateway) => site.desk.submit(channelOrderId, { at: [gateway] })));
    return { figures };
  }
  const faults = withReplica ? [] : ['a master without a replica took orders'];
  // The next master does not know what the island has placed.
  await joined(site);
  // The others learn it from the gateway of the island, within the second in which it connects to the next master.
  for (const gateway of site.gateways)
    await untilElected(
      `${gateway} notices that writes are missing`,
      async () => (await site.metric(gateway, COUNT_METRIC)) === 1,
    );
  faults.push(...(await refusals(site, `${name}-refused`)));
  const missing = /(\d+) are missing/.exec(await site.confirm())?.[1] ?? 'not said';
  await site.allAre('up');
  if (!isSuccess(await site.desk.submit(`${name}-after`)))
    faults.push('no order is placed after an operator confirmed');
  return { figures: { ...figures, 'missing, says guard-init': missing }, faults, lost: true };
}

/** Every server of the order store is killed at once and started again with its data. */
async function powerCut(site: Site, name: string, size: Size): Promise<Played> {
  const { first, seconds } = await amid(site, name, size, async () => {
    const at = performance.now();
    await Promise.all(site.store.nodes.map((node) => node.kill9()));
    await site.allAre('down');
    await Promise.all(site.store.nodes.map((node) => node.start()));
    return at;
  });
  await whole(site);
  return {
    figures: { 'first order after': rounded(seconds), 'ready down for': downSince(site, first).seconds },
  };
}

/** The replicas get no more writes, while all hosts reach the master. */
async function mute(site: Site, name: string, { orders }: Size): Promise<Played> {
  const master = (await site.store.master()).host as string;
  const replicas = new Set<string>((await site.store.replicas()).map(({ host }) => host));
  site.network.cut(
    (one, other) => (one === master && replicas.has(other)) || (other === master && replicas.has(one)),
  );
  const names = Array.from({ length: orders }, (_, index) => `${name}-${index}`);
  const before = (await site.sandbox.journal('batchOrder')).length;
  const answers = await Promise.all(
    names.map((channelOrderId) => site.desk.submit(channelOrderId, { tries: 3 })),
  );
  const sent = (await site.sandbox.journal('batchOrder')).length - before;
  await site.allAre('down');
  const faults = await refusals(site, `${name}-refused`);
  site.network.mend();
  await whole(site);
  for (const channelOrderId of names) await site.desk.submit(channelOrderId);
  if (sent > 0) faults.push(`${sent} orders were sent that only the master knew of`);
  // Refused, or still in progress by the record that only the master has.
  const others = answers.filter(({ status }) => status !== 503 && status !== 409);
  if (others.length > 0) faults.push(`${others.length} callers were told something else`);
  const inProgress = answers.filter(({ status }) => status === 409).length;
  return {
    figures: {
      sent,
      refused: `${answers.length - inProgress - others.length} of ${names.length}`,
      'in progress': inProgress,
    },
    faults,
  };
}

/** Every gateway refuses orders, sends nothing, and says so in a line and a metric. */
async function refusals(site: Site, name: string): Promise<string[]> {
  const faults: string[] = [];
  const before = (await site.sandbox.journal('batchOrder')).length;
  for (const gateway of site.gateways) {
    if (!isDenial(await site.desk.place(gateway, `${name}-${gateway}`)))
      faults.push(`${gateway} took an order`);
    if (!site.events(gateway).has('order-store-stopped'))
      faults.push(`${gateway} has no line of it in its log`);
    // It is measured twice a second.
    await untilElected(
      `the metric of ${gateway} says so`,
      async () => (await site.metric(gateway, TAKEN_METRIC)) === 0,
    );
  }
  if ((await site.sandbox.journal('batchOrder')).length > before) faults.push('something was sent');
  return faults;
}

/** Settings of the master change while it runs: one with which no order is safe, and one with which the log keeps less than it did. */
async function settingsChange(site: Site, name: string, { orders }: Size): Promise<Played> {
  const set = async (setting: string, value: string) => {
    const master = await site.store.master();
    await master.ask((client) => client.config('SET', setting, value));
  };
  const said = (event: string) =>
    untilElected(`${event} is in every log`, () =>
      site.gateways.every((gateway) => site.events(gateway).has(event)),
    );
  const at = performance.now();
  let faults: string[] = [];
  await set('maxmemory-policy', 'allkeys-lru');
  try {
    await site.allAre('down');
    faults = await refusals(site, name);
  } finally {
    await set('maxmemory-policy', 'noeviction');
  }
  const down = rounded((performance.now() - at) / 1_000);
  await site.allAre('up');
  await set('appendonly', 'no');
  try {
    await said('order-store-weak');
    await site.allAre('down');
  } finally {
    await set('appendonly', 'yes');
  }
  await site.allAre('up');
  const after = await Promise.all(
    Array.from({ length: orders }, (_, index) => site.desk.submit(`${name}-after-${index}`)),
  );
  if (!after.every(isSuccess)) faults.push('not every order is placed after it');
  return { figures: { 'ready down after': down }, faults };
}

/** A server that is made a replica of its own replica while gateways write to it. */
async function demoted(site: Site, name: string, size: Size): Promise<Played> {
  const master = await site.store.master();
  const [replica] = await site.store.replicas();
  const { seconds } = await amid(site, name, size, async () => {
    const at = performance.now();
    await master.ask((client) => client.call('REPLICAOF', '127.0.0.1', String(replica?.port)));
    return at;
  });
  await whole(site);
  return { figures: { 'first order after': rounded(seconds) } };
}

/** A server's data goes back to an earlier state, and gateways know that there was more. */
async function loses(
  site: Site,
  name: string,
  { orders }: Size,
  keep: (dataFolder: string) => void,
  lose: (dataFolder: string) => void,
): Promise<Played> {
  const [node] = site.store.nodes as [Node];
  const names = Array.from({ length: orders }, (_, index) => `${name}-${index}`);
  const handIn = (most: { tries?: number } = {}) =>
    Promise.all(
      names.map((channelOrderId, index) =>
        site.desk.submit(channelOrderId, { at: [index % site.gateways.length], ...most }),
      ),
    );
  keep(node.dataFolder);
  const first = await handIn();
  await node.kill9();
  lose(node.dataFolder);
  await node.start();
  // One gateway that was there before, and one that is new.
  await site.replaceGateway(0);
  const faults = first.every(isSuccess) ? [] : ['not every order was placed before'];
  const at = performance.now();
  const again = await handIn({ tries: 3 });
  if (again.some((answer) => !isDenial(answer))) faults.push('orders went on with records lost');
  await site.allAre('down');
  const noticed = rounded((performance.now() - at) / 1_000);
  faults.push(...(await refusals(site, `${name}-refused`)));
  const said = await site.confirm();
  await site.allAre('up');
  if (!isSuccess(await site.desk.submit(`${name}-after`)))
    faults.push('no order is placed after an operator confirmed');
  const missing = /(\d+) are missing/.exec(said)?.[1] ?? 'not said';
  return {
    figures: { 'ready down after': noticed, 'missing, says guard-init': missing },
    faults,
    lost: true,
  };
}

const logOf = (dataFolder: string) => {
  const folder = join(dataFolder, 'appendonlydir');
  const name = readdirSync(folder).find((each) => each.endsWith('.incr.aof'));
  return join(folder, name ?? '');
};

/** The append-only file ends early, as after a repair with redis-check-aof. */
const cutLog: Scene['play'] = (site, name, size) => {
  let length = 0;
  return loses(
    site,
    name,
    size,
    (folder) => (length = statSync(logOf(folder)).size),
    // A quarter of the writes since then stays: in half of them all orders may have begun, and then none is missing.
    (folder) => truncateSync(logOf(folder), Math.floor((3 * length + statSync(logOf(folder)).size) / 4)),
  );
};

/** An earlier copy replaces the data. */
const restored: Scene['play'] = (site, name, size) => {
  let copy = '';
  return loses(
    site,
    name,
    size,
    (folder) => {
      copy = `${folder}-copy`;
      cpSync(folder, copy, { recursive: true });
    },
    (folder) => {
      rmSync(folder, { recursive: true });
      renameSync(copy, folder);
    },
  );
};

const HOUR_MS = 3_600_000;
const CLOCK_STEPS_MS = [2_000, -2_000, HOUR_MS, -HOUR_MS, 8 * 24 * HOUR_MS, 0, 405 * 24 * HOUR_MS, 0];

/** The wall clock of the server jumps during orders; then all are submitted again. */
const clockSteps: Scene['play'] = async (site, name, size) => {
  const clock = site.clock;
  if (!clock) throw new Error('this server has no clock of its own');
  const began = performance.now();
  let longest = 0;
  for (const [index, step] of CLOCK_STEPS_MS.entries()) {
    const { seconds } = await amid(site, `${name}-${index}`, size, () => {
      clock.step(step);
      return Promise.resolve(performance.now());
    });
    longest = Math.max(longest, seconds);
  }
  const down = downSince(site, began);
  return { figures: { 'first order after, at most': rounded(longest), 'ready down for': down.seconds } };
};

const several = ['sentinel', 'cluster'] as const;
const single = ['single'] as const;

export const scenes = {
  'master killed': {
    what: 'kill -9 of the master, which comes back as a replica',
    on: several,
    play: failOver,
  },
  'masters switched': { what: 'an operator has another server take over', on: several, play: switchOver },
  'split brain': {
    what: 'the master and a gateway are cut off from everything else',
    on: several,
    play: (site, name, size) => split(site, name, size, false),
  },
  'split brain with a replica': {
    what: 'the master, a replica, a sentinel and a gateway are cut off from everything else',
    on: ['sentinel'],
    play: (site, name, size) => split(site, name, size, true),
  },
  'replicas cut off': {
    what: 'nothing gets through from the master to its replicas',
    on: several,
    play: mute,
  },
  'settings changed': {
    what: 'settings of the master are changed while it runs',
    on: several,
    play: settingsChange,
  },
  'master demoted': {
    what: 'REPLICAOF on the master, behind the back of the sentinels',
    on: ['sentinel'],
    play: demoted,
  },
  'power cut': { what: 'kill -9 of every server at once', on: several, play: powerCut },
  'clock steps': {
    what: "the server's clock steps by 2 s, an hour, 8 days and 405 days, ahead and back",
    on: single,
    play: clockSteps,
  },
  'log cut': { what: 'the append-only file lacks its end when the server starts', on: single, play: cutLog },
  'backup restored': {
    what: 'the server starts with the data of an earlier time',
    on: single,
    play: restored,
  },
} satisfies Record<string, Scene>;
export type SceneName = keyof typeof scenes;

export interface ScenePlayed {
  readonly scene: SceneName;
  readonly orders: number;
  readonly submits: number;
  readonly seconds: number;
  readonly figures: Figures;
  readonly faults: readonly string[];
}

export function scenesOn(kind: OrderStore['kind']): readonly SceneName[] {
  return (Object.entries(scenes) as [SceneName, Scene][])
    .filter(([, { on }]) => on.includes(kind))
    .map(([name]) => name);
}

export async function playScene(site: Site, scene: SceneName, size: Size, round = 1): Promise<ScenePlayed> {
  const began = performance.now();
  const before = site.desk.submits;
  const name = `${scene.replaceAll(' ', '-')}-${round}`;
  const {
    figures,
    faults = [],
    lost = false,
  } = await (scenes[scene] as Scene).play(site, name, size).catch(async (error: unknown) => {
    throw new Error(`${scene}: ${String(error)}\n${await site.account()}`, { cause: error });
  });
  const submits = site.desk.submits - before;
  // A gateway that could not reach the store may know of a success that is in doubt there.
  const judged = await site.desk.judge({ forgetful: true, lost });
  const seconds = (performance.now() - began) / 1_000;
  return { scene, orders: judged.orders, submits, seconds, figures, faults: [...faults, ...judged.faults] };
}
