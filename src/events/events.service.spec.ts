import { expect, it } from '@jest/globals';
import type { EstateEvents } from '../estate/estate-events-store.ts';
import type { EstateRowDto } from '../estate/estate.dto.ts';
import type { JobStore } from '../jobs/store/job-store.ts';
import type { Log } from '../observability/log.ts';
import type { ObservedOrderLedger } from '../order-ledger/observed-order-ledger.ts';
import type { Grants } from '../request/call-context.ts';
import type { EventStore } from './log/event-store.ts';
import { type LoggedMove, type Moves, MovesDropped } from './log/move-log.ts';
import { EventsService } from './events.service.ts';

const ALL = new Set(['*']);
const grants: Grants = { enterprises: ALL, channels: ALL, users: ALL };
const cursorOf = (number: number) => String(number).padStart(15, '0');
const move = (number: number, record = ''): LoggedMove => {
  return { id: cursorOf(number), at: 0, of: 'estate', name: 'ent-a/ast-1', state: 'changed', record };
};
const part = (found: readonly LoggedMove[], last: number, isEnd = false): Moves => {
  return { found, last: cursorOf(last), isEnd };
};

/** The events of a log whose reads have these results, one after the other; `asked` has the cursors of the reads. */
function eventsOf(...results: readonly (Moves | MovesDropped)[]) {
  const asked: (string | undefined)[] = [];
  const moves = {
    newest: async () => cursorOf(9_999),
    read: async (after: string | undefined) => {
      const result = results[asked.push(after) - 1];
      if (result instanceof MovesDropped) throw result;
      return result;
    },
  };
  const estate = { rowIn: () => ({ enterpriseGlobalId: 'ent-a' }) as EstateRowDto };
  const events = new EventsService(
    moves as unknown as EventStore,
    {} as ObservedOrderLedger,
    {} as JobStore,
    estate as unknown as EstateEvents,
    {} as Log,
  );
  const page = async (after?: string) => {
    const { items, next } = await events.page({ after, limit: 1_000 }, grants);
    return { ids: items.map(({ id }) => Number(id)), next: Number(next) };
  };
  return { page, asked };
}

it('A page without a cursor goes on where events are kept, if the oldest are dropped while nothing is found', async () => {
  const log = eventsOf(part([], 200), new MovesDropped(cursorOf(500)), part([move(501)], 501, true));
  expect(await log.page()).toEqual({ ids: [501], next: 501 });
  expect(log.asked).toEqual([undefined, cursorOf(200), cursorOf(500)]);
});

it('A page ends before the events that are dropped while it is read', async () => {
  for (const after of [undefined, cursorOf(5)]) {
    const log = eventsOf(part([move(7)], 200), new MovesDropped(cursorOf(500)));
    expect(await log.page(after)).toEqual({ ids: [7], next: 200 });
  }
});

it('A page after a cursor is refused if the events after it are dropped while nothing is found', async () => {
  const log = eventsOf(part([], 200), new MovesDropped(cursorOf(500)));
  await expect(log.page(cursorOf(5))).rejects.toMatchObject({ slug: 'events-expired' });
});

it('S31 A page ends with the event at which its records have 1 MiB', async () => {
  const large = 'x'.repeat(400_000);
  const found = [1, 2, 3, 4, 5].map((number) => move(number, large));
  const log = eventsOf(part(found.slice(0, 2), 2), part(found.slice(2), 5), part([], 5, true));
  expect(await log.page()).toEqual({ ids: [1, 2, 3], next: 3 });
});
