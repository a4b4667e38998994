import { Cache } from '@nestjs/cache-manager';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { Readings } from '../config/readings.ts';
import { environmentName } from '../redis/key-names.ts';
import { ContractNotes, type GapKind, UpstreamGaps } from './gaps.ts';
import { operations } from './operations.ts';
import { PlatformReadings } from './platform-readings.ts';

/** The page size that the gateway requests, so that pages are few. The interface does not say how large a page may be. */
const MAX_PAGE_SIZE = 200;
/** The time after which a larger page is tried again, because the platform may have another limit by then. */
const KEPT_MS = 60 * 60 * 1000;
/** The longest time until a replica sees what another one has learned. Without it, the replica learns the same with one more call. */
const ASK_EVERY_MS = 60 * 1000;

interface Learned {
  readonly size: number | undefined;
  readonly listsDeleted: boolean;
}

export type FirstPage = 0 | 1;

/**
 * Remembers facts about the platform's list of members: the most members of a page, the number of the first page, and whether it lists
 * deleted employees. All replicas share the first and the last fact.
 */
@Injectable()
export class PageLimit {
  readonly #key: string;
  readonly #deletedKey: string;
  /** The value in the cache a short time ago. Without this copy, every list would cause a request to Redis. */
  #learned: Promise<Learned> | undefined;
  #askAgainAt = 0;
  /** The largest size of a page that the platform has returned. */
  #given = 0;
  #first: { readonly page: FirstPage; readonly until: number } | undefined;
  #sawDeleted = false;

  constructor(
    config: UpstreamConfig,
    private readonly cache: Cache,
    private readonly gaps: UpstreamGaps,
    private readonly readings: PlatformReadings,
  ) {
    this.#key = `${environmentName(config.baseUrl)}:member-page-size`;
    this.#deletedKey = `${environmentName(config.baseUrl)}:member-list-deleted`;
  }

  async size(): Promise<number> {
    const { size = MAX_PAGE_SIZE } = await this.#ask();
    return Math.min(size, MAX_PAGE_SIZE, this.readings.of('maxPageSize') ?? MAX_PAGE_SIZE);
  }

  /** Records that the platform's pages have at most this size. */
  async learn(size: number): Promise<void> {
    this.note('data.pageSize');
    this.#given = Math.min(this.#given, size);
    if (size >= (await this.size())) return;
    this.#learned = Promise.resolve({ ...(await this.#ask()), size });
    await this.cache.set(this.#key, String(size), KEPT_MS);
  }

  /** True if the platform has returned a page of this size. One refusal then does not mean the size. */
  isGiven(size: number): boolean {
    return size <= this.#given;
  }

  gave(size: number): void {
    this.#given = Math.max(this.#given, size);
  }

  /** Undefined while the number is not known. */
  get firstPage(): FirstPage | undefined {
    const known = this.readings.of('firstPage');
    if (known !== undefined) return known === 0 ? 0 : 1;
    return this.#first && performance.now() < this.#first.until ? this.#first.page : undefined;
  }

  /** Sets the number of the first page. Undefined means that the earlier finding is in doubt. */
  beginsWith(page: FirstPage | undefined): void {
    this.#first = page === undefined ? undefined : { page, until: performance.now() + KEPT_MS };
  }

  /** The form in which the platform shows mobile numbers. Undefined while it is not known. */
  get mobiles(): Readings['mobiles'] | undefined {
    return this.readings.of('mobiles');
  }

  /** True if the platform is known to show a user the members of the own enterprise only. Its list has at least the user. */
  get showsOwnOnly(): boolean {
    return this.readings.of('usersSee') === 'own';
  }

  /** Resolves to true if the platform is known to list deleted employees too. */
  async listsDeleted(): Promise<boolean> {
    if (this.#sawDeleted || this.readings.of('deletedMembers') === 'listed') return true;
    return this.readings.of('deletedMembers') === undefined && (await this.#ask()).listsDeleted;
  }

  async sawDeleted(): Promise<void> {
    if (this.#sawDeleted) return;
    this.#sawDeleted = true;
    await this.cache.set(this.#deletedKey, '1', KEPT_MS);
  }

  /** Notes a departure of the list: a limit that the interface does not mention, or a wrong value. */
  note(path: string, kind: GapKind = 'limit'): void {
    const notes = new ContractNotes();
    notes.add(path, kind);
    this.gaps.add(operations.listMembers, notes);
  }

  #ask(): Promise<Learned> {
    if (this.#learned && performance.now() < this.#askAgainAt) return this.#learned;
    this.#askAgainAt = performance.now() + ASK_EVERY_MS;
    return (this.#learned = this.#shared());
  }

  async #shared(): Promise<Learned> {
    const [size = '', deleted] = await this.cache.mget<string>([this.#key, this.#deletedKey]);
    return {
      size: /^[1-9]\d{0,2}$/.test(size) ? Number(size) : undefined,
      listsDeleted: deleted !== undefined,
    };
  }
}
