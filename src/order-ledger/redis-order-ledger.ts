import { type Budget, exhaustedProblem, type MonthlyUse } from '../control/budgets.ts';
import { type MaintenanceWindow, stoppedProblem } from '../control/maintenance.ts';
import { type Acknowledged, AcknowledgedScripts } from '../redis/acknowledged-scripts.ts';
import { sha256 } from '../redis/key-names.ts';
import { refusalOf } from '../redis/redis-error.ts';
import type { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import {
  type Details,
  enterprisesOf,
  isOrder,
  keptFor,
  type LedgerRecord,
  type OrderDetails,
  type State,
  states,
  transitions,
} from './ledger-record.ts';
import {
  type Begin,
  type Begun,
  type KnownStore,
  type Listing,
  type Move,
  type Moved,
  type OrderLedgerStore,
  OrderLedgerUnavailable,
  type OrderQuery,
  type WaitingOrders,
} from './order-ledger-store.ts';
import { BEGIN, HOLDS, MOVE, READ, READ_MANY, SWEEP, USED, WAITING } from './ledger-scripts.ts';
import type { LoggedMove } from './move-log.ts';
import { OrderIndex, type RunStep } from './order-index.ts';
import { windowIn, type WindowReply } from './redis-maintenance-store.ts';
import { storeKeys } from './store-keys.ts';

const VERSION = '1';
/** The records that one script reads. To decrypt them takes half a millisecond, and then other requests go on. */
const MAX_READ = 20;
type Fields = (string | null)[];

export class RedisOrderLedger implements OrderLedgerStore {
  readonly #prefix: string;
  readonly #commonKeys: readonly string[];
  readonly #acknowledged: AcknowledgedScripts;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
    private readonly known: KnownStore,
  ) {
    const { prefix, count, seen, lost, moves, maintenance, ordersIn } = storeKeys(environment);
    this.#prefix = prefix;
    const indexes = ['leases', 'orders', 'orders:ends'].map((name) => this.#key(name));
    this.#commonKeys = [...indexes, ...states.map(ordersIn), count, seen, lost, moves, maintenance];
    this.#acknowledged = new AcknowledgedScripts(redis, () => known.server.acknowledgements);
  }

  async begin({ name, owner, fingerprints, leaseMs, details, alias, budgets }: Begin): Promise<Begun> {
    if (this.known.server.lacksRights) throw new OrderLedgerUnavailable('refused');
    const { order, caller } = details;
    const values = [
      VERSION,
      owner,
      leaseMs,
      this.#sealed(name, details),
      JSON.stringify({ caller: encodeURIComponent(caller), ...(order && { ...indexesOf(order), budgets }) }),
      alias === undefined ? '' : this.#key(`alias:${alias}`),
      keptFor('rejected', isOrder(name)) ?? '',
      keptFor('in_doubt', isOrder(name)) ?? '',
      ...fingerprints,
    ];
    const { reply, acknowledged } = await this.#run(BEGIN, name, values, { isConfirmed: true });
    const [kind, ...rest] = reply;
    if (kind === 'begun') {
      // A failover could lose this record, and the order would be sent a second time: so it is not sent now.
      if (!acknowledged) throw new OrderLedgerUnavailable('unacknowledged');
      this.known.saw(Number(rest[1]));
      return { kind, submittedAt: Number(rest[0]) };
    }
    if (kind === 'taken' || kind === 'full') return { kind };
    if (kind === 'maintenance') {
      const window = windowIn(rest[1] as WindowReply) as MaintenanceWindow;
      return { kind: 'not_admitted', problem: stoppedProblem(window, Number(rest[0])) };
    }
    if (kind === 'exhausted')
      return { kind: 'not_admitted', problem: exhaustedProblem(rest[1] as Budget, Number(rest[0])) };
    return { kind: 'there', same: rest[0] === 1, record: this.#opened(name, rest[1] as Fields) };
  }

  async holds(name: string, owner: string): Promise<boolean> {
    const { reply } = await this.#run(HOLDS, name, [VERSION, owner]);
    return reply[0] === 'held';
  }

  async move({ name, by, owner, to, from: only, details, minAgeMs }: Move): Promise<Moved> {
    const from = states.filter((state) => (only ?? state) === state && transitions[by][state]?.includes(to));
    const sealed = details ? this.#sealed(name, details) : '';
    const keptMs = keptFor(to, isOrder(name)) ?? '';
    const values = [VERSION, owner ?? '', to, sealed, keptMs, minAgeMs ?? 0, ...from];
    // The sender's own result is recorded even in a store that has lost other writes.
    const expected = by === 'owner' ? -1 : undefined;
    const { reply } = await this.#run(MOVE, name, values, { expected });
    const [kind, ...rest] = reply;
    if (kind === 'missing') return { kind };
    if (kind === 'early') return { kind, leftMs: Number(rest[0]) };
    const fields = rest[0] as Fields;
    // The details of a move that was made are those that were given: no need to decrypt them.
    if (kind === 'moved') return { kind, record: this.#opened(name, fields, details) };
    return { kind: 'refused', record: this.#opened(name, fields) };
  }

  async read(name: string, within?: ReadonlySet<string>): Promise<LedgerRecord | undefined> {
    const granted = within ? ['within', ...[...within].map(encodeURIComponent)] : [];
    const { reply } = await this.#run(READ, name, granted);
    return reply[0] === 'missing' ? undefined : this.#opened(name, reply[1] as Fields);
  }

  async list(query: OrderQuery, offset: number, count: number, abandon?: AbortSignal): Promise<Listing> {
    const run: RunStep = async (script, keys, values) => {
      if (abandon?.aborted) throw new OrderLedgerUnavailable('abandoned');
      return (await this.#ask(script, [this.#key('epoch'), ...keys], values)).reply;
    };
    const { keys, total } = await new OrderIndex(this.#key('orders'), run).page(query, offset, count);
    const records: LedgerRecord[] = [];
    for (let first = 0; first < keys.length; first += MAX_READ) {
      const [, found] = await run(READ_MANY, keys.slice(first, first + MAX_READ), []);
      for (const [key, fields] of found as [string, Fields][]) {
        try {
          records.push(this.#opened(this.#nameOf(key), fields));
        } catch {
          // The page shows the other orders; `getOrder` responds with 503 to a request for this one.
        }
      }
    }
    return { records, total };
  }

  recordIn({ name, record }: LoggedMove): LedgerRecord {
    return this.#opened(this.#nameOf(name), record as Fields);
  }

  async sweep(): Promise<readonly string[]> {
    const { trial } = this.known;
    const values = [keptFor('in_doubt', true) ?? '', keptFor('in_doubt', false) ?? '', trial ? 1 : 0];
    const { reply, acknowledged } = await this.#run(SWEEP, '', values, { isConfirmed: trial });
    const [, ended, seen] = reply;
    if (trial && acknowledged) this.known.wrote();
    this.known.saw(Number(seen));
    return (ended as string[]).map((key) => this.#nameOf(key));
  }

  async waiting(): Promise<WaitingOrders> {
    const { reply } = await this.#run(WAITING, '', []);
    const [doubts = 0, doubtMs = 0, accepted = 0, acceptedMs = 0] = reply.slice(1).map(Number);
    return {
      inDoubt: { count: doubts, oldestMs: doubtMs },
      accepted: { count: accepted, oldestMs: acceptedMs },
    };
  }

  async used(caller: string, months: readonly string[]): Promise<readonly MonthlyUse[]> {
    const { reply } = await this.#run(USED, '', [encodeURIComponent(caller), ...months]);
    return (reply[1] as (string | null)[][]).map(([orders, licences, deletions], at) => ({
      month: months[at] ?? '',
      used: { orders: Number(orders), licences: Number(licences), deletions: Number(deletions) },
    }));
  }

  /** The store must know of `expected` begun writes; `isConfirmed`: replicas have to acknowledge what the script writes. */
  #run(
    script: Script,
    name: string,
    values: readonly (string | number)[],
    { expected = this.known.count, isConfirmed }: { expected?: number; isConfirmed?: boolean } = {},
  ): Promise<Acknowledged> {
    const keys = [this.#key('epoch'), this.#key(name), ...this.#commonKeys];
    return this.#ask(script, keys, [expected, ...values], isConfirmed);
  }

  async #ask(
    script: Script,
    keys: readonly string[],
    values: readonly (string | number)[],
    isConfirmed = false,
  ): Promise<Acknowledged> {
    const { epoch, server } = this.known;
    if (epoch === undefined) throw new OrderLedgerUnavailable('stopped');
    const run = { script, keys, values: [epoch, Date.now(), ...values] };
    let result: Acknowledged;
    try {
      result =
        isConfirmed && server.replicated
          ? await this.#acknowledged.run(run)
          : {
              reply: await this.redis.run((client) => script.run<unknown[]>(client, keys, run.values)),
              acknowledged: true,
            };
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined) this.known.refused(refusal);
      // A script that was denied in its midst may have written: repeated by the same owner it would count as begun.
      throw new OrderLedgerUnavailable(refusal === 'NOPERM' ? 'refused' : 'away', error);
    }
    if (!result.acknowledged) this.known.unacknowledged();
    const [kind] = result.reply;
    if (kind === 'stopped') throw new OrderLedgerUnavailable('stopped');
    if (kind === 'broken') throw this.#unreadable(this.#nameOf(keys[1] ?? ''), 'broken');
    return result;
  }

  #unreadable(name: string, reason: 'sealed' | 'broken'): OrderLedgerUnavailable {
    this.known.unreadable(name, reason);
    return new OrderLedgerUnavailable(reason);
  }

  #key(name: string): string {
    return this.#prefix + name;
  }

  #nameOf(key: string): string {
    return key.slice(this.#prefix.length);
  }

  #sealed(name: string, details: Details): string {
    return this.redis.sealer?.seal(JSON.stringify(details), this.#key(name)) ?? '';
  }

  #opened(
    name: string,
    [version, state, submittedAt, settledAt, sealed]: Fields,
    details = this.#detailsIn(name, sealed),
  ): LedgerRecord {
    const isKnown = version === VERSION && states.includes(state as State) && Number(submittedAt) > 0;
    // Never "missing": a record that cannot be read may be of an order that was sent.
    if (!isKnown || !details) {
      const isForeign = isKnown && sealed && this.redis.sealer?.lacksKeyOf(sealed);
      throw this.#unreadable(name, isForeign ? 'sealed' : 'broken');
    }
    return {
      name,
      state: state as State,
      submittedAt: Number(submittedAt),
      settledAt: settledAt ? Number(settledAt) : null,
      details,
    };
  }

  #detailsIn(name: string, sealed: string | null | undefined): Details | undefined {
    const text = sealed ? this.redis.sealer?.open(sealed, this.#key(name)) : undefined;
    return text === undefined ? undefined : (JSON.parse(text) as Details);
  }
}

/** The indexes of a new order (order-index.ts), for the script that begins it. */
function indexesOf(order: OrderDetails): object {
  const channel = encodeURIComponent(order.channelCode);
  const enterprises = enterprisesOf(order).map(encodeURIComponent);
  // `+`, which no encoded name is, stands for none.
  const group =
    enterprises.length === 1 ? enterprises[0] || '+' : `+${sha256(enterprises.join()).slice(0, 32)}`;
  return {
    channel,
    group,
    enterprises: enterprises.length === 1 ? [] : enterprises,
    listed: `/${channel}\n/${channel}/${group}`,
  };
}
