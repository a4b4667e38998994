import { Injectable } from '@nestjs/common';
import { CallerLimits } from '../caller/caller-limits.ts';
import { CallerRegistry } from '../caller/caller.registry.ts';
import type { CallerTraffic } from './replica-state.ts';

/** The callers of the file, also those that did not call: never a key. */
@Injectable()
export class Callers {
  constructor(
    private readonly registry: CallerRegistry,
    private readonly limits: CallerLimits,
  ) {}

  state(calls: ReadonlyMap<string, readonly [requests: number, refused: number]>): CallerTraffic[] {
    const standings = new Map(this.limits.standings().map((each) => [each.name, each]));
    return this.registry.all.map(({ name, rateLimit }) => {
      const [requests, refused] = calls.get(name) ?? [0, 0];
      const { inFlight = 0, left = null } = standings.get(name) ?? {};
      return { name, requests, refused, inFlight, left: rateLimit ? left : null, limit: rateLimit ?? null };
    });
  }
}
