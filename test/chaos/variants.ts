/**
 * The gateway broken on purpose, one way at a time: preloaded (`--import`) into a built gateway by the chaos run, chosen by
 * CHAOS_VARIANT, which nothing else reads. Each is a mistake that somebody could make; a run that passes with one of them proves nothing.
 */
import { readFile } from 'node:fs/promises';
import type { ServerResponse } from 'node:http';
import { resolve } from 'node:path';
import { Redis } from 'ioredis';
import type { CallerGuard } from '../../src/caller/caller.guard.ts';
import type { RequestState } from '../../src/caller/request-call.ts';
import type { CallContext } from '../../src/upstream/call-context.ts';
import type { ActName } from './acts.ts';
import { built } from './records.ts';

const load = {
  callers: () => built<typeof import('../../src/caller/caller.guard.ts')>('caller/caller.guard.js'),
  guard: () => built<typeof import('../../src/guard/redis-guard.ts')>('guard/redis-guard.js'),
  records: () => built<typeof import('../../src/guard/guard-record.ts')>('guard/guard-record.js'),
  client: () => built<typeof import('../../src/upstream/upstream.client.ts')>('upstream/upstream.client.js'),
  exchange: () =>
    built<typeof import('../../src/upstream/upstream.exchange.ts')>('upstream/upstream.exchange.js'),
};
type Exchange = import('../../src/upstream/upstream.exchange.ts').UpstreamExchange;
type Result = import('../../src/upstream/upstream.exchange.ts').Result;

/** The guard's scripts with a piece changed. One that does not have the piece would be no variant at all. */
async function inScripts(piece: string, other: string): Promise<void> {
  const source = await readFile(resolve('dist/guard/redis-guard.js'), 'utf8');
  if (!source.includes(piece)) throw new Error(`the guard's scripts have no longer: ${piece}`);
  const evaluate = Redis.prototype.eval as (script: string, ...rest: unknown[]) => Promise<unknown>;
  Redis.prototype.eval = function (this: Redis, script: string, ...rest: unknown[]) {
    return evaluate.call(this, script.replace(piece, other), ...rest);
  } as never;
}

async function inResults(change: (result: Result) => Result): Promise<void> {
  const { UpstreamExchange } = await load.exchange();
  const send = UpstreamExchange.prototype.send;
  UpstreamExchange.prototype.send = async function (this: Exchange, ...all) {
    return change(await send.apply(this, all));
  };
}

interface Variant {
  /** Acts that find it; the crowd does too, sooner or later. */
  readonly acts: readonly ActName[];
  /** Done to a gateway before it starts. */
  readonly apply: () => Promise<void>;
}

export const variants = {
  'expired-lease-taken-over': {
    acts: ['orphans'],
    apply: async () => {
      await inScripts(
        "put(record, state, 'in_doubt', doubtMs)\n    state = 'in_doubt'",
        "state = 'not_sent'",
      );
      (await load.guard()).RedisGuard.prototype.sweep = () => Promise.resolve([]);
    },
  },
  'code-500-retried': {
    acts: ['each-fault'],
    apply: async () => {
      const { UpstreamClient } = await load.client();
      const call = UpstreamClient.prototype.call as (...all: unknown[]) => Promise<unknown>;
      UpstreamClient.prototype.call = function (this: unknown, ...all: unknown[]) {
        return call.apply(this, all).catch((error: { details?: { code?: string } }) => {
          if (error.details?.code === '500') return call.apply(this, all);
          throw error;
        });
      } as never;
    },
  },
  'reset-taken-for-not-sent': {
    acts: ['each-fault'],
    apply: () =>
      inResults((result) =>
        result.kind === 'lost' ? { ...result, kind: 'unreachable', sent: false } : result,
      ),
  },
  'timeout-taken-for-rejected': {
    acts: ['each-fault'],
    apply: () =>
      inResults((result) =>
        result.kind === 'timeout'
          ? { kind: 'refused', details: { status: 299, code: '13004' }, sent: true }
          : result,
      ),
  },
  // The harness starts that Redis without a log; nothing in the gateway changes.
  'store-without-persistence': { acts: ['store-killed'], apply: () => Promise.resolve() },
  'on-without-the-store': {
    acts: ['store-killed'],
    apply: async () => {
      const { RedisGuard } = await load.guard();
      const begin = RedisGuard.prototype.begin;
      RedisGuard.prototype.begin = function (write) {
        return begin.call(this, write).catch(() => ({ kind: 'begun', submittedAt: Date.now() }) as const);
      };
    },
  },
  'emptied-store-without-canary': {
    acts: ['emptied'],
    apply: () => inScripts("if redis.call('GET', canary) ~= ARGV[1] then return {'stopped'} end", ''),
  },
  'hang-up-stops-the-send': {
    acts: ['hang-ups'],
    apply: async () => {
      const { CallerGuard } = await load.callers();
      const canActivate = CallerGuard.prototype.canActivate;
      CallerGuard.prototype.canActivate = function (this: CallerGuard, context) {
        const http = context.switchToHttp();
        const { raw } = http.getResponse<{ raw: ServerResponse }>();
        const gone = new AbortController();
        raw.once('close', () => raw.writableFinished || gone.abort());
        const active = canActivate.call(this, context);
        const { call } = http.getRequest<{ state: RequestState }>().state;
        if (call) call.abandon = gone.signal;
        return active;
      };
      const { UpstreamExchange } = await load.exchange();
      const send = UpstreamExchange.prototype.send;
      UpstreamExchange.prototype.send = function (this: Exchange, sending, ...rest) {
        const { context } = sending as typeof sending & { context: CallContext };
        return send.call(this, { ...sending, abandon: context.abandon }, ...rest);
      };
    },
  },
  'late-answer-overwrites-a-settlement': {
    acts: ['settlement'],
    apply: async () => {
      const { transitions } = await load.records();
      Object.assign(transitions.owner, { not_placed: ['succeeded', 'accepted'] });
    },
  },
  'finish-by-another-owner': {
    acts: ['strangers'],
    apply: () => inScripts("local allowed = owner == '' or owner == known[3]", 'local allowed = true'),
  },
} satisfies Record<string, Variant>;
export type VariantName = keyof typeof variants;

export const variantNames = Object.keys(variants) as VariantName[];

const chosen = process.env['CHAOS_VARIANT'];
if (chosen !== undefined) {
  await import('reflect-metadata');
  await variants[chosen as VariantName].apply();
}
