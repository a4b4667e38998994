import { AcknowledgedScripts } from '../redis/acknowledged-scripts.ts';
import { refusalOf } from '../redis/redis-error.ts';
import type { Script } from '../kit/redis-script/redis-script.ts';
import type { SharedRedis } from '../redis/shared-redis.ts';
import {
  type Details,
  type LedgerRecord,
  keptFor,
  type State,
  states,
  transitions,
} from './ledger-record.ts';
import {
  assertWanted,
  type Begin,
  type Begun,
  type OrderLedgerStore,
  OrderLedgerUnavailable,
  type Listing,
  type Move,
  type Moved,
  type OrderQuery,
  type WaitingOrders,
} from './order-ledger-store.ts';
import { BEGIN, HOLDS, MOVE, READ, READ_MANY, SWEEP, WAITING } from './ledger-scripts.ts';
import { indexesOf, OrderIndex } from './order-index.ts';
import { prefixOf, stateKey, storeKeys } from './store-keys.ts';

const VERSION = '1';
/** Records that one script reads. To decrypt them takes half a millisecond, and then other requests go on. */
const READ_AT_ONCE = 20;
type Fields = (string | null)[];
type Execute = (keys: readonly string[], values: readonly (string | number)[]) => Promise<unknown[]>;

/** What a gateway knows about its order store. Every script compares it with the store. */
export interface KnownStore {
  /** The epoch found at the start, or confirmed by an operator later; undefined: the store cannot be trusted. */
  readonly epoch: string | undefined;
  /** Redis denies a right that a write needs. */
  readonly lacksRights: boolean;
  /** The number of writes that have begun in it, at least. */
  readonly count: number;
  /** It has replicas: a write has begun only when replicas have it too. */
  readonly replicated: boolean;
  /** The number of replicas that have to acknowledge a write: all that Redis may promote. */
  readonly acknowledgements: number;
  /** This number of writes has begun: from now on a store with a lower count has lost some. */
  saw(count: number): void;
  /** It is time for a trial: the next sweep writes, and replicas acknowledge it like an order. */
  readonly trial: boolean;
  /** The trial succeeded. */
  wrote(): void;
  /** Too few replicas acknowledged a write. */
  unacknowledged(): void;
  /** Redis refused a write, with that code. */
  refused(code: string): void;
  /** A record exists and cannot be read. */
  unreadable(name: string, reason: 'sealed' | 'broken'): void;
}

/** The order ledger of all replicas: one Lua script a step. */
export class RedisOrderLedger implements OrderLedgerStore {
  readonly #commonKeys: readonly string[];
  readonly #prefix: string;
  readonly #acknowledged: AcknowledgedScripts;
  readonly #index: OrderIndex;

