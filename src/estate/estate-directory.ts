import { Injectable } from '@nestjs/common';
import { CallerRegistry } from '../caller/caller.registry.ts';
import { EstateConfig } from '../config/app-config.ts';
import { DatabaseUnavailable } from '../database/database-unavailable.ts';
import { Log } from '../observability/log.ts';
import type { TaskHold } from '../tasks/task-worker.ts';
import { isGranted } from '../request/call-context.ts';
import { meaningOf } from '../upstream/problems/upstream-codes.ts';
import { UpstreamFailure } from '../upstream/upstream-failure.ts';
import { EstateEvents } from './estate-events-store.ts';
import { isMaintenance } from '../maintenance/state/maintenance.ts';
import { EstatePlatform } from './estate-platform.ts';
import { ALL_ENTERPRISES, EstateRowsStore } from './estate-rows-store.ts';
import { WRITTEN } from './estate-steps-store.ts';

/** How often the callers file and the orders are looked through. */
const LOOK_MS = 60_000;
/** The name of the task that searches for all enterprises and all endings. */
export const ALL_LOOKS = 'all';

/**
 * Finds the enterprises to read: those that entries of callers name; and if an entry has all of them, those that placed orders named, and
 * those of the customers that order #3 lists for the entry's channels. It also makes the events of rows that end soon.
 */
@Injectable()
export class EstateDirectory {
  /** When the platform last showed or refused the customers of each channel, by the monotonic clock. */
  readonly #channelsAt = new Map<string, number>();

  constructor(
    private readonly callers: CallerRegistry,
    private readonly platform: EstatePlatform,
    private readonly store: EstateRowsStore,
    private readonly events: EstateEvents,
    private readonly config: EstateConfig,
    private readonly log: Log,
  ) {}

  /** Whether a caller may see the enterprise. */
  isWanted(enterpriseGlobalId: string): boolean {
    return this.callers.all.some(({ grants }) => isGranted(grants.enterprises, enterpriseGlobalId));
  }

  /** Returns whether an entry of a caller names the enterprise. */
  isNamed(enterpriseGlobalId: string): boolean {
    return this.callers.all.some(({ grants }) => grants.enterprises.has(enterpriseGlobalId));
  }

  /** Resolves to the ms until the next search. Undefined for the task of a written enterprise, which is done then. */
  async run({ name, over }: TaskHold): Promise<number | undefined> {
    try {
      if (name !== ALL_LOOKS) {
        await this.store.want([name.slice(WRITTEN.length)], 'written');
        return undefined;
      }
      // Enterprises are looked for also where the telling fails.
      const [told] = await Promise.allSettled([this.events.tellEndings()]);
      const named = this.callers.all.flatMap(({ grants }) => [...grants.enterprises]);
      await this.#add(named);
      if (named.includes(ALL_ENTERPRISES)) {
        for await (const ordered of this.store.ordered()) await this.#add(ordered);
        if (await this.#addOfChannels(over)) await this.store.looked();
      }
      if (told.status === 'rejected') throw told.reason;
    } catch (error) {
      if (!(error instanceof DatabaseUnavailable) && !isMaintenance(error) && !over.aborted) throw error;
    }
    return LOOK_MS;
  }

  async #add(found: readonly string[]): Promise<void> {
    const ids = new Set(found.filter((each) => each !== '' && this.isWanted(each)));
    await this.store.want(ids, 'named');
  }

  /** Adds the enterprises of each channel, as often as an enterprise is read. Resolves to true if no channel is left to read. */
  async #addOfChannels(over: AbortSignal): Promise<boolean> {
    const { refreshMs = Infinity } = this.config;
    let isAll = true;
    for (const channel of await this.#channels()) {
      if (performance.now() - (this.#channelsAt.get(channel) ?? -Infinity) < refreshMs) continue;
      const found = await this.platform.enterprisesOf(channel, over).catch((error: unknown) => {
        if (error instanceof DatabaseUnavailable || isMaintenance(error) || over.aborted) throw error;
        const reason = error instanceof Error ? error.name : typeof error;
        this.log.warn({ event: 'estate-channel-failed', reason }, 'The customers of a channel were not read');
        return { ids: [], isWhole: isRefusal(error) };
      });
      await this.#add(found.ids);
      isAll &&= found.isWhole;
      if (found.isWhole) this.#channelsAt.set(channel, performance.now());
    }
    return isAll;
  }

  /** Returns the channels of the entries that have all enterprises. If one has all channels, these are the channels of all entries and orders. */
  async #channels(): Promise<ReadonlySet<string>> {
    const unbound = this.callers.all.filter(({ grants }) => grants.enterprises.has(ALL_ENTERPRISES));
    const named = new Set(unbound.flatMap(({ grants }) => [...grants.channels]));
    if (!named.delete(ALL_ENTERPRISES)) return named;
    const others = this.callers.all.flatMap(({ grants }) => [...grants.channels]);
    return new Set(
      [...named, ...others, ...(await this.store.channels())].filter((each) => each !== ALL_ENTERPRISES),
    );
  }
}

/** Returns whether the platform is known to refuse the data, such as an unknown channel. */
function isRefusal(error: unknown): boolean {
  if (!(error instanceof UpstreamFailure) || error.kind !== 'refused') return false;
  return meaningOf(error.operation, error.details)?.slug === 'upstream-rejected';
}
