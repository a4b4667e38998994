import type { MaintenanceWindow } from '../control/maintenance.ts';

/** Without `from` it begins now, by the store's clock. */
export type NewWindow = Omit<MaintenanceWindow, 'from'> & { readonly from: number | undefined };

export interface StoredMaintenance {
  /** Undefined: none. */
  readonly window: MaintenanceWindow | undefined;
  /** The store's time, in ms since the epoch. */
  readonly now: number;
}

/** One window for all replicas. Rejects with `OrderLedgerUnavailable` while the store is away. */
export interface MaintenanceStore {
  read(): Promise<StoredMaintenance>;
  /** Replaces the one before. Once it has resolved, no order begins anywhere within the window, whatever a replica knows. */
  set(window: NewWindow): Promise<StoredMaintenance>;
  end(): Promise<void>;
}

/** Without Redis, for as long as the process lives. */
export class MemoryMaintenanceStore implements MaintenanceStore {
  #window: MaintenanceWindow | undefined;

  async read(): Promise<StoredMaintenance> {
    return { window: this.#window, now: Date.now() };
  }

  async set({ from, ...window }: NewWindow): Promise<StoredMaintenance> {
    const now = Date.now();
    this.#window = { ...window, from: from ?? now };
    return { window: this.#window, now };
  }

  async end(): Promise<void> {
    this.#window = undefined;
  }
}
