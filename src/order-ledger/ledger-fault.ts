import { DatabaseFault, type FaultReason } from '../database/engine.ts';
import { OrderLedgerUnavailable } from './order-ledger-store.ts';

type Reason = OrderLedgerUnavailable['reason'];

/** What a fault of the database means for a write; for every other reason the database is away. */
const REASONS: Partial<Record<FaultReason, Reason>> = {
  stopped: 'stopped',
  unready: 'stopped',
  full: 'refused',
  'read-only': 'refused',
  rights: 'refused',
  damaged: 'refused',
};

/** Rejects with {@link OrderLedgerUnavailable} where the database cannot do it: then nothing may be sent. */
export async function askedOfStore<T>(ask: () => Promise<T>): Promise<T> {
  try {
    return await ask();
  } catch (error) {
    if (!(error instanceof DatabaseFault)) throw error;
    throw new OrderLedgerUnavailable(REASONS[error.reason] ?? 'away', error);
  }
}
