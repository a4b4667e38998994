/**
 * Deliberate bugs of the gateway, one at a time: the chaos run preloads this file (`--import`) into a built gateway and selects one by
 * CHAOS_VARIANT. Each is a mistake that a developer could make; a run that passes with one of them proves
 * nothing.
 */
import type { ServerResponse } from 'node:http';
import { setTimeout as sleep } from 'node:timers/promises';
import type { ExecutionContext } from '@nestjs/common';
import type * as Databases from '../../../src/database/database.ts';
import type { SqlRow } from '../../../src/database/engine.ts';
import type * as Connections from '../../../src/database/postgres-connection.ts';
import type * as SqlModule from '../../../src/database/sql.ts';
import type { Query } from '../../../src/database/sql.ts';
import type { Decision, Step } from '../../../src/database/step.ts';
import type * as Trusting from '../../../src/database/trust.ts';
import type * as Events from '../../../src/events/events.service.ts';
import type { RequestStages } from '../../../src/request/request-stages.ts';
import type * as Beginning from '../../../src/order-ledger/begin-store.ts';
import type * as LedgerRecordModule from '../../../src/order-ledger/ledger-record.ts';
import type * as Moving from '../../../src/order-ledger/move-store.ts';
import type * as Unavailable from '../../../src/database/database-unavailable.ts';
import type * as Writing from '../../../src/order-ledger/write-store.ts';
import type { CallContext } from '../../../src/request/call-context.ts';
import type * as Client from '../../../src/upstream/upstream.client.ts';
import type * as Exchange from '../../../src/upstream/upstream.exchange.ts';
import type { Result } from '../../../src/upstream/upstream.exchange.ts';
import type * as Receiving from '../../../src/webhooks/delivery/receivers.ts';
import type * as Tenancy from '../../../src/tenancy/tenancy.guard.ts';
import { applyChosen, around, changed } from '../../support/variant.ts';
import type { Variant } from '../engine.ts';
import type { acts } from './acts.ts';

const load = {
  tenancy: () => changed<typeof Tenancy>('tenancy/tenancy.guard'),
  database: () => changed<typeof Databases>('database/database'),
  connection: () => changed<typeof Connections>('database/postgres-connection'),
  sql: () => changed<typeof SqlModule>('database/sql'),
  trust: () => changed<typeof Trusting>('database/trust'),
  begin: () => changed<typeof Beginning>('order-ledger/begin-store'),
  moves: () => changed<typeof Moving>('order-ledger/move-store'),
  unavailable: () => changed<typeof Unavailable>('database/database-unavailable'),
  writes: () => changed<typeof Writing>('order-ledger/write-store'),
  records: () => changed<typeof LedgerRecordModule>('order-ledger/ledger-record'),
  client: () => changed<typeof Client>('upstream/upstream.client'),
  events: () => changed<typeof Events>('events/events.service'),
  receivers: () => changed<typeof Receiving>('webhooks/delivery/receivers'),
  exchange: () => changed<typeof Exchange>('upstream/upstream.exchange'),
};

interface NewEvent {
  readonly place: number;
}

/** Changes what the step writes that moves an order for its owner. `events` are the events that it inserts, `others` all but them and their number. */
async function inMoves(
  change: (events: readonly NewEvent[], others: readonly Query[], inserts: readonly Query[]) => Query[],
): Promise<void> {
  const { moveOwn } = await load.moves();
  around<Decision<unknown>>(moveOwn, 'decide', (goOn, all) => {
    const { writes = [], ...rest } = goOn(...all);
    const isOfEvents = ({ parameters }: Query) => 'events' in parameters || parameters['name'] === 'feed';
    const inserts = writes.filter(isOfEvents);
    const events = inserts.flatMap(({ parameters }) => (parameters['events'] ?? []) as readonly NewEvent[]);
    const others = writes.filter((write) => !isOfEvents(write));
    return { ...rest, writes: events.length === 0 ? writes : change(events, others, inserts) };
  });
}

/** The database counts as whole, whatever it has lost. */
async function withoutTrust(): Promise<void> {
  const { Trust } = await load.trust();
  around<ReturnType<Trusting.Trust['watch']>>(Trust.prototype, 'watch', (goOn) => ({
    ...goOn(),
    check: () => undefined,
  }));
}

async function inResults(change: (result: Result) => Result): Promise<void> {
  const { UpstreamExchange } = await load.exchange();
  around<Promise<Result>>(UpstreamExchange.prototype, 'send', async (goOn, all) =>
    change(await goOn(...all)),
  );
}