  constructor(
    private readonly redis: SharedRedis,
    environment: string,
    private readonly known: KnownStore,
    private readonly rules = transitions,
  ) {
    // The braces put all keys in one slot of a cluster, as a script requires.
    this.#prefix = prefixOf(environment);
    const { count, seen, lost } = storeKeys(environment);
    this.#commonKeys = [
      `${this.#prefix}leases`,
      `${this.#prefix}orders`,
      `${this.#prefix}orders:ends`,
      ...states.map((state) => stateKey(environment, state)),
      ...[count, seen, lost],
    ];
    this.#acknowledged = new AcknowledgedScripts(redis, () => known.acknowledgements);
    this.#index = new OrderIndex(this.#key('orders'), (script, keys, values) =>
      this.#ask(script, [this.#key('epoch'), ...keys], values),
    );
  }

  async begin({ name, owner, fingerprints, leaseMs, details, alias }: Begin): Promise<Begun> {
    if (this.known.lacksRights) throw new OrderLedgerUnavailable('refused');
    const values = [
      VERSION,
      owner,
      leaseMs,
      this.#sealed(name, details),
      JSON.stringify(
        details.order ? indexesOf(details.order) : { caller: encodeURIComponent(details.caller) },
      ),
      alias === undefined ? '' : this.#key(`alias:${alias}`),
      keptFor('rejected', details) ?? '',
      keptFor('in_doubt', details) ?? '',
      ...fingerprints,
    ];
    const { execute, isAcknowledged } = this.#confirmed(BEGIN);
    const [kind, ...rest] = await this.#run(BEGIN, name, values, { execute });
    if (kind === 'begun') {
      // A failover could lose this record, and the order would be sent a second time: so it is not sent now.
      if (!isAcknowledged()) throw new OrderLedgerUnavailable('unacknowledged');
      this.known.saw(Number(rest[1]));
      return { kind, submittedAt: Number(rest[0]) };
    }
    if (kind === 'taken' || kind === 'full') return { kind };
    return { kind: 'there', same: rest[0] === 1, record: this.#opened(name, rest[1] as Fields) };
  }

  async holds(name: string, owner: string): Promise<boolean> {
    const [kind] = await this.#run(HOLDS, name, [VERSION, owner]);
    return kind === 'held';
  }

  async move({ name, by, owner, to, from: only, details, minAgeMs }: Move): Promise<Moved> {
    const from = states.filter((state) => (only ?? state) === state && this.rules[by][state]?.includes(to));
    // The sender's own result is recorded even in a store that has lost other writes.
    const how = by === 'owner' ? { expected: -1 } : {};
    const kept = details ?? (await this.#read(name, how))?.details;
    if (!kept) return { kind: 'missing' };
    const [kind, ...rest] = await this.#run(
      MOVE,
      name,
      [
        VERSION,
        owner ?? '',
        to,
        details ? this.#sealed(name, details) : '',
        keptFor(to, kept) ?? '',
        minAgeMs ?? 0,
        ...from,
      ],
      how,
    );
    if (kind === 'missing') return { kind };
    if (kind === 'early') return { kind, leftMs: Number(rest[0]) };
    const fields = rest[0] as Fields;
    // The details of a move that was made are those that were given: no need to decrypt them.
    if (kind === 'moved') return { kind, record: this.#opened(name, fields, details) };
    return { kind: 'refused', record: this.#opened(name, fields) };
  }

  read(name: string, within?: ReadonlySet<string>): Promise<LedgerRecord | undefined> {
    return this.#read(name, { within });
  }

  async #read(
    name: string,
    { within, ...how }: { within?: ReadonlySet<string> | undefined; expected?: number } = {},
  ): Promise<LedgerRecord | undefined> {
    const granted = within ? ['within', ...[...within].map(encodeURIComponent)] : [];
    const [kind, fields] = await this.#run(READ, name, granted, how);
    return kind === 'missing' ? undefined : this.#opened(name, fields as Fields);
  }

  async list(query: OrderQuery, offset: number, count: number, abandon?: AbortSignal): Promise<Listing> {
    const { keys, total } = await this.#index.page(query, offset, count, abandon);
    const records: LedgerRecord[] = [];
    for (let first = 0; first < keys.length; first += READ_AT_ONCE) {
      assertWanted(abandon);
      const part = keys.slice(first, first + READ_AT_ONCE);
      const [, found] = await this.#ask(READ_MANY, [this.#key('epoch'), ...part], []);
      for (const [key, fields] of found as [string, Fields][]) {
        try {
          records.push(this.#opened(key.slice(this.#prefix.length), fields));
        } catch {
          // `getOrder` answers 503 for it. Here the page shows the other orders.
        }
      }
    }
    return { records, total };
  }

  async sweep(): Promise<readonly string[]> {
    const order = { order: {} } as Details;
    const { trial } = this.known;
    const { execute, isAcknowledged } = this.#confirmed(SWEEP);
    const [, ended, seen] = await this.#run(
      SWEEP,
      '',
      [keptFor('in_doubt', order) ?? '', keptFor('in_doubt', { caller: '' }) ?? '', trial ? 1 : 0],
      trial ? { execute } : {},
    );
    if (trial && isAcknowledged()) this.known.wrote();
    this.known.saw(Number(seen));
    return (ended as string[]).map((key) => key.slice(this.#prefix.length));
  }

  async waiting(): Promise<{ inDoubt: WaitingOrders; accepted: WaitingOrders }> {
    const [, ...numbers] = await this.#run(WAITING, '', []);
    const [doubts = 0, doubtMs = 0, accepted = 0, acceptedMs = 0] = numbers.map(Number);
    return {
      inDoubt: { count: doubts, oldestMs: doubtMs },
      accepted: { count: accepted, oldestMs: acceptedMs },
    };
  }

  /** Runs a script and waits for the acknowledgements of replicas; `isAcknowledged` says whether enough have come. */
  #confirmed(script: Script): { execute: Execute | undefined; isAcknowledged: () => boolean } {
    if (!this.known.replicated) return { execute: undefined, isAcknowledged: () => true };
    let isAcknowledged = false;
    const execute: Execute = async (keys, values) => {
      const { answer, acknowledged } = await this.#acknowledged.run({ script, keys, values });
      isAcknowledged = acknowledged;
      if (!acknowledged) this.known.unacknowledged();
      return answer;
    };
    return { execute, isAcknowledged: () => isAcknowledged };
  }

  #run(
    script: Script,
    name: string,
    values: readonly (string | number)[],
    { expected = this.known.count, execute }: { expected?: number; execute?: Execute | undefined } = {},
  ): Promise<unknown[]> {
    const keys = [this.#key('epoch'), this.#key(name), ...this.#commonKeys];
    return this.#ask(script, keys, [expected, ...values], execute);
  }

  async #ask(
    script: Script,
    keys: readonly string[],
    values: readonly (string | number)[],
    execute: Execute = (...all) => this.redis.run((client) => script.run<unknown[]>(client, ...all)),
  ): Promise<unknown[]> {
    const { epoch } = this.known;
    if (epoch === undefined) throw new OrderLedgerUnavailable('stopped');
    let answer: unknown[];
    try {
      answer = await execute(keys, [epoch, Date.now(), ...values]);
    } catch (error) {
      const refusal = refusalOf(error);
      if (refusal !== undefined) this.known.refused(refusal);
      // A script that was denied in its midst may have written: repeated by the same owner it would count as begun.
      throw new OrderLedgerUnavailable(refusal === 'NOPERM' ? 'refused' : 'away', error);
    }
    if (answer[0] === 'stopped') throw new OrderLedgerUnavailable('stopped');
    if (answer[0] === 'broken') throw this.#unreadable((keys[1] ?? '').slice(this.#prefix.length), 'broken');
    return answer;
  }

  #unreadable(name: string, reason: 'sealed' | 'broken'): OrderLedgerUnavailable {
    this.known.unreadable(name, reason);
    return new OrderLedgerUnavailable(reason);
  }

  #key(name: string): string {
    return this.#prefix + name;
  }

  #sealed(name: string, details: Details): string {
    return this.redis.sealer?.seal(JSON.stringify(details), this.#key(name)) ?? '';
  }

  #opened(
    name: string,
    [version, state, submittedAt, settledAt, sealed]: Fields,
    details = this.#detailsIn(name, sealed),
  ): LedgerRecord {
    const known = version === VERSION && states.includes(state as State) && Number(submittedAt) > 0;
    // Never "missing": a record that cannot be read may be of an order that was sent.
    if (!known || !details)
      throw this.#unreadable(name, known && this.#isForeign(sealed) ? 'sealed' : 'broken');
    return {
      name,
      state: state as State,
      submittedAt: Number(submittedAt),
      settledAt: settledAt ? Number(settledAt) : null,
      details,
    };
  }

  /** Sealed under a key that this gateway does not have. */
  #isForeign(sealed: string | null | undefined): boolean {
    return Boolean(sealed && this.redis.sealer?.lacksKeyOf(sealed));
  }

  #detailsIn(name: string, sealed: string | null | undefined): Details | undefined {
    const text = sealed ? this.redis.sealer?.open(sealed, this.#key(name)) : undefined;
    return text === undefined ? undefined : (JSON.parse(text) as Details);
  }
}
