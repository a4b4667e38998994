import { isLeaseFree } from '../kit/lease/lease.ts';
import type { StoreSealer } from '../kit/sealed-store/sealed-store.ts';
import type { Changes, Entries, LedgerStore, TokenKeys } from './ledger-store.ts';
import type { AccessToken } from './principal.ts';
import { type FailureRecord, keptMs, recordSchema } from './token-failure.ts';

/** The right to call the endpoint. `save`, `fail` or `release` hands it back. */
export interface Permit {
  readonly ledger: TokenLedger;
  readonly keys: TokenKeys;
  readonly owner: string;
  /** When the permit was given, by the ledger's clock. The token with the later stamp is the newer one. */
  readonly stamp: number;
  /** The versions that the owner may not use. A new token replaces them, whatever their stamps are. */
  readonly stale: readonly string[];
  /** The earlier failures, if any. */
  readonly failures: { readonly principal?: FailureRecord; readonly endpoint?: FailureRecord };
}

export interface KeptToken {
  readonly token: AccessToken;
  readonly endsInMs: number;
}

export type Claim =
  | ({ readonly kind: 'token' } & KeptToken)
  /** The last request failed, and it is too early for another one. */
  | { readonly kind: 'failing'; readonly failure: FailureRecord; readonly retryInMs: number }
  | { readonly kind: 'busy' }
  | { readonly kind: 'permit'; readonly permit: Permit };

/** The time for which a permit stays after its owner died. */
const LOCK_MS = 10_000;
/** The time for which a renewed token is kept that was refused as well. Otherwise every request would ask for another one. */
const HOLD_OFF_MS = 10_000;
/** A hold that is longer than any that the gateway sets. It can only come from a clock that was set back. */
const MAX_HOLD_MS = 2 * 3_600_000;

const UNREADABLE: FailureRecord = {
  kind: 'unavailable',
  reason: 'unreadable_record',
  ofEndpoint: false,
  count: 1,
  refusedAt: [],
};

/**
 * The tokens of a fleet: in Redis for all replicas, or in the process if there is no Redis. Each call is one atomic step. Times are
 * durations or readings of the store's own clock. No wall clock of a replica decides.
 *
 * A token is kept as `stamp:version:sealed`, a failure as `until:json`, a lock as the name of its owner. A value in any other form counts
 * as missing.
 */
export class TokenLedger {
  /** Without `sealer` a token is stored unsealed. */
  constructor(
    private readonly store: LedgerStore,
    private readonly sealer?: StoreSealer,
  ) {}

  /**
   * Returns the token unless its version is a `stale` one. Otherwise it returns the permit to ask for a token, or the reason against it. A
   * refusal of the principal with the reason `passed` is no reason against it.
   */
  claim(keys: TokenKeys, owner: string, stale: readonly string[] = [], passed?: string): Promise<Claim> {
    return this.store.change<Claim>(keys, (entries, now) => {
      // An owner that claims again gives back what it has, unless it gets it once more.
      const changes: Changes = released(entries, owner);
      const kept = tokenIn(entries);
      if (kept && !stale.includes(kept.version) && kept.endsInMs > 0) {
        const token = this.#open(keys, kept.sealed);
        if (token) return { result: { kind: 'token', token, endsInMs: kept.endsInMs }, changes };
        // The token was sealed under a removed key, or not by the gateway.
        changes.token = null;
      }
      const [endpoint, principal] = [failureIn(entries.endpoint), failureIn(entries.failure)];
      const isPassed = principal?.record !== undefined && principal.record.reason === passed;
      for (const failure of isPassed ? [endpoint] : [endpoint, principal]) {
        const retryInMs = (failure?.until ?? 0) - now;
        if (retryInMs > 0 && retryInMs <= MAX_HOLD_MS)
          return { result: { kind: 'failing', failure: failure?.record ?? UNREADABLE, retryInMs }, changes };
      }
      // After a failure of the endpoint, one owner of all principals calls it first.
      const locks: ('lock' | 'probe')[] = endpoint ? ['lock', 'probe'] : ['lock'];
      if (!locks.every((lock) => isLeaseFree(entries[lock], owner)))
        return { result: { kind: 'busy' }, changes };
      for (const lock of locks) changes[lock] = { value: owner, lifeMs: LOCK_MS };
      const failures = { principal: principal?.record, endpoint: endpoint?.record };
      const permit = { ledger: this, keys, owner, stamp: now, stale, failures };
      return { result: { kind: 'permit', permit }, changes };
    });
  }

