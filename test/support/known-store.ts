import type { KnownStore } from '../../src/order-ledger/order-ledger-store.ts';

/** A gateway's view of a healthy order store, for tests that have a ledger and no gateway. */
export function knownStore(
  epoch: () => string | undefined,
  { replicated = false, count = 0 }: { replicated?: boolean; count?: number } = {},
): KnownStore {
  return {
    get epoch() {
      return epoch();
    },
    get count() {
      return count;
    },
    server: { lacksRights: false, replicated, acknowledgements: 1 },
    trial: false,
    saw: (seen) => {
      count = Math.max(count, seen);
    },
    wrote: () => undefined,
    unacknowledged: () => undefined,
    refused: () => undefined,
    unreadable: () => undefined,
  };
}
