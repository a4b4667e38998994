import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';
import { Injectable } from '@nestjs/common';
import { Admission } from '../http/admission.ts';
import { Log } from '../observability/log.ts';
import { version } from '../shared/shipped-file.ts';
import { Callers } from './callers.ts';
import { Parts } from './parts.ts';
import type { ReplicaState } from './replica-state.ts';
import { TrafficHistory } from './traffic.ts';

/** Describes this process for the console. */
@Injectable()
export class Replica {
  readonly id = `${hostname()}-${process.pid}-${randomBytes(2).toString('hex')}`;
  readonly #startedAt = Date.now();

  constructor(
    private readonly parts: Parts,
    private readonly traffic: TrafficHistory,
    private readonly admission: Admission,
    private readonly callers: Callers,
    private readonly log: Log,
  ) {}

  async state(): Promise<ReplicaState> {
    const { admission, id } = this;
    const { seconds, beats, ...lately } = await this.traffic.lately();
    const { requests, latency, attempts, attemptLatency, cache, refused, tokens, calls } = lately;
    return {
      ...{ id, version, startedAt: this.#startedAt, at: Date.now() },
      draining: admission.draining,
      overload: admission.overload ?? null,
      inFlight: admission.inFlight,
      memoryBytes: process.memoryUsage.rss(),
      ...(await this.parts.state()),
      ...{ seconds, beats },
      requests: [...requests],
      latency: [...latency],
      attempts: [...attempts],
      attemptLatency: [...attemptLatency],
      cache: [...cache],
      refused: [...refused],
      tokenEvents: [...tokens],
      callers: this.callers.state(calls),
      events: this.log.recent.list(),
    };
  }
}
