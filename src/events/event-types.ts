import type { JobState } from '../jobs/store/job-record.ts';
import type { State } from '../order-ledger/ledger-record.ts';
import type { WantedMove } from './log/move-log.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';

export const eventTypes = enumeration(
  'EventType',
  [
    ...(
      [
        ...(['scheduled', 'accepted', 'succeeded', 'incomplete', 'rejected'] as const),
        ...(['in-doubt', 'not-sent', 'not-placed', 'cancelled'] as const),
      ] as const
    ).map((state) => `license-order.${state}` as const),
    ...(['succeeded', 'completed', 'failed', 'cancelled'] as const).map((state) => `job.${state}` as const),
  ],
  'What became of an order (`license-order`) or a job: the state that it moved to',
);
export type EventType = WordOf<typeof eventTypes>;

export function eventTypeOf(of: 'order' | 'job', state: State | JobState): EventType {
  return `${of === 'order' ? 'license-order' : of}.${state.replaceAll('_', '-')}` as EventType;
}

/** The moves that are events of these types. */
export function movesOf(types: readonly EventType[]): readonly WantedMove[] {
  return types.map((type) => {
    const [of, state = ''] = type.split('.');
    return `${of === 'job' ? of : 'order'}:${state.replaceAll('-', '_')}` as const;
  });
}
