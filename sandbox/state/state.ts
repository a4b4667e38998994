/** All data of the platform, with its lookups, its id counters and its transactions. */
import type {
  Asset,
  Commit,
  Customer,
  Employee,
  Enterprise,
  LicenseOrder,
  MerchandiseInstance,
  ProductInstance,
  WaitingBatch,
} from './records.ts';
import { Table, UndoLog } from './table.ts';

/**
 * The first ids of each kind. All are odd and beyond 2^53, and count by two. As a double every one of them is off by one, so a test notices
 * a reader that uses doubles at once.
 */
const FIRST_ID = {
  licenseOrder: 9_007_199_254_740_993n,
  customer: 9_107_199_254_740_993n,
  enterprise: 9_207_199_254_740_993n,
  asset: 9_307_199_254_740_993n,
  product: 9_407_199_254_740_993n,
  merchandise: 9_507_199_254_740_993n,
  employee: 9_607_199_254_740_993n,
  user: 9_707_199_254_740_993n,
  enterpriseNumber: 9_807_199_254_740_993n,
};
export type IdKind = keyof typeof FIRST_ID;

/** The table whose keys are of that kind. */
const TABLE_OF = {
  licenseOrder: 'orders',
  customer: 'customers',
  enterprise: 'enterprises',
  asset: 'assets',
  product: 'products',
  merchandise: 'merchandises',
  employee: 'employees',
  user: null,
  enterpriseNumber: null,
} as const;

/** The first generated asset number. Lower numbers belong to the seed; `obtainAssetNums` and assets without a number count up from here. */
const FIRST_ASSET_SEQUENCE = 500_000_001;

