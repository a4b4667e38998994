import { setTimeout as sleep } from 'node:timers/promises';
import { Fleet } from '../test/support/fleet.ts';
import { TestSandbox } from '../test/support/sandbox.ts';
import { spread } from './figures.ts';
import { gatewayOf, pidsOf } from './hostile.ts';
import { cpuSeconds } from './processes.ts';

/**
 * What the look-up of a bound caller's ids costs: `npm run bench:tenancy`. Ratios of the gateway's CPU time, in turns, since times on a
 * shared machine say little; and how long other requests wait during the look-up of a large enterprise. Needs the build and a
 * redis-server.
 */

const ROUNDS = 7;
const REQUESTS = 300;
const AT_A_TIME = 8;
const LIMIT = 1.3;
const ASSETS = 5_000;
const MEMBERS = 2_000;
const PAGE = 200;
const HARBOUR = '/v1/enterprises/ent-harbour';

let orders = 0;
const tasks: Readonly<Record<string, () => { method: string; path: string; body: object }>> = {
  'an order of one item': () => ({
    method: 'POST',
    path: '/v1/license-orders',
    body: {
      channelCode: 'crm',
      channelOrderId: `SO-B-${++orders}`,
      items: [
        {
          orderType: 'new_buy',
          licenseType: 'softkey',
          customer: { customerId: 'cus-harbour-default', enterpriseGlobalId: 'ent-harbour' },
          assets: [{ assetNums: ['8000001001'], products: [{ productUri: 'draft.pro' }] }],
        },
      ],
    },
  }),
  'a change of a member': () => ({
    method: 'PATCH',
    path: `${HARBOUR}/members/mem-harbour-anna`,
    body: { account: 'anna', name: 'Anna' },
  }),
};

const sandbox = await TestSandbox.start();
const callers = [{ name: 'bound', enterprises: ['ent-harbour'], channels: ['crm'] }];
const fleet = await Fleet.start(sandbox, 1, { environment: { CACHE_TTL_MS: '30000' }, callers });
let fails = false;
try {
  for (const [name, task] of Object.entries(tasks)) await compare(name, task);
  await lookUpLargeEnterprise();
} finally {
  await fleet.stop();
  await sandbox.close();
}
process.exitCode = fails ? 1 : 0;

async function compare(name: string, task: (typeof tasks)[string]): Promise<void> {
  const keys = { unbound: fleet.key, bound: fleet.keys['bound'] as string };
  for (const key of Object.values(keys)) await run(task, key);
  const ratios: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const unbound = await run(task, keys.unbound);
    ratios.push((await run(task, keys.bound)) / unbound);
  }
  const { median } = spread(ratios);
  report(
    `${name}, bound to unbound, lookups warm`,
    `${median.toFixed(2)} (${ratios.map((each) => each.toFixed(2)).join(' ')})`,
    median <= LIMIT,
  );
}

/** Seconds of CPU of the gateway. */
async function run(task: (typeof tasks)[string], key: string): Promise<number> {
  const before = cpuSeconds(pidsOf(fleet));
  let left = REQUESTS;
  const work = async () => {
    while (left-- > 0) await send(task(), key);
  };
  await Promise.all(Array.from({ length: AT_A_TIME }, work));
  return cpuSeconds(pidsOf(fleet)) - before;
}