export const variants = {
  'expired-lease-taken-over': {
    act: 'orphans',
    apply: async () => {
      const { beginWrites } = await load.begin();
      around<unknown>(beginWrites, 'decide', (goOn, [begins, found, now]) => {
        const isOver = (row: SqlRow) =>
          row['state'] === 'sending' && Number(row['leaseUntil']) <= Number(now);
        const known = (found as SqlRow[][])[2] ?? [];
        const free = known.map((row) => (isOver(row) ? { ...row, state: 'not_sent' } : row));
        return goOn(begins, (found as SqlRow[][]).with(2, free), now);
      });
      around((await load.writes()).WriteStore.prototype, 'sweep', () => Promise.resolve([]));
    },
  },
  'code-500-retried': {
    act: 'each-fault',
    apply: async () => {
      const { UpstreamClient } = await load.client();
      around<Promise<unknown>>(UpstreamClient.prototype, 'call', (goOn, all) =>
        goOn(...all).catch((error: { details?: { code?: string } }) => {
          if (error.details?.code === '500') return goOn(...all);
          throw error;
        }),
      );
    },
  },
  'reset-taken-for-not-sent': {
    act: 'each-fault',
    apply: () =>
      inResults((result) =>
        result.kind === 'lost' ? { ...result, kind: 'unreachable', sent: false } : result,
      ),
  },
  'timeout-taken-for-rejected': {
    act: 'each-fault',
    apply: () =>
      inResults((result) =>
        result.kind === 'timeout'
          ? { kind: 'refused', details: { status: 299, code: '13004' }, sent: true }
          : result,
      ),
  },
  // This variant is synchronous_commit = off.
  'commits-not-waited-for': {
    act: 'database-killed',
    apply: async () => {
      const { PostgresConnection } = await load.connection();
      around<Promise<Connections.PostgresConnection>>(PostgresConnection, 'open', async (goOn, all) => {
        const connection = await goOn(...all);
        await connection.trip([{ text: 'SET synchronous_commit = off' }]);
        return connection;
      });
    },
  },
  'on-without-the-database': {
    act: 'database-killed',
    apply: async () => {
      const { WriteStore } = await load.writes();
      around<Promise<unknown>>(WriteStore.prototype, 'begin', (goOn, all) =>
        goOn(...all).catch(() => ({ kind: 'begun', submittedAt: Date.now() })),
      );
      around<Promise<unknown>>(WriteStore.prototype, 'holds', (goOn, all) => goOn(...all).catch(() => true));
    },
  },
  'lost-reply-taken-for-not-begun': {
    act: 'lost-replies',
    apply: async () => {
      Object.assign((await load.begin()).beginWrites, { repeatable: undefined });
      const { DatabaseUnavailable } = await load.unavailable();
      const { WriteStore } = await load.writes();
      around<Promise<unknown>>(WriteStore.prototype, 'begin', (goOn, all) =>
        goOn(...all).catch((error: unknown) => {
          throw new DatabaseUnavailable('stopped', error);
        }),
      );
    },
  },
  'maintenance-read-without-its-lock': {
    act: 'maintenance',
    processes: 2,
    apply: async () => {
      const { sql } = await load.sql();
      const { beginWrites } = await load.begin();
      Object.assign(beginWrites, { withinMs: 5_000 });
      const nothing = sql`SELECT 1 AS one`.with();
      // A commit takes a while.
      const slow = sql`SELECT pg_sleep(0.3 + random() * 0.3)`.with();
      around<Query[]>(beginWrites, 'look', (goOn, all) => goOn(...all).with(0, nothing));
      around<Decision<unknown>>(beginWrites, 'decide', (goOn, all) => {
        const { writes = [], ...rest } = goOn(...all);
        return { ...rest, writes: writes.length > 0 ? [slow, ...writes] : [] };
      });
    },
  },
  'emptied-database-made-ready': { act: 'emptied', apply: withoutTrust },
  'numbers-not-compared': { act: 'gone-back', apply: withoutTrust },
  'hang-up-stops-the-send': {
    act: 'hang-ups',
    apply: async () => {
      const { TenancyGuard } = await load.tenancy();
      around(TenancyGuard.prototype, 'canActivate', (goOn, [context]) => {
        const http = (context as ExecutionContext).switchToHttp();
        const { raw } = http.getResponse<{ raw: ServerResponse }>();
        const gone = new AbortController();
        raw.once('close', () => raw.writableFinished || gone.abort());
        const active = goOn(context);
        const { reached } = http.getRequest<{ stages: RequestStages }>().stages;
        if (reached) Object.assign(reached.call, { abandon: gone.signal });
        return active;
      });
      const { UpstreamExchange } = await load.exchange();
      around(UpstreamExchange.prototype, 'send', (goOn, [sending, ...rest]) => {
        const { context } = sending as { context: CallContext };
        return goOn({ ...(sending as object), abandon: context.abandon }, ...rest);
      });
    },
  },
  'late-answer-overwrites-a-settlement': {
    act: 'settlement',
    apply: async () => {
      const { transitions } = await load.records();
      Object.assign(transitions.owner, { not_placed: ['succeeded', 'accepted'] });
    },
  },
  'event-in-a-second-transaction': {
    act: 'database-killed',
    apply: async () => {
      const { Database } = await load.database();
      const { moveOwn } = await load.moves();
      const left: Query[][] = [];
      await inMoves((_, others, inserts) => {
        left.push([...inserts]);
        return [...others];
      });
      const second: Step<readonly Query[], undefined> = {
        name: 'events',
        pastLoss: true,
        decide: ([writes]) => ({ writes }),
      };
      around<Promise<unknown>>(Database.prototype, 'step', async (goOn, [step, input]) => {
        const result = await goOn(step, input);
        const writes = step === moveOwn ? left.splice(0).flat() : [];
        // A moment later.
        if (writes.length > 0)
          void sleep(400)
            .then(() => goOn(second, writes))
            .catch(() => undefined);
        return result;
      });
    },
  },
  'move-with-two-events': {
    act: 'each-fault',
    apply: async () => {
      await inMoves((_, others, inserts) => [...others, ...inserts, ...inserts]);
    },
  },
  // A sequence gives numbers out before the commit.
  'numbers-from-a-sequence': {
    act: 'each-fault',
    apply: async () => {
      const { sql, rows } = await load.sql();
      const columns = sql`kind, name, state, at, size, record`;
      const insert = sql`
        INSERT INTO events (platform, number, ${columns}) SELECT CAST(:platform AS text), number, ${columns}
        FROM ${rows('events', { number: 'bigint', kind: 'text', name: 'text', state: 'text', at: 'bigint', size: 'bigint', record: 'text' })}`;
      const newest = sql`
        UPDATE numbers SET value = greatest(value, :last) WHERE platform = :platform AND name = 'feed'`;
      // Some transactions end only when a reader has gone past their number, or nothing came after it.
      const held = sql`SELECT CAST(:held AS bigint) AS held`;
      const waiting = new Map<number, () => void>();
      const { EventsService } = await load.events();
      around<Promise<{ items: { id: string }[] }>>(EventsService.prototype, 'page', async (goOn, all) => {
        const page = await goOn(...all);
        const shown = Number(page.items.at(-1)?.id ?? 0);
        for (const [number, goesOn] of waiting) if (shown > number) goesOn();
        return page;
      });
      const { PostgresConnection } = await load.connection();
      around<Promise<unknown>>(PostgresConnection.prototype, 'trip', async (goOn, all) => {
        const calls = all[0] as readonly { text: string; values?: readonly unknown[] }[];
        const number = Number(calls.find(({ text }) => text.endsWith(' AS held'))?.values?.[0] ?? 1);
        if (number % 3 === 0)
          await Promise.race([new Promise<void>((goesOn) => waiting.set(number, goesOn)), sleep(4_000)]);
        return goOn(...all);
      });
      Object.assign((await load.moves()).moveOwn, { withinMs: 30_000 });
      let last = 0;
      await inMoves((events, others) => {
        const numbered = events.map((event) => ({ ...event, number: ++last }));
        return [
          held.with({ held: last }),
          ...others,
          insert.with({ events: numbered }),
          { ...newest.with({ last }), wakes: 'feed' },
        ];
      });
    },
  },
  'feed-skips-a-cursor': {
    act: 'each-fault',
    apply: async () => {
      const { EventsService } = await load.events();
      around<Promise<{ items: unknown[] }>>(EventsService.prototype, 'page', async (goOn, all) => {
        const page = await goOn(...all);
        return page.items.length > 1 ? { ...page, items: page.items.slice(0, -1) } : page;
      });
    },
  },
  'any-answer-counts-as-delivered': {
    act: 'each-fault',
    apply: async () => {
      const { Receivers } = await load.receivers();
      around<Promise<object>>(Receivers.prototype, 'post', async (goOn, all) => ({
        ...(await goOn(...all)),
        status: 204,
      }));
    },
  },
  'deliveries-of-an-order-side-by-side': {
    act: 'settlement',
    apply: async () => {
      const { EventsService } = await load.events();
      around<Promise<{ moves: { id: string }[] }>>(EventsService.prototype, 'after', async (goOn, all) => {
        const { moves, ...rest } = await goOn(...all);
        return { ...rest, moves: moves.map((move) => ({ ...move, name: move.id })).toReversed() };
      });
    },
  },
  'finish-by-another-owner': {
    act: 'strangers',
    apply: async () => {
      const { moveOwn } = await load.moves();
      around<unknown>(moveOwn, 'decide', (goOn, [moves, ...rest]) =>
        goOn(
          (moves as Moving.MoveOfRow[]).map(({ owner: _, ...move }) => move),
          ...rest,
        ),
      );
    },
  },
} satisfies Record<string, Variant & { readonly act: keyof typeof acts }>;
await applyChosen(variants);
