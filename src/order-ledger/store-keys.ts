import type { State } from './ledger-record.ts';

export function prefixOf(environment: string): string {
  return `{${environment}:guard}:`;
}

/** Keys that are not records: they show whether the store can be trusted. */
export function storeKeys(environment: string) {
  const prefix = prefixOf(environment);
  return {
    /** While it is there, the store has not been emptied. */
    epoch: `${prefix}epoch`,
    count: `${prefix}count`,
    seen: `${prefix}seen`,
    lost: `${prefix}lost`,
    /** The server, and the largest number of replicas that it has had. */
    replicas: `${prefix}replicas`,
    /** The safest log that the server has kept: one of `durabilities`. */
    durability: `${prefix}durability`,
    /** Check values of encryption keys, by their ids. */
    keys: `${prefix}keys`,
  } as const;
}

/** The set of all orders in that state, by the time of their submission. */
export function stateKey(environment: string, state: State): string {
  return `${prefixOf(environment)}orders:${state}`;
}
