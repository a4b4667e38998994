import {
  type BeforeApplicationShutdown,
  Injectable,
  type OnApplicationBootstrap,
  type OnModuleDestroy,
} from '@nestjs/common';
import { EstateConfig } from '../config/app-config.ts';
import { Database } from '../database/database.ts';
import { poll } from '../kit/poll/poll.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { add } from '../tasks/task-store.ts';
import { TaskWorker } from '../tasks/task-worker.ts';
import { ALL_LOOKS, EstateDirectory } from './estate-directory.ts';
import { EstateReading } from './estate-reading.ts';
import { ESTATE, FIRST_MS, LOOKS } from './estate-steps-store.ts';

/** How often a start tries to add that task. */
const ADD_MS = 2_000;
/** The time after which the task of a written enterprise runs again, if the enterprise was read in the meantime. */
const LOOK_AGAIN_MS = 5_000;

/** Keeps the copy of the estate. Each enterprise has a task, and one process at a time has it. */
@Injectable()
export class EstateJob implements OnApplicationBootstrap, OnModuleDestroy, BeforeApplicationShutdown {
  readonly #workers: readonly TaskWorker[];
  #endPoll: (() => void) | undefined;

  constructor(
    private readonly config: EstateConfig,
    private readonly database: Database,
    maintenance: Maintenance,
    directory: EstateDirectory,
    reading: EstateReading,
  ) {
    this.#workers = [
      // Enterprises that have to be read first and all others take turns, so that no reading waits for ever.
      new TaskWorker(database, {
        kind: ESTATE,
        concurrency: 1,
        againMs: FIRST_MS,
        firstMs: -0.75 * FIRST_MS,
        isPaused: () => maintenance.stops('all'),
        run: (hold) => reading.run(hold),
      }),
      // The job goes on in a maintenance, without calls of the platform, because endings are told.
      new TaskWorker(database, {
        kind: LOOKS,
        concurrency: 2,
        againMs: LOOK_AGAIN_MS,
        run: (hold) => directory.run(hold),
      }),
    ];
  }

  onApplicationBootstrap(): void {
    if (this.config.refreshMs === undefined) return;
    for (const worker of this.#workers) worker.start();
    this.#endPoll = poll('looks of the estate', ADD_MS, () => this.#addLooks(), true);
  }

  /** The database may be away or have no tables yet. Then the next run of the poll tries again. */
  async #addLooks(): Promise<void> {
    await this.database.step(add, { kind: LOOKS, name: ALL_LOOKS }).then(
      () => this.#endPoll?.(),
      () => undefined,
    );
  }

  onModuleDestroy(): void {
    this.#endPoll?.();
    for (const worker of this.#workers) worker.stop();
  }

  async beforeApplicationShutdown(): Promise<void> {
    if (this.config.refreshMs !== undefined) await Promise.all(this.#workers.map((each) => each.close()));
  }
}