export class State {
  readonly #undo = new UndoLog();
  readonly enterprises = new Table<Enterprise, 'name' | 'suffix'>(this.#undo, (row) => row.globalId, {
    name: (row) => row.name,
    suffix: (row) => row.suffix,
  });
  readonly customers = new Table<Customer, 'channel' | 'crm' | 'enterprise'>(
    this.#undo,
    (row) => row.customerId,
    {
      channel: (row) =>
        row.channelCustomerId === null ? null : channelKey(row.channelCode, row.channelCustomerId),
      crm: (row) => row.crmCustomerId,
      enterprise: (row) => row.enterpriseGlobalId,
    },
  );
  readonly employees = new Table<Employee, 'userName' | 'enterprise' | 'globalId'>(
    this.#undo,
    (row) => row.id,
    {
      userName: (row) => (row.deleted ? null : row.userName),
      enterprise: (row) => (row.deleted ? null : row.enterpriseGlobalId),
      globalId: (row) => (row.deleted ? null : row.globalId),
    },
  );
  readonly assets = new Table<Asset, 'assetNum' | 'customer' | 'member' | 'lentToMember' | 'lentInto'>(
    this.#undo,
    (row) => row.id,
    {
      assetNum: (row) => (row.revoked ? null : row.assetNum),
      customer: (row) => (row.revoked ? null : row.customerId),
      member: (row) => (row.revoked ? null : row.memberGlobalId),
      lentToMember: (row) => (row.revoked ? null : row.lentToMember),
      lentInto: (row) => (row.revoked ? null : row.lentInto),
    },
  );
  readonly products = new Table<ProductInstance, 'asset' | 'order'>(this.#undo, (row) => row.id, {
    asset: (row) => (row.removed ? null : row.assetId),
    order: (row) => (row.removed ? null : row.licenseOrderId),
  });
  readonly merchandises = new Table<MerchandiseInstance, 'asset'>(this.#undo, (row) => row.id, {
    asset: (row) => (row.removed ? null : row.assetId),
  });
  readonly orders = new Table<LicenseOrder, 'number'>(this.#undo, (row) => row.licenseOrderId, {
    number: (row) => channelKey(row.channelCode, row.channelOrderId),
  });
  readonly waitingBatches = new Table<WaitingBatch, 'waiting'>(
    this.#undo,
    (row) => row.licenseOrderIds.join(' '),
    { waiting: (row) => (row.waiting ? 'yes' : null) },
  );
  readonly commits: Commit[] = [];
  #counters = { ...FIRST_ID };
  #assetSequence = FIRST_ASSET_SEQUENCE;
  #suffixSequence = 1;

  /** Runs one operation. Either all of its changes stay, or none (if it throws, or if `keep` is false). */
  transaction<Result>(work: () => Result, keep = true): { result: Result; changed: boolean } {
    return this.#undo.run(work, keep);
  }

  /** Returns the next id that no row has, because rows from outside may have any. */
  nextId(kind: IdKind): string {
    const before = this.#counters[kind];
    this.#undo.push(() => {
      this.#counters[kind] = before;
    });
    for (;;) {
      const id = this.#counters[kind];
      this.#counters[kind] = id + 2n;
      if (!this.#isTaken(kind, id.toString())) return id.toString();
    }
  }

  #isTaken(kind: IdKind, id: string): boolean {
    const table = TABLE_OF[kind];
    return table !== null && this[table].get(id) !== undefined;
  }

  /** Returns the next free asset-number digit string (section 2.13): region digit and nine digits that count up. */
  nextAssetNum(region: string): string {
    const before = this.#assetSequence;
    this.#undo.push(() => {
      this.#assetSequence = before;
    });
    for (;;) {
      const digits = region + String(this.#assetSequence++).padStart(9, '0');
      if (this.assets.by('assetNum', digits).length === 0) return digits;
    }
  }

  /** Returns a suffix for the accounts of a new enterprise. */
  nextSuffix(): string {
    const before = this.#suffixSequence;
    this.#undo.push(() => {
      this.#suffixSequence = before;
    });
    for (;;) {
      const suffix = `@ent${String(this.#suffixSequence++).padStart(4, '0')}`;
      if (this.enterprises.by('suffix', suffix).length === 0) return suffix;
    }
  }

  recordCommit(commit: Commit): void {
    this.commits.push(commit);
    this.#undo.push(() => this.commits.pop());
  }

  customerOfChannel(channelCode: string, channelCustomerId: string): Customer | undefined {
    return this.customers.by('channel', channelKey(channelCode, channelCustomerId))[0];
  }

  /** Returns the orders of a batch, and of every other batch with its number. */
  ordersOfNumber(channelCode: string, channelOrderId: string): LicenseOrder[] {
    return this.orders.by('number', channelKey(channelCode, channelOrderId));
  }

  customersOfEnterprise(enterpriseGlobalId: string): Customer[] {
    return this.customers.by('enterprise', enterpriseGlobalId);
  }

  defaultCustomer(enterpriseGlobalId: string): Customer | undefined {
    return this.customersOfEnterprise(enterpriseGlobalId).find((customer) => customer.isDefault);
  }

  /** Returns the live assets of all of an enterprise's customers. */
  assetsOfEnterprise(enterpriseGlobalId: string): Asset[] {
    return this.customersOfEnterprise(enterpriseGlobalId).flatMap((customer) =>
      this.assets.by('customer', customer.customerId),
    );
  }

  /** Returns the enterprise to which an asset's customer is bound. Null for a personal customer. */
  enterpriseOf(asset: Asset): string | null {
    return this.customers.need(asset.customerId).enterpriseGlobalId;
  }

  /** Returns the live asset with this number. */
  assetByNum(assetNum: string): Asset | undefined {
    return this.assets.by('assetNum', assetNum)[0];
  }

  /** Returns the employee with this login name. */
  employeeByUserName(userName: string): Employee | undefined {
    return this.employees.by('userName', userName)[0];
  }

  /** Copies the whole state, for {@link restore}. Rows never change, so the copy does not either. */
  copy(): StateCopy {
    return {
      tables: this.#tables.map((table) => table.copy()),
      commits: [...this.commits],
      counters: { ...this.#counters },
      assetSequence: this.#assetSequence,
      suffixSequence: this.#suffixSequence,
    };
  }

  restore({ tables, commits, counters, assetSequence, suffixSequence }: StateCopy): void {
    for (const [place, table] of this.#tables.entries()) table.restore((tables[place] ?? []) as never);
    this.commits.splice(0, this.commits.length, ...commits);
    this.#counters = { ...counters };
    this.#assetSequence = assetSequence;
    this.#suffixSequence = suffixSequence;
  }

  get #tables() {
    const { enterprises, customers, employees, assets, products, merchandises, orders } = this;
    return [
      enterprises,
      customers,
      employees,
      assets,
      products,
      merchandises,
      orders,
      this.waitingBatches,
    ] as const;
  }
}

/** The result of {@link State.copy}. */
export interface StateCopy {
  readonly tables: readonly (readonly object[])[];
  readonly commits: readonly Commit[];
  readonly counters: Readonly<Record<IdKind, bigint>>;
  readonly assetSequence: number;
  readonly suffixSequence: number;
}

function channelKey(channelCode: string, number: string): string {
  return `${channelCode}\n${number}`;
}
