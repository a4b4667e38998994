/**
 * Part of database.ts: fills the estate of the database of its first argument with 300 enterprises, 200 assets of each and 3 products on each,
 * and prints the median time of a list with each filter and in each order in ms, as JSON.
 */
import { createSecretKey, randomUUID } from 'node:crypto';
import { SealedTexts } from '../src/database/sealed-texts.ts';
import { type EstateOrder, estateOrders } from '../src/estate/estate-filters-store.ts';
import { EstateListStore, type WantedRows } from '../src/estate/estate-list-store.ts';
import type { HeldAsset } from '../src/estate/estate-row.ts';
import { EstateRowsStore } from '../src/estate/estate-rows-store.ts';
import { ESTATE } from '../src/estate/estate-steps-store.ts';
import { takeBy } from '../src/tasks/task-store.ts';
import { openOwnDatabase } from '../test/support/own-database.ts';

const [url = '', enterprises = '300', assets = '200'] = process.argv.slice(2);
const ROUNDS = 20;
const PAGE = 100;
const DAY_MS = 86_400_000;
const now = Date.now();
const database = await openOwnDatabase(url, 'bench');
const texts = new SealedTexts([{ kid: 'bench', key: createSecretKey(Buffer.alloc(32, 7)) }], 'bench');
const store = new EstateRowsStore(database, texts);
const lists = new EstateListStore(database, texts);

/** Every asset has an end within three years; half of them have a member, and a quarter of the rest can be given to one. */
function assetOf(enterprise: number, at: number): HeldAsset {
  const id = enterprise * 1_000 + at;
  const hasMember = at % 2 === 0;
  const end = (days: number) => new Date(now + days * DAY_MS).toISOString();
  return {
    asset: {
      ...{
        assetId: `ast-${id}`,
        assetNum: `80${String(id).padStart(8, '0')}`,
        customerId: `cus-${enterprise}`,
      },
      ...{ licenseType: ['cloud_account', 'softkey', 'virtual_lock'][at % 3] ?? null, startsAt: null },
      ...{ endsAt: end((id * 37) % 1_100), updatedAt: end(-1), locked: false, frozen: false, lent: false },
      ...{ memberGlobalId: hasMember ? `mem-${id}` : null, online: false, lastOnlineAt: null },
      isUnassigned: !hasMember && at % 4 === 1,
    },
    products: [0, 1, 2].map((place) => ({
      ...{
        productId: `pro-${id}-${place}`,
        productUri: `product.${(at + place) % 12}`,
        productName: `Product ${place}`,
      },
      ...{ packageNum: null, startsAt: null, endsAt: end((id * 17 + place) % 1_100), trial: false },
      ...{
        limitConcurrent: 1,
        licenseOrderId: `lic-${id}`,
        channelOrderId: `SO-${id}`,
        crmProductId: `crm-${place}`,
      },
    })),
    ...{ read: { at: now, updatedAt: null }, seenAt: now - enterprise, accounts: [], isNew: false },
  };
}

async function fill(): Promise<void> {
  const names = Array.from({ length: Number(enterprises) }, (_, at) => `ent-${at}`);
  await store.want(names, 'named');
  const attempt = randomUUID();
  const taken = await database.step(takeBy(), {
    kind: ESTATE,
    attempt,
    count: names.length,
    leaseMs: 600_000,
  });
  const over = new AbortController().signal;
  for (const { name } of taken) {
    const enterprise = Number(name.slice(4));
    const all = Array.from({ length: Number(assets) }, (_, at) => assetOf(enterprise, at));
    for (let from = 0; from < all.length; from += 100)
      await store.change({ name, attempt, over }, { kept: all.slice(from, from + 100) });
    await store.change({ name, attempt, over }, { state: { state: 'whole', reason: null, seenAt: now } });
  }
}

const medians: Record<string, number> = {};
/** Fails where a page has no rows: then it would be a page of nothing that is fast. */
async function measure(name: string, query: WantedRows, order: EstateOrder = 'endsAt', offset = 0) {
  const times: number[] = [];
  for (let round = 0; round < ROUNDS; round++) {
    const from = performance.now();
    const { found } = await lists.page(query, order, offset, PAGE);
    await lists.enterprises(query);
    times.push(performance.now() - from);
    if (found.length === 0) throw new Error(`no rows: ${name}`);
  }
  medians[name] = times.toSorted((one, other) => one - other)[ROUNDS / 2] ?? 0;
}

const began = performance.now();
await fill();
medians['to fill it'] = performance.now() - began;
const half = new Set(Array.from({ length: 150 }, (_, at) => `ent-${2 * at}`));
const filters: readonly (readonly [string, WantedRows])[] = [
  ['all', {}],
  ['an enterprise', { enterprise: 'ent-4' }],
  ['half of the enterprises', { granted: half }],
  ['five enterprises', { granted: new Set(['ent-1', 'ent-20', 'ent-33', 'ent-40', 'ent-50']) }],
  ['a licence type', { licenseType: 'softkey' }],
  ['a product', { productUri: 'product.3' }],
  ['what ends soon', { endsAfter: now, endsBefore: now + 60 * DAY_MS }],
  ['what ends later', { endsAfter: now + 60 * DAY_MS }],
  ['unassigned', { unassigned: true }],
  ['not unassigned', { unassigned: false }],
  ['unassigned, soon', { unassigned: true, endsAfter: now, endsBefore: now + 60 * DAY_MS }],
  ['a member', { member: 'mem-4002' }],
  ['find a number', { find: '8000004002' }],
  ['find a customer', { find: 'cus-7' }],
  ['find what many have', { find: 'crm-1' }],
  [
    'all filters',
    { licenseType: 'softkey', productUri: 'product.3', endsBefore: now + 300 * DAY_MS, granted: half },
  ],
];
for (const [name, query] of filters) await measure(name, query);
await measure('the last page', {}, 'endsAt', Number(enterprises) * Number(assets) * 3 - PAGE);
await measure('an enterprise, last page', { enterprise: 'ent-4' }, 'endsAt', Number(assets) * 3 - PAGE);
for (const order of estateOrders.words) {
  await measure(`all by ${order}`, {}, order);
  await measure(`half by ${order}`, { granted: half }, order);
}
const from = performance.now();
await lists.sums({});
medians['sums'] = performance.now() - from;
process.stdout.write(JSON.stringify(medians, null, 1));
await database.close();
process.exit(0);
