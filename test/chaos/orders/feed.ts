import { setTimeout as sleep } from 'node:timers/promises';
import { released, type State, transitions } from '../../../src/order-ledger/ledger-record.ts';
import type { Fleet } from '../../support/fleet.ts';
import { until } from '../../support/redis.ts';

/** Pages end in the midst of what is written together. */
const PAGE = 7;
const RECORDS = 1_000;
const READ_EVERY_MS = 100;

export interface Event {
  readonly id: string;
  readonly type: string;
  readonly subject: string;
  readonly data: { readonly state: State };
}

interface OrderRecord {
  readonly channelCode: string;
  readonly channelOrderId: string;
  readonly state: State;
}

/**
 * Compares the feed of events with the records: each order has its moves once and in their order, and the last is where it stands; and what
 * the receiver of a webhook took with the feed.
 */
export async function feedFaults(
  fleet: Pick<Fleet, 'get'>,
  hook: { readonly hasLost?: boolean; faults(events: readonly Event[]): Promise<string[]> },
): Promise<string[]> {
  const { events, gaps } = await allEvents(fleet);
  const ids = events.map(({ id }) => id);
  const faults = gaps.filter(() => !hook.hasLost).map((id) => `events: those after ${id} were dropped`);
  const disorder = ids.flatMap((id, at) =>
    at > 0 && id <= (ids[at - 1] ?? '') ? [`events: ${id} is not after the one before`] : [],
  );
  const bySubject = Map.groupBy(events, ({ subject }) => subject);
  for (const [subject, its] of bySubject) {
    let state: State = 'sending';
    for (const { data } of its) {
      if (!mayMove(state, data.state)) faults.push(`events: ${subject} moved from ${state} to ${data.state}`);
      ({ state } = data);
    }
  }
  for (const { channelCode, channelOrderId, state } of await allRecords(fleet)) {
    const subject = `${channelCode}/${channelOrderId}`;
    const last = bySubject.get(subject)?.at(-1)?.data.state;
    if (state !== 'sending' && last !== state)
      faults.push(`events: ${subject} is ${state}, and its last event ${last}`);
  }
  return [...faults, ...disorder, ...(await hook.faults(events))];
}

/**
 * Reads the feed while the work goes on, each time from the newest event that it has seen. Returns the events that it was not given, though
 * they are in the feed afterwards.
 */
export async function missedBy(
  fleet: Pick<Fleet, 'get'>,
  work: () => Promise<unknown>,
): Promise<readonly string[]> {
  const over = new AbortController();
  const working = work().finally(() => over.abort());
  const seen = new Set<string>();
  const { events: before } = await allEvents(fleet);
  const first = before.at(-1)?.id ?? '';
  for (let after = first; !over.signal.aborted; await sleep(READ_EVERY_MS)) {
    const { events } = await allEvents(fleet, after);
    for (const { id } of events) seen.add(id);
    after = events.at(-1)?.id ?? after;
  }
  await working;
  const newest = [...seen].at(-1) ?? first;
  const { events } = await allEvents(fleet, first);
  return events
    .filter(({ id }) => id <= newest && !seen.has(id))
    .map(({ id }) => `events: a reader who went on from the newest missed ${id}`);
}

/** Returns all events, and the cursors after which events were dropped. */
async function allEvents(fleet: Pick<Fleet, 'get'>, from = ''): Promise<{ events: Event[]; gaps: string[] }> {
  const events: Event[] = [];
  const gaps: string[] = [];
  for (let after = from; ;) {
    const body = await read(fleet, `/v1/events?limit=${PAGE}${after && `&after=${after}`}`);
    if (body['code'] === 'events-expired') {
      gaps.push(after);
      after = String(body['oldest']);
      continue;
    }
    events.push(...(body['items'] as Event[]));
    if (body['next'] === after) return { events, gaps };
    after = String(body['next']);
  }
}

async function allRecords(fleet: Pick<Fleet, 'get'>): Promise<OrderRecord[]> {
  const records: OrderRecord[] = [];
  for (let page = 1; ; page++) {
    const body = await read(fleet, `/v1/license-orders?pageSize=${RECORDS}&page=${page}`);
    records.push(...(body['items'] as OrderRecord[]));
    if (page >= Number(body['totalPages'])) return records;
  }
}

/** A busy store may need a second request. */
async function read(fleet: Pick<Fleet, 'get'>, path: string): Promise<Record<string, unknown>> {
  let body: Record<string, unknown> = {};
  await until(`${path} is read`, async () => {
    const answer = await fleet.get(0, path);
    ({ body } = answer);
    return answer.status === 200 || answer.status === 410;
  });
  return body;
}

/** Whoever moves it. An order whose number became free is sent once more. */
function mayMove(from: State, to: State): boolean {
  const froms: readonly State[] = from === 'rejected' || released.includes(from) ? [from, 'sending'] : [from];
  return froms.some((each) => Object.values(transitions).some((of) => of[each]?.includes(to)));
}
