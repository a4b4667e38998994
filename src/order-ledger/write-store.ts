import { countersOf } from '../budgets/state/use-store.ts';
import { Database } from '../database/database.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { rowsAs, type SqlRow } from '../database/engine.ts';
import { needKeysOf, sealedUnderLacked } from '../database/lacked-keys.ts';
import { amongTexts, NOW, sql } from '../database/sql.ts';
import type { Step } from '../database/step.ts';
import type { ChannelOrder } from '../upstream/wire/instances.ts';
import type { ProblemException } from '../problem/problem.exception.ts';
import { BeginLimits } from './begin-limits.ts';
import { beginWrites, mayReplace } from './begin-store.ts';
import {
  keptDetails,
  type LedgerRecord,
  orderName,
  UNDONE,
  unsettled,
  withoutScheduled,
} from './ledger-record.ts';
import type { LoggedMove } from '../events/log/move-log.ts';
import {
  endLeases,
  forgetWrites,
  MAX_ENDED,
  MAX_FORGOTTEN,
  moveOwn,
  type MoveOfRow,
  moveWrites,
} from './move-store.ts';
import type { Begin, Begun, Known, Listing, Move, Moved, OrderQuery, WaitingOrders } from './write-steps.ts';
import { enterprisesIn, OrderListStore } from './order-list-store.ts';
import { namedRows, wanted, WRITE_FIELDS } from './named-row-store.ts';
import { recordOfEvent, WriteRecords, type WriteRow } from './write-rows.ts';

/** Records are kept for days, so a minute more does not matter. */
const FORGET_MS = 60_000;
const ONE = sql`SELECT ${WRITE_FIELDS}, ${NOW} AS now FROM writes WHERE platform = :platform AND name = :name`;
const HELD = namedRows(sql`name, state, owner, lease_until AS "leaseUntil"`);
const CHANNELS = sql`
  SELECT DISTINCT channel FROM order_counts WHERE platform = :platform AND enterprise_group = '' AND channel <> ''`;
const RENEW = sql`
  UPDATE writes SET lease_until = ${NOW} + :leaseMs
  WHERE platform = :platform AND name = :name AND state = 'sending' AND owner = :owner AND lease_until > (SELECT ${NOW})`;
const WAITING = sql`
  SELECT state, orders, ${NOW} AS now, (
    SELECT min(submitted_at) FROM writes
    WHERE writes.platform = :platform AND writes.channel IS NOT NULL AND writes.state = order_counts.state) AS oldest,
    (SELECT min(not_before) FROM writes WHERE writes.platform = :platform AND writes.state = 'scheduled') AS next
  FROM order_counts WHERE platform = :platform AND enterprise_group = '' AND channel = '' AND state IN ('in_doubt', 'incomplete', 'accepted', 'scheduled')`;
const SEALED = sealedUnderLacked(
  sql`writes`,
  sql`details`,
  sql`channel IS NOT NULL AND ${amongTexts(sql`state`, sql`:states`)}`,
);
const MEMBERS = sql`
  SELECT count(*) AS granted, min(members) AS members FROM order_groups
  WHERE platform = :platform AND enterprise_group = (SELECT enterprise_group FROM writes WHERE platform = :platform AND name = :name)
    AND ${amongTexts(sql`enterprise`, sql`:enterprises`)}`;

type NewRecord = Pick<Begin, 'name' | 'details' | 'notBefore'>;

interface Renewal {
  readonly name: string;
  readonly owner: string;
  readonly leaseMs: number;
}

const renewLeases: Step<Renewal, undefined> = {
  name: 'renew leases',
  key: ({ name }) => name,
  repeatable: true,
  decide: (renewals) => ({ writes: renewals.map((each) => RENEW.with({ ...each })) }),
};

/**
 * Finds whether owners still have their leases. It is a step, though it writes nothing: each order that is being sent waits for it, so it must not
 * wait for reads of others, which may take long.
 */
const findHeld: Step<Omit<Renewal, 'leaseMs'>, boolean> = {
  name: 'find held writes',
  key: ({ name }) => name,
  repeatable: true,
  look: (asked) => [HELD.with(wanted(asked.map(({ name }) => name)))],
  decide: (asked, [found], now) => {
    type Row = Pick<WriteRow, 'name' | 'state' | 'owner' | 'leaseUntil'>;
    const there = new Map(rowsAs<Row>(found).map((row) => [row.name, row]));
    const isHeld = ({ name, owner }: Omit<Renewal, 'leaseMs'>) => {
      const row = there.get(name);
      return row?.state === 'sending' && row.owner === owner && row.leaseUntil > now;
    };
    return { results: () => asked.map(isHeld) };
  },
};

