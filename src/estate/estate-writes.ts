import { setTimeout as sleep } from 'node:timers/promises';
import { type BeforeApplicationShutdown, Injectable, type OnApplicationBootstrap } from '@nestjs/common';
import { EstateConfig } from '../config/app-config.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import type { OrderDetails } from '../order-ledger/ledger-record.ts';
import { Generations } from '../read-cache/read-keys.ts';
import { chunksOf } from '../shared/chunks-of.ts';
import { inBackground } from '../shared/edge.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { allAssetsOf, orderIn } from './estate-changes.ts';
import { EstateRowsStore } from './estate-rows-store.ts';

const DAY_MS = 86_400_000;
/**
 * The fields of the platform's requests, and of records of orders, that name assets, members and licence orders. For bound callers each of them
 * was looked up. A label of the caller's own, such as `crmProductId`, may be equal to the id of something that another caller has.
 */
const IDS: ReadonlySet<string> = new Set([
  ...['assetId', 'assetIDs', 'assetNos', 'assetNums', 'addAssets', 'deleteAssets', 'borrowedUsbKey'],
  ...['memberGlobalId', 'srcLicenseOrderId', 'licenseOrderId'],
]);
/** The most ids, and the most enterprises, that wait for the database. */
const MAX_IDS = 10_000;
/** The most ids that one write notes, so that a long write leaves space for others. Events may tell the changes of what it named beyond. */
const MAX_OF_WRITE = 5_000;
/** The number of ids that are hashed in one turn of the event loop, and noted in one step. */
const NOTED_AT_ONCE = 500;
/** The time after which notes are written again that the database did not take. */
const AGAIN_MS = 2_000;

/** Lets the enterprises that a write of this process may have changed be read next. Notes the ids that it sent, whose changes make no events. */
@Injectable()
export class EstateWrites implements OnApplicationBootstrap, BeforeApplicationShutdown {
  readonly #written = new Set<string>();
  /** The customers of orders that name no enterprise. The copy shows whose they are. */
  readonly #customers = new Set<string>();
  /** The ids that writes named, each with the time in which its write may still be carried out, in ms. */
  readonly #named = new Map<string, number>();
  #isNoting = false;
  #noting = Promise.resolve();
  readonly #closing = new AbortController();

  constructor(
    private readonly config: EstateConfig,
    private readonly store: EstateRowsStore,
    private readonly generations: Generations,
    private readonly upstream: UpstreamClient,
  ) {}

  onApplicationBootstrap(): void {
    if (this.config.refreshMs === undefined) return;
    this.upstream.onWrite(({ ids, body, mayBeAccepted }) => this.#add({ ids, body }, mayBeAccepted));
    this.generations.onWrite((enterprises, order) => {
      for (const each of enterprises) addTo(this.#written, each);
      if (!order) return this.#note();
      const placed = placedIn(order as OrderDetails);
      for (const { enterpriseGlobalId, customerId } of placed.ordered)
        if (enterpriseGlobalId === null && customerId) addTo(this.#customers, customerId);
      this.#add(placed, true);
    });
  }

  async beforeApplicationShutdown(): Promise<void> {
    this.#closing.abort();
    await this.#noting;
  }

  #add(named: object, mayBeAccepted: boolean): void {
    const { ids, isLater } = idsIn(named);
    const forMs = isLater && mayBeAccepted ? DAY_MS : 0;
    for (const id of ids.slice(0, MAX_OF_WRITE)) this.#name(id, forMs);
    this.#note();
  }

  #name(id: string, forMs: number): void {
    if (this.#named.size < MAX_IDS) this.#named.set(id, Math.max(forMs, this.#named.get(id) ?? 0));
  }

  /** Writes that end while the database notes others are noted together. */
  #note(): void {
    if (this.#isNoting) return;
    this.#isNoting = true;
    this.#noting = this.#noteAll();
    inBackground('writes of the estate', () => this.#noting);
  }

  async #noteAll(): Promise<void> {
    while (this.#written.size + this.#customers.size + this.#named.size > 0) {
      const [named, written, customers] = [[...this.#named], [...this.#written], [...this.#customers]];
      for (const noted of [this.#named, this.#written, this.#customers]) noted.clear();
      try {
        // The ids come first: a reading that finds the change has to know them.
        for (const some of chunksOf(named, NOTED_AT_ONCE)) await this.store.note(some);
        await this.store.want([...written, ...(await this.store.ownersOf(customers))], 'written');
      } catch (error) {
        if (!(error instanceof DatabaseUnavailable)) continue;
        for (const [id, forMs] of named) this.#name(id, forMs);
        for (const each of written) addTo(this.#written, each);
        for (const each of customers) addTo(this.#customers, each);
        const { signal } = this.#closing;
        await sleep(AGAIN_MS, undefined, { signal, ref: false }).catch(() => undefined);
        if (signal.aborted) break;
      }
    }
    this.#isNoting = false;
  }
}

function addTo(some: Set<string>, id: string): void {
  if (some.size < MAX_IDS) some.add(id);
}

/**
 * Returns the order with the customer of each item, as the platform told it: the request may have named the customer by a number of a CRM. The
 * licence orders that an operator has named in a settlement were not looked up.
 */
function placedIn({ settlement, search = {}, ...order }: OrderDetails) {
  const items = settlement ? [] : order.items;
  const placed = new Map(items.map(({ sequence, customerId }) => [sequence, customerId]));
  const { customers = {}, deletions = {} } = search;
  const ordered = order.ordered.map((item) => ({
    ...item,
    customerId: placed.get(item.sequence) ?? customers[item.sequence]?.customerId,
    // Only a deletion that is known to be from all orders changes assets that it does not name.
    srcLicenseOrderId: (deletions[item.sequence]?.[0] ?? { licenseOrderId: '' }).licenseOrderId,
  }));
  return { ...order, search, items, ordered };
}

/** `isLater`: the platform may carry the write out later, so that it changes things after its response. */
function idsIn(named: object): { readonly ids: readonly string[]; readonly isLater: boolean } {
  const ids = new Set<string>();
  const [enterprises, orders] = [new Set<string>(), new Set<string>()];
  let isLater = false;
  const look = (value: unknown, field = '') => {
    if (Array.isArray(value)) for (const each of value) look(each, field);
    else if (typeof value === 'object' && value !== null) {
      const { orderType, srcLicenseOrderId, customerId, enterpriseGlobalId } = value as Record<
        string,
        unknown
      >;
      const isOfAll = orderType !== undefined && srcLicenseOrderId === undefined;
      const whatOf = orderType === 'new_buy' ? orderIn : isOfAll ? allAssetsOf : undefined;
      for (const owner of [enterpriseGlobalId, customerId])
        if (whatOf && typeof owner === 'string') ids.add(whatOf(owner));
      for (const [name, each] of Object.entries(value)) look(each, name);
    } else if (field === 'syncMode') isLater ||= value === 'async';
    else if (typeof value !== 'string' || value === '') return;
    else if (field === 'enterpriseGlobalId' || field === 'enterprises') enterprises.add(value);
    else if (field === 'channelOrderId') orders.add(value);
    else if (IDS.has(field)) ids.add(value);
  };
  look(named);
  for (const number of orders) {
    // Another company may use the same number in its channel.
    for (const enterprise of enterprises) ids.add(orderIn(enterprise, number));
    if (enterprises.size === 0) ids.add(number);
  }
  return { ids: [...ids], isLater };
}