  /** Keeps a token and forgets the failures. If the ledger already has a newer one, that one stays and is the result. */
  save(permit: Permit, token: AccessToken): Promise<KeptToken> {
    const { keys, owner, stamp } = permit;
    const text = JSON.stringify(token);
    const sealed = this.sealer?.seal(text, keys.token) ?? text;
    return this.store.change<KeptToken>(keys, (entries) => {
      const changes: Changes = { ...released(entries, owner), failure: null, endpoint: null };
      const kept = tokenIn(entries);
      if (kept && isNewer(kept, permit) && kept.endsInMs > 0) {
        const newer = this.#open(keys, kept.sealed);
        if (newer) return { result: { token: newer, endsInMs: kept.endsInMs }, changes };
      }
      if (token.usableMs > 0)
        changes.token = { value: `${stamp}:${token.version}:${sealed}`, lifeMs: token.usableMs };
      return { result: { token, endsInMs: token.usableMs }, changes };
    });
  }

  /** Stops requests of all owners for `holdMs`. It is ignored if a newer token has arrived since. */
  fail(permit: Permit, failure: FailureRecord, holdMs: number): Promise<void> {
    const { keys, owner } = permit;
    return this.store.change<void>(keys, (entries, now) => {
      const changes = released(entries, owner);
      const kept = tokenIn(entries);
      if (!kept || !isNewer(kept, permit)) {
        const value = `${now + holdMs}:${JSON.stringify(failure)}`;
        // An endpoint that refuses a principal works.
        if (!failure.ofEndpoint) changes.endpoint = null;
        changes[failure.ofEndpoint ? 'endpoint' : 'failure'] = { value, lifeMs: keptMs(failure, holdMs) };
      }
      return { result: undefined, changes };
    });
  }

  /** Returns a permit and records only that the endpoint responded. */
  release({ keys, owner }: Permit): Promise<void> {
    return this.store.change<void>(keys, (entries) => ({
      result: undefined,
      changes: { ...released(entries, owner), endpoint: null },
    }));
  }

  /**
   * Handles a token that the platform refused. `again` means that the call had it renewed after a refusal. The token is dropped if the
   * ledger still has it. Returns false if it stays, because the platform refused the renewed token a moment ago as well.
   */
  refuse(keys: TokenKeys, version: string, again: boolean): Promise<boolean> {
    return this.store.change<boolean>(keys, (entries) => {
      // A later refusal does not make a hold longer. Otherwise steady calls would keep a refused token in use until it expires.
      const isHeld = (entries.hold?.endsInMs ?? 0) > 0;
      const changes: Changes = again && !isHeld ? { hold: { value: version, lifeMs: HOLD_OFF_MS } } : {};
      if (tokenIn(entries)?.version !== version) return { result: !again, changes };
      if (again || isHeld) return { result: false, changes };
      return { result: true, changes: { token: null } };
    });
  }

  /** Drops the entries of the ledger, because another ledger has newer data. */
  forget(keys: TokenKeys): Promise<void> {
    const changes = { token: null, failure: null, endpoint: null };
    return this.store.change<void>(keys, () => ({ result: undefined, changes }));
  }

  #open(keys: TokenKeys, sealed: string): AccessToken | undefined {
    const text = this.sealer ? this.sealer.open(sealed, keys.token) : sealed;
    return text === undefined ? undefined : (JSON.parse(text) as AccessToken);
  }
}

/**
 * True if the token was requested after the permit was given. The stamp of a token that the permit replaces says nothing: it may be of
 * another Redis, whose clock was ahead.
 */
function isNewer(
  { stamp, version }: { readonly stamp: number; readonly version: string },
  permit: Permit,
): boolean {
  return stamp > permit.stamp && !permit.stale.includes(version);
}

function tokenIn({ token }: Entries) {
  const [, stamp, version, sealed = ''] = /^(\d+):([^:]+):(.*)$/.exec(token?.value ?? '') ?? [];
  return token && version !== undefined
    ? { stamp: Number(stamp), version, sealed, endsInMs: token.endsInMs }
    : undefined;
}

/** Reads a failure. The record contains no secret, so it is not sealed, and is therefore checked before use. */
function failureIn(
  entry: Entries['failure'],
): { readonly until: number; readonly record?: FailureRecord } | undefined {
  if (!entry) return undefined;
  const [, until = 0, json = ''] = /^(\d+):(.*)$/.exec(entry.value) ?? [];
  try {
    return { until: Number(until), record: recordSchema.parse(JSON.parse(json)) };
  } catch {
    return { until: Number(until) };
  }
}

function released({ lock, probe }: Entries, owner: string): Changes {
  return {
    ...(lock?.value === owner && { lock: null }),
    ...(probe?.value === owner && { probe: null }),
  };
}
