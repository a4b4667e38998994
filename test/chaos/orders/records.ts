import type * as AppConfigModule from '../../../src/config/app-config.ts';
import type * as DatabaseModule from '../../../src/database/database.ts';
import type * as SqlModule from '../../../src/database/sql.ts';
import type { Query } from '../../../src/database/sql.ts';
import type { Step } from '../../../src/database/step.ts';
import type * as LedgerRecordModule from '../../../src/order-ledger/ledger-record.ts';
import type * as MoveStoreModule from '../../../src/order-ledger/move-store.ts';
import type * as LogModule from '../../../src/observability/log.ts';
import { built } from '../../support/variant.ts';

/** The records of orders in the database, for what the gateway's API does not offer, or not so soon. */
export class Records {
  readonly #database: DatabaseModule.Database;
  readonly #sending: Query;
  readonly #begun: Query;
  readonly #move: typeof MoveStoreModule.moveWrites;
  readonly #nameOf: typeof LedgerRecordModule.orderName;
  readonly #pass: Step<number, undefined>;

  private constructor(
    database: DatabaseModule.Database,
    { sql }: typeof SqlModule,
    { moveWrites }: typeof MoveStoreModule,
    { orderName }: typeof LedgerRecordModule,
  ) {
    this.#database = database;
    this.#sending =
      sql`SELECT count(*) AS value FROM writes WHERE platform = :platform AND state = 'sending'`.with();
    this.#begun = sql`SELECT value FROM numbers WHERE platform = :platform AND name = 'begun'`.with();
    this.#move = moveWrites;
    this.#nameOf = orderName;
    const earlier = sql`UPDATE writes SET lease_until = lease_until - :ms WHERE platform = :platform AND state = 'sending'`;
    this.#pass = {
      name: 'pass',
      decide: ([ms]) => ({ writes: [earlier.with({ ms })] }),
    };
  }

  /** `environment` is that of a gateway. */
  static async open(environment: Record<string, string>): Promise<Records> {
    await import('reflect-metadata');
    const { loadConfig } = await built<typeof AppConfigModule>('config/app-config.js');
    const { createLog } = await built<typeof LogModule>('observability/log.js');
    const { Database } = await built<typeof DatabaseModule>('database/database.js');
    const database = new Database(loadConfig(environment).database, createLog('silent'));
    await database.open();
    return new Records(
      database,
      await built<typeof SqlModule>('database/sql.js'),
      await built<typeof MoveStoreModule>('order-ledger/move-store.js'),
      await built<typeof LedgerRecordModule>('order-ledger/ledger-record.js'),
    );
  }

  /** The number of orders that are being sent. */
  sending(): Promise<number> {
    return this.#valueOf(this.#sending);
  }

  /** The number of writes that have begun since the database was made. */
  begun(): Promise<number> {
    return this.#valueOf(this.#begun);
  }

  async #valueOf(query: Query): Promise<number> {
    const [row] = await this.#database.read<{ value: number }>(query);
    return Number(row?.value);
  }

  /** Lets this time pass at once for the leases of orders that are being sent. */
  pass(ms: number): Promise<undefined> {
    return this.#database.step(this.#pass, ms);
  }

  /** Settles an order as an operator does, without the wait that the API requires. Returns whether it was possible. */
  async settle(channelOrderId: string, to: 'succeeded' | 'not_placed'): Promise<boolean> {
    const name = this.#nameOf('crm', channelOrderId);
    const moved = await this.#database.step(this.#move, {
      name,
      by: 'operator',
      to,
      gatewayNow: Date.now(),
    });
    return moved.kind === 'moved';
  }

  close(): Promise<void> {
    return this.#database.close();
  }
}
