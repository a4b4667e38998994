import type { JobState } from '../jobs/store/job-record.ts';
import type { State } from '../order-ledger/ledger-record.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';

export const eventTypes = enumeration(
  'EventType',
  [
    ...(
      ['accepted', 'succeeded', 'incomplete', 'rejected', 'in-doubt', 'not-sent', 'not-placed'] as const
    ).map((state) => `license-order.${state}` as const),
    ...(['succeeded', 'completed', 'failed', 'cancelled'] as const).map((state) => `job.${state}` as const),
  ],
  'What became of an order (`license-order`) or a job: the state that it moved to',
);
export type EventType = WordOf<typeof eventTypes>;

export function eventTypeOf(of: 'order' | 'job', state: State | JobState): EventType {
  return `${of === 'order' ? 'license-order' : of}.${state.replaceAll('_', '-')}` as EventType;
}
