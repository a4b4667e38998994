/**
 * Deliberate bugs of the gateway, one at a time: the chaos run preloads this file (`--import`) into a built gateway and selects one by
 * CHAOS_VARIANT. Each is a mistake that a developer could make; a run that passes with one of them proves
 * nothing.
 */
import type { ServerResponse } from 'node:http';
import type { ExecutionContext } from '@nestjs/common';
import type * as Events from '../../../src/events/events.service.ts';
import type { RequestStages } from '../../../src/operation/request-stages.ts';
import type * as LedgerRecordModule from '../../../src/order-ledger/ledger-record.ts';
import type * as OrderLedger from '../../../src/order-ledger/redis-order-ledger.ts';
import type * as Epoch from '../../../src/order-store/epoch.ts';
import type { CallContext } from '../../../src/upstream/call-context.ts';
import type * as Client from '../../../src/upstream/upstream.client.ts';
import type * as Exchange from '../../../src/upstream/upstream.exchange.ts';
import type { Result } from '../../../src/upstream/upstream.exchange.ts';
import type * as Acknowledged from '../../../src/redis/acknowledged-scripts.ts';
import type * as Receiving from '../../../src/webhooks/delivery/receivers.ts';
import type * as Tenancy from '../../../src/tenancy/tenancy.guard.ts';
import { applyChosen, around, changed, inScripts } from '../../support/variant.ts';
import type { Variant } from '../engine.ts';
import type { acts } from './acts.ts';

const SCRIPTS = 'order-ledger/ledger-scripts.js';

const load = {
  tenancy: () => changed<typeof Tenancy>('tenancy/tenancy.guard'),
  orderLedger: () => changed<typeof OrderLedger>('order-ledger/redis-order-ledger'),
  epoch: () => changed<typeof Epoch>('order-store/epoch'),
  acknowledged: () => changed<typeof Acknowledged>('redis/acknowledged-scripts'),
  records: () => changed<typeof LedgerRecordModule>('order-ledger/ledger-record'),
  client: () => changed<typeof Client>('upstream/upstream.client'),
  events: () => changed<typeof Events>('events/events.service'),
  receivers: () => changed<typeof Receiving>('webhooks/delivery/receivers'),
  exchange: () => changed<typeof Exchange>('upstream/upstream.exchange'),
};

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
      await inScripts(
        SCRIPTS,
        "put(record, state, 'in_doubt', doubtMs)\n    state = 'in_doubt'",
        "state = 'not_sent'",
      );
      around((await load.orderLedger()).RedisOrderLedger.prototype, 'sweep', () => Promise.resolve([]));
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
  // The harness starts that Redis without a log. A gateway that remembers the store would notice.
  'store-without-persistence': {
    act: 'store-killed',
    apply: async () => {
      const { StoreEpoch } = await load.epoch();
      around(StoreEpoch.prototype, 'recall', () => Promise.resolve());
    },
  },
  'on-without-the-store': {
    act: 'store-killed',
    apply: async () => {
      const { RedisOrderLedger } = await load.orderLedger();
      around<Promise<unknown>>(RedisOrderLedger.prototype, 'begin', (goOn, all) =>
        goOn(...all).catch(() => ({ kind: 'begun', submittedAt: Date.now() })),
      );
      around<Promise<unknown>>(RedisOrderLedger.prototype, 'holds', (goOn, all) =>
        goOn(...all).catch(() => true),
      );
    },
  },
  'emptied-store-without-canary': {
    act: 'emptied',
    apply: async () => {
      await inScripts(SCRIPTS, "if redis.call('GET', epoch) ~= ARGV[1] then return {'stopped'} end", '');
      await inScripts(SCRIPTS, 'if count < expected then', 'if false then');
    },
  },
  'count-not-compared': {
    act: 'gone-back',
    apply: () => inScripts(SCRIPTS, 'if count < expected then', 'if false then'),
  },
  // A gateway that remembers how many writes there were would notice the promoted server.
  'wait-left-out': {
    act: 'split-brain',
    apply: async () => {
      const { StoreEpoch } = await load.epoch();
      around(StoreEpoch.prototype, 'recall', () => Promise.resolve());
      const { AcknowledgedScripts } = await load.acknowledged();
      around<Promise<object>>(AcknowledgedScripts.prototype, 'run', async (goOn, all) => ({
        ...(await goOn(...all)),
        acknowledged: true,
      }));
    },
  },
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
  'move-without-its-event': {
    act: 'orphans',
    apply: () => inScripts(SCRIPTS, "then logMove(moves, 'order', key, to, fields(key)) end", 'then end'),
  },
  'event-before-the-move': {
    act: 'each-fault',
    apply: () =>
      inScripts(
        SCRIPTS,
        'put(record, known[2], to, keptMs)',
        "logMove(moves, 'order', record, to, fields(record)) put(record, known[2], to, keptMs)",
      ),
  },
  'move-with-two-events': {
    act: 'each-fault',
    apply: () =>
      inScripts(
        SCRIPTS,
        "logMove(moves, 'order', key, to, fields(key))",
        "logMove(moves, 'order', key, to, fields(key)) logMove(moves, 'order', key, to, fields(key))",
      ),
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
    processes: 3,
    apply: () =>
      inScripts(SCRIPTS, "local allowed = owner == '' or owner == known[3]", 'local allowed = true'),
  },
} satisfies Record<string, Variant & { readonly act: keyof typeof acts }>;
await applyChosen(variants);
