import { hash as hashOf, timingSafeEqual } from 'node:crypto';
import { Injectable, type OnModuleInit } from '@nestjs/common';
import { CallersConfig } from '../config/app-config.ts';
import { Maintenance } from '../maintenance/state/maintenance.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { readCallersFile } from './callers-file.ts';
import type { Caller } from '../request/caller.ts';
import { grantsWith, hasSameRights, hashOfRights, type OnBehalf, type Standing } from './standing.ts';

interface KnownKey {
  readonly hash: Buffer;
  readonly caller: Caller | undefined;
}

/** The former entry of a caller whose rights have changed, if any, and the time of the change. */
interface Former {
  readonly until: number;
  readonly caller: Caller | undefined;
}

const NOBODY: KnownKey = { hash: Buffer.alloc(32), caller: undefined };

/**
 * The callers. The file is read again when it changes. If the new content is invalid, the gateway reports it and keeps the last valid
 * content.
 */
@Injectable()
export class CallerRegistry implements OnModuleInit {
  #byHash: ReadonlyMap<string, KnownKey> = new Map();
  #byName: ReadonlyMap<string, Caller> = new Map();
  /** Callers by each name of a certificate. It is a new map after each change of the file. */
  byCertificate: ReadonlyMap<string, Caller> = new Map();
  readonly #former = new Map<string, Former>();
  /** The hashes of the rights of callers, by name. */
  readonly #hashes = new Map<string, string>();
  /** When the callers were read, by the monotonic clock. */
  #readAt = 0;
  #isReadAfter: (time: number) => boolean = () => false;

  constructor(
    private readonly config: CallersConfig,
    private readonly files: FollowedFiles,
    private readonly maintenance: Maintenance,
  ) {}

  onModuleInit(): void {
    const file = { name: 'callers', variable: 'CALLERS_FILE', path: this.config.file, read: readCallersFile };
    this.files.settings(file, (callers) => this.#take(callers));
  }

  /**
   * Returns the caller of this key. The lookup uses the key's SHA-256, which an attacker cannot bring close to a known one, so its time
   * reveals nothing about a key. It takes the same time for known and unknown keys, independent of their number.
   */
  byKey(key: string): Caller | undefined {
    const given = hashOf('sha256', key, 'buffer');
    const known = this.#byHash.get(given.toString('hex')) ?? NOBODY;
    return timingSafeEqual(known.hash, given) ? known.caller : undefined;
  }

  get all(): readonly Caller[] {
    return [...this.#byName.values()];
  }

  byName(name: string): Caller | undefined {
    return this.#byName.get(name);
  }

  /** Returns the present rights. Undefined if the entry of the caller is gone or has lost the scope. */
  standingOf({ caller, scope, byToken }: OnBehalf): Standing | undefined {
    const grants = grantsWith(scope, this.#byName.get(caller), byToken);
    const former = this.#former.get(caller);
    return (
      grants && {
        grants,
        ...(former && {
          former: { until: former.until, grants: grantsWith(scope, former.caller, byToken) },
        }),
      }
    );
  }

  /**
   * True if the rights for something that was made at this time of the database are lost. It is false if they may still arrive: this replica
   * must have read the callers file after that time, and found no rights in it.
   */
  hasLost(work: OnBehalf, madeAt: number): boolean {
    return madeAt < this.maintenance.timeOf(this.#readAt) && !this.standingOf(work);
  }

  /** True if this replica has read the callers file after this time of the database, in ms since the epoch, by both clocks. */
  hasReadSince(time: number): boolean {
    return this.#isReadAfter(time);
  }

  /** Returns a hash of the rights of a caller, and when this replica read them, by the clock of the database: those of replicas may differ. */
  rightsOf(caller: string): { readonly hash: string; readonly readAt: number } {
    const hash = this.#hashes.get(caller) ?? hashOfRights(this.#byName.get(caller));
    this.#hashes.set(caller, hash);
    return { hash, readAt: this.maintenance.timeOf(this.#readAt) };
  }

  #take(callers: readonly Caller[]): number {
    const before = this.#byName;
    this.#readAt = performance.now();
    this.#isReadAfter = this.maintenance.noteMoment();
    const keys = callers.flatMap((caller) => caller.keyHashes.map((each) => ({ hash: each, caller })));
    this.#byHash = new Map(keys.map((each) => [each.hash.toString('hex'), each]));
    this.#hashes.clear();
    this.#byName = new Map(callers.map((caller) => [caller.name, caller]));
    // The loop includes callers that are gone, in case they return. A caller that this process did not know before is new.
    for (const name of new Set([...before.keys(), ...this.#former.keys()])) {
      const caller = before.get(name);
      if (!hasSameRights(caller, this.#byName.get(name)))
        this.#former.set(name, { until: this.maintenance.timeOf(this.#readAt), caller });
    }
    this.byCertificate = new Map(
      callers.flatMap((caller) => caller.certificates.map((name) => [name, caller] as const)),
    );
    return callers.length;
  }
}
