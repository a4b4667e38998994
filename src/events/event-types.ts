import type { LoggedMove, WantedMove } from './log/move-log.ts';
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
    ...(['ending', 'added', 'removed', 'changed'] as const).map((what) => `estate.${what}` as const),
  ],
  'What became of an order (`license-order`) or a job: the state that it moved to; or of a row of the estate: it ends in 60, 30, 7 or 1 days and is assigned or lent (`ending`), or the platform changed it without the gateway',
);
export type EventType = WordOf<typeof eventTypes>;

export function eventTypeOf(of: LoggedMove['of'], state: string): EventType {
  return `${of === 'order' ? 'license-order' : of}.${state.replaceAll('_', '-')}` as EventType;
}

export function movesOf(types: readonly EventType[]): readonly WantedMove[] {
  return types.map((type) => {
    const [of, state = ''] = type.split('.');
    return `${of === 'license-order' ? 'order' : (of as 'job' | 'estate')}:${state.replaceAll('-', '_')}` as const;
  });
}
