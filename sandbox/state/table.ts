/** Tables of immutable rows with an undo log: the whole database of the sandbox. */

/** Collects the steps that undo a transaction. Handlers run without awaiting, so transactions never overlap; one may run inside another. */
export class UndoLog {
  #steps: (() => void)[] | null = null;

  get open(): boolean {
    return this.#steps !== null;
  }

  push(step: () => void): void {
    this.#steps?.push(step);
  }

  /**
   * Runs `work`. Undoes everything if it throws, or if `keep` is false.
   * @returns the work's result, and whether any of its changes stayed
   */
  run<Result>(work: () => Result, keep: boolean): { result: Result; changed: boolean } {
    const outer = this.#steps;
    const steps: (() => void)[] = [];
    this.#steps = steps;
    let done = false;
    try {
      const result = work();
      done = keep;
      return { result, changed: keep && steps.length > 0 };
    } finally {
      this.#steps = outer;
      if (!done) for (const step of steps.toReversed()) step();
      else for (const step of steps) outer?.push(step);
    }
  }
}

type KeyOf<Row> = (row: Row) => string | null;

/** The keys of the rows under one index key, in order of insertion. */
interface Entry {
  keys: Set<string>;
  /** The latest of them, by order of insertion into the table. */
  last: number;
}

/**
 * Rows by key, in order of insertion, also through indexes. No row is ever deleted: an ended record is marked in its row, so tests can
 * still see it, and undoing keeps the order.
 */
export class Table<Row extends object, IndexName extends string = never> {
  readonly #rows = new Map<string, Row>();
  readonly #keyOf: (row: Row) => string;
  readonly #ordinals = new Map<string, number>();
  readonly #indexes: [KeyOf<Row>, Map<string, Entry>][] = [];
  readonly #byName: Record<IndexName, Map<string, Entry>>;
  readonly #undo: UndoLog;

  constructor(undo: UndoLog, keyOf: (row: Row) => string, indexes: Record<IndexName, KeyOf<Row>>) {
    this.#undo = undo;
    this.#keyOf = keyOf;
    this.#byName = {} as Record<IndexName, Map<string, Entry>>;
    for (const [name, indexKey] of Object.entries(indexes) as [IndexName, KeyOf<Row>][]) {
      const entries = new Map<string, Entry>();
      this.#byName[name] = entries;
      this.#indexes.push([indexKey, entries]);
    }
  }

  keyOf(row: Row): string {
    return this.#keyOf(row);
  }

  get(key: string): Row | undefined {
    return this.#rows.get(key);
  }

  /** Returns the row. A missing one is a bug of the sandbox, not of its caller. */
  need(key: string): Row {
    const row = this.#rows.get(key);
    if (row === undefined) throw new Error(`no row ${key}`);
    return row;
  }

  all(): Row[] {
    return [...this.#rows.values()];
  }

  /** Returns the rows that an index holds under a key. */
  by(index: IndexName, key: string): Row[] {
    const entry = this.#byName[index].get(key);
    return entry === undefined ? [] : Array.from(entry.keys, (rowKey) => this.need(rowKey));
  }

  /** Inserts the row, or replaces the one with its key. */
  put(row: Row): Row {
    const key = this.#keyOf(row);
    const previous = this.#rows.get(key);
    if (!this.#ordinals.has(key)) this.#ordinals.set(key, this.#ordinals.size);
    this.#replace(key, previous, row);
    if (this.#undo.open) this.#undo.push(() => this.#replace(key, row, previous));
    return row;
  }

  /** Changes some fields of the row with this key. */
  change(key: string, changes: Partial<Row>): Row {
    return this.put({ ...this.need(key), ...changes });
  }

  /** Returns the rows, which never change, in order of insertion. */
  copy(): readonly Row[] {
    return this.all().sort((a, b) => this.#ordinal(this.#keyOf(a)) - this.#ordinal(this.#keyOf(b)));
  }

  /** Replaces all rows with copied ones. */
  restore(rows: readonly Row[]): void {
    this.clear();
    for (const row of rows) this.put(row);
  }

  clear(): void {
    this.#rows.clear();
    this.#ordinals.clear();
    for (const [, entries] of this.#indexes) entries.clear();
  }

  #replace(key: string, previous: Row | undefined, row: Row | undefined): void {
    for (const [indexKey, entries] of this.#indexes) {
      const before = previous === undefined ? null : indexKey(previous);
      const after = row === undefined ? null : indexKey(row);
      if (before === after) continue;
      if (before !== null) entries.get(before)?.keys.delete(key);
      if (after !== null) this.#enter(entries, after, key);
    }
    if (row === undefined) this.#rows.delete(key);
    else this.#rows.set(key, row);
  }

  /** Enters a row under an index key in its place. The row may return to a key, or arrive later than younger rows. */
  #enter(entries: Map<string, Entry>, indexKey: string, key: string): void {
    const ordinal = this.#ordinal(key);
    const entry = entries.get(indexKey);
    if (entry === undefined) {
      entries.set(indexKey, { keys: new Set([key]), last: ordinal });
      return;
    }
    entry.keys.add(key);
    if (ordinal > entry.last) entry.last = ordinal;
    else entry.keys = new Set([...entry.keys].sort((a, b) => this.#ordinal(a) - this.#ordinal(b)));
  }

  #ordinal(key: string): number {
    return this.#ordinals.get(key) ?? 0;
  }
}
