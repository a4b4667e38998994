import type { State } from './ledger-record.ts';

/** The keys of the order store that are not records. The braces put all keys in one slot of a cluster, as a script requires. */
export function storeKeys(environment: string) {
  const prefix = `{${environment}:guard}:`;
  return {
    prefix,
    /** While it is there, the store has not been emptied. */
    epoch: `${prefix}epoch`,
    /** What these three have is in `ledger-scripts.ts`. */
    count: `${prefix}count`,
    seen: `${prefix}seen`,
    lost: `${prefix}lost`,
    /** The server, and the largest number of replicas that it has had. */
    replicas: `${prefix}replicas`,
    /** The safest log that the server has kept: one of `durabilities`. */
    durability: `${prefix}durability`,
    /** Check values of encryption keys, by their ids. */
    checks: `${prefix}keys`,
    /** The stream of moves, and how far it was dropped and may be shown (`redis-move-log.ts`). */
    moves: `${prefix}moves`,
    movesDropped: `${prefix}moves:dropped`,
    movesShown: `${prefix}moves:shown`,
    movesFence: `${prefix}moves:fence`,
    /** What an operator has stopped, and until when (`redis-maintenance-store.ts`). */
    maintenance: `${prefix}maintenance`,
    /** Jobs are in the same slot, since their end is a move. */
    jobs: `${prefix}jobs:`,
    importSlots: `${prefix}jobs:slots`,
    /** The set of all orders in that state, by the time of their submission. */
    ordersIn: (state: State) => `${prefix}orders:${state}`,
  } as const;
}