/** Orders and keyed writes in the database, whose clock counts. Where a call rejects with `DatabaseUnavailable`, nothing may be sent. */
export class WriteStore {
  readonly #lists: OrderListStore;
  #forgottenAt = -Infinity;

  constructor(
    private readonly database: Database,
    private readonly records: WriteRecords,
  ) {
    this.#lists = new OrderListStore(database);
    // Nobody could show or settle an order whose key is missing.
    needKeysOf(database, 'orders are sealed that are not settled', SEALED, { states: unsettled });
  }

  /** Resolves when the record is durable. The same owner may repeat it when the first response got lost. */
  async begin(write: Begin): Promise<Begun> {
    const { name } = write;
    const texts = this.#texts(write);
    for (;;) {
      const result = await this.database.step(beginWrites, { ...write, ...texts });
      if (result.kind === 'there')
        return { kind: 'there', same: result.same, record: this.records.opened(result.row) };
      if (result.kind !== 'ended') return result;
      const moved = await this.#moved({ name, by: 'lease', to: 'in_doubt' });
      if (moved.kind === 'moved') this.ended([name]);
    }
  }

  /** Returns the problem of a new write whose caller has too many records; undefined where it may begin. It records nothing. */
  async tooMany(write: NewRecord, now: number): Promise<ProblemException | undefined> {
    const [query] = countersOf(new Set([write.details.caller]), new Set());
    const counters = query && (await this.database.read<SqlRow>(query));
    const limits = new BeginLimits({ window: undefined, counters }, now);
    return limits.tooMany({ ...write, ...this.#texts(write) });
  }

  #texts({ name, details, notBefore }: NewRecord) {
    const told = this.records.sealed(name, withoutScheduled(details));
    // The data for the later sending is in the record of a scheduled order, and in no event.
    return notBefore === undefined
      ? { sealed: told, told: undefined }
      : { sealed: this.records.sealed(name, details), told };
  }

  /** Returns the record that a write of this name would find; undefined where it would begin. Unlike `begin`, it records nothing. */
  async known(write: Pick<Begin, 'name' | 'fingerprints' | 'details'>): Promise<Known | undefined> {
    this.database.trust.assertWhole();
    const [row] = await this.database.read<WriteRow>(ONE.with({ name: write.name }));
    if (!row || mayReplace(row, write)) return undefined;
    return { same: write.fingerprints.includes(row.fingerprint), record: this.records.opened(row) };
  }

  /** Whether this owner is sending the write, and its lease has not ended. */
  holds(name: string, owner: string): Promise<boolean> {
    return this.database.step(findHeld, { name, owner });
  }

  /** Extends the lease of this owner. It has no effect on a lease that has ended. */
  renew(renewal: Renewal): Promise<undefined> {
    return this.database.step(renewLeases, renewal);
  }

  async move(move: Move): Promise<Moved> {
    let moved = await this.#moved(move);
    // A write that begins replaces the row of its number, so a move that waited for it may have found no row.
    if (moved.kind === 'missing') moved = await this.#moved(move);
    if (moved.kind === 'moved') return { kind: 'moved', record: this.records.opened(moved.record) };
    if (moved.kind !== 'refused') return moved;
    const record = await this.read(move.name);
    return record ? { kind: 'refused', record } : { kind: 'missing' };
  }

  /** Returns an order with the time, in ms, until it is due by the clock of the database; 0: its time has come, or it was never scheduled. */
  async readDue(name: string): Promise<(LedgerRecord & { readonly leftMs: number }) | undefined> {
    this.database.trust.assertWhole();
    const [row] = await this.database.read<WriteRow & { now: number }>(ONE.with({ name }));
    return row && { ...this.records.opened(row), leftMs: Math.max(0, (row.notBefore ?? 0) - row.now) };
  }

  /** With `within`, returns only an order whose items all name enterprises in that set. Any other record is treated as missing. */
  async read(name: string, within?: ReadonlySet<string>): Promise<LedgerRecord | undefined> {
    this.database.trust.assertWhole();
    if (within && !(await this.#isWithin(name, within))) return undefined;
    const [row] = await this.database.read<WriteRow>(ONE.with({ name }));
    return row && this.records.opened(row);
  }

  /** Returns whether another channel has an order of this number. */
  async isShared({ channelCode, channelOrderId }: ChannelOrder): Promise<boolean> {
    const channels = await this.database.read<{ readonly channel: string }>(CHANNELS.with());
    const others = channels.filter(({ channel }) => channel !== channelCode);
    const names = others.map(({ channel }) => orderName(channel, channelOrderId));
    return names.length > 0 && (await this.database.read(HELD.with(wanted(names)))).length > 0;
  }

  /** The duration does not depend on the number of orders. `abandon` ends the read. */
  async list(query: OrderQuery, offset: number, count: number, abandon?: AbortSignal): Promise<Listing> {
    const records: LedgerRecord[] = [];
    const total = await this.each(query, offset, count, (record) => records.push(record), abandon);
    return { records, total };
  }

  /** Calls `found` with the orders of a page one by one, so that a page of long ones is never in the memory at once. Resolves to the total. */
  async each(
    query: OrderQuery,
    offset: number,
    count: number,
    found: (record: LedgerRecord) => void,
    abandon?: AbortSignal,
  ): Promise<number> {
    this.database.trust.assertWhole();
    return this.#lists.page(query, offset, count, (row) => this.#listed(row), found, abandon);
  }

  /** Leaves out the request body of a scheduled order, because a page of them would be too large. */
  #listed(row: WriteRow): LedgerRecord | undefined {
    try {
      const record = this.records.opened(row);
      return { ...record, details: withoutScheduled(record.details) };
    } catch (error) {
      if (error instanceof DatabaseUnavailable && error.reason === 'ahead') throw error;
      // The page shows the other orders; `getOrder` responds with 503 to a request for this one.
      return undefined;
    }
  }

  /** Returns the order as it was after that move. */
  recordIn({ name, state, record }: LoggedMove): LedgerRecord {
    return this.records.opened(recordOfEvent(name, state, String(record)));
  }

  /** Moves every write whose lease has ended to `in_doubt`, and returns their names. */
  async sweep(): Promise<readonly string[]> {
    const ended: string[] = [];
    let part: readonly string[];
    do {
      part = await this.database.step(endLeases, { gatewayNow: Date.now() });
      ended.push(...part);
    } while (part.length === MAX_ENDED);
    this.ended(ended);
    if (performance.now() - this.#forgottenAt >= FORGET_MS) await this.#forget();
    return ended;
  }

  async waiting(): Promise<WaitingOrders> {
    type Row = { state: string; orders: number; oldest: number | null; next: number | null; now: number };
    const found = await this.database.read<Row>(WAITING.with());
    const ordersIn = (...some: readonly string[]) => {
      const waiting = found.filter(({ state, orders }) => some.includes(state) && orders > 0);
      const count = waiting.reduce((sum, { orders }) => sum + orders, 0);
      return { count, oldestMs: Math.max(0, ...waiting.map(({ oldest, now }) => now - (oldest ?? now))) };
    };
    const [row] = found;
    const overdueMs = row?.next == null ? 0 : Math.max(0, row.now - row.next);
    const scheduled = { count: ordersIn('scheduled').count, overdueMs };
    return { inDoubt: ordersIn('in_doubt', 'incomplete'), accepted: ordersIn('accepted'), scheduled };
  }

  /** Called with the writes whose lease this process has ended. */
  protected ended(_names: readonly string[]): void {}

  #moved({ details, ...move }: Move) {
    const sealed = details && this.records.sealed(move.name, keptDetails(details, move.to));
    const frees = details?.order && UNDONE.has(move.to) ? details.caller : undefined;
    const input: MoveOfRow = { ...move, sealed, frees, gatewayNow: Date.now() };
    return this.database.step(move.by === 'owner' ? moveOwn : moveWrites, input);
  }

  /** Reads only the number of enterprises of an order, so that the duration does not reveal that an order of someone else exists. */
  async #isWithin(name: string, within: ReadonlySet<string>): Promise<boolean> {
    const enterprises = enterprisesIn(within);
    type Row = { granted: number; members: number | null };
    const [row] = await this.database.read<Row>(MEMBERS.with({ name, enterprises }));
    return row !== undefined && row.granted > 0 && row.granted === row.members;
  }

  async #forget(): Promise<void> {
    this.#forgottenAt = performance.now();
    const gatewayNow = Date.now();
    const forget = () => this.database.step(forgetWrites, { gatewayNow });
    while ((await forget()) === MAX_FORGOTTEN);
  }
}