async function send(
  { method, path, body }: { method: string; path: string; body?: object },
  key: string,
  ok = [200, 201, 204],
): Promise<number> {
  const response = await fetch(`${gatewayOf(fleet).url}${path}`, {
    method,
    headers: { 'x-api-key': key, ...(body && { 'content-type': 'application/json' }) },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  if (!ok.includes(response.status)) throw new Error(`${method} ${path}: ${response.status} ${text}`);
  return response.status;
}

/** 5,000 assets in one response of 2.5 MB and 2,000 members in ten, while other clients request the health of the process. */
async function lookUpLargeEnterprise(): Promise<void> {
  const assets = JSON.stringify({
    code: 0,
    message: 'success',
    data: Array.from({ length: ASSETS }, (_, index) => asset(index)),
  });
  await sandbox.fault({ operation: 'listAssets', action: { raw: { text: assets } } });
  const list = Array.from({ length: PAGE }, (_, index) => member(index));
  const page = { pageNum: 1, pageSize: PAGE, size: PAGE, total: MEMBERS, pages: MEMBERS / PAGE, list };
  await sandbox.fault({
    operation: 'listMembers',
    action: { raw: { text: JSON.stringify({ code: 0, message: 'success', data: page }) } },
  });
  const key = fleet.keys['bound'] as string;
  const idle = await waits(async () => sleep(1_000));
  const order = (index: number) => {
    const made = tasks['an order of one item']?.() as {
      method: string;
      path: string;
      body: { items: { assets: object[] }[] };
    };
    made.body.items[0]?.assets.splice(0, 1, {
      assetNums: [`9${index}`],
      products: [{ productUri: 'draft.pro' }],
    });
    return made;
  };
  const cpu = cpuSeconds(pidsOf(fleet));
  // Unknown numbers and members: each is looked up past the cache, ten times.
  const busy = await waits(async () => {
    for (let index = 0; index < 5; index++) {
      await send(order(index), key, [404]);
      await send(
        {
          ...(tasks['a change of a member']?.() as { method: string; body: object }),
          path: `${HARBOUR}/members/mem-${index}`,
        },
        key,
        [404],
      );
    }
  });
  const kib = Math.round(assets.length / 1_024);
  report(
    `the longest wait of others while ${ASSETS} assets (${kib} KiB) and ${MEMBERS} members are looked up, 5 times past the cache`,
    `${busy.longest.toFixed(0)} ms (idle ${idle.longest.toFixed(0)} ms), median ${busy.median.toFixed(1)} ms, CPU ${((cpuSeconds(pidsOf(fleet)) - cpu) * 1_000).toFixed(0)} ms`,
    busy.longest < 200 + idle.longest,
  );
}

function asset(index: number): object {
  const id = `ast-large-${index}`;
  return {
    id,
    licenseType: 'cloud_account',
    assetNum: String(8_100_000_000 + index),
    grantable: true,
    customerId: 'cus-harbour-default',
    keyShellNumber: String(8_100_000_000 + index),
    keyChipType: 2,
    locked: false,
    freezing: false,
    createTime: 1_767_600_000_000,
    updateTime: 1_767_600_000_000,
    limitStartTime: 1_767_600_000_000,
    limitEndTime: 4_102_358_400_000,
    assignStatus: {
      id,
      assignStatus: 'assigned',
      assignMemberId: `mem-${index}`,
      createTime: '1767600000000',
      updateTime: null,
    },
    assetLimits: null,
    assetExtends: [{ extendCode: 'site', extendValue: `pier-${index}` }],
    borrowedUsbKey: false,
  };
}

function member(index: number): object {
  return {
    id: index,
    userId: index,
    globalId: `mem-large-${index}`,
    enterpriseId: 1,
    name: `Member ${index}`,
    assetNums: [],
    deleted: false,
  };
}

/** How long requests without a look-up wait during other work. */
async function waits(work: () => Promise<unknown>): Promise<{ longest: number; median: number }> {
  const times: number[] = [];
  const over = new AbortController();
  const probe = (async () => {
    while (!over.signal.aborted) {
      const started = performance.now();
      await send({ method: 'GET', path: '/health/live' }, fleet.key);
      times.push(performance.now() - started);
      await sleep(2);
    }
  })();
  await work();
  over.abort();
  await probe;
  times.sort((one, other) => one - other);
  return { longest: times.at(-1) ?? 0, median: times[Math.floor(times.length / 2)] ?? 0 };
}

function report(what: string, measured: string, holds: boolean): void {
  fails ||= !holds;
  console.log(`${holds ? 'holds' : 'FAILS'}  ${what}: ${measured}`);
}
