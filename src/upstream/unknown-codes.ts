import { Injectable } from '@nestjs/common';
import type { CodeModule } from '../config/taught-codes.ts';
import type { StoreSealer } from '../kit/sealed-store/sealed-store.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { inBackground } from '../shared/edge.ts';
import { codeOf, ContractNotes, type Gap, UpstreamGaps } from './gaps.ts';
import { operationList, type UpstreamOperation } from './operations.ts';
import { meaningOf } from './problems/upstream-codes.ts';
import type { FailureDetails } from './upstream-failure.ts';

/** The most codes that are logged, and whose words are kept. */
const MAX_CODES = 100;
const KEPT_MS = 30 * 24 * 3_600_000;

/** A code that neither the interface nor the profile of the platform has. */
interface MetCode extends Pick<Gap, 'operation' | 'count' | 'firstSeenAt' | 'lastSeenAt'> {
  readonly module: CodeModule;
  readonly code: string;
  /** The platform's words in addition to the code. Null if it said nothing, or if the words are not kept any more. */
  readonly words: string | null;
}

/**
 * Keeps unknown codes, which are gaps. The words of the platform are for operators only, because they may be about a person. Redis has them
 * sealed.
 */
@Injectable()
export class UnknownCodes {
  readonly #key: string;
  /** Undefined without Redis. */
  readonly #sealed: StoreSealer | undefined;
  /** The first words that this process got, by operation and code. */
  readonly #words = new Map<string, string>();
  /** The codes that this process has logged, by operation. */
  readonly #logged = new Set<string>();

  constructor(
    private readonly redis: SharedRedis,
    private readonly gaps: UpstreamGaps,
    private readonly metrics: Metrics,
    private readonly log: Log,
  ) {
    this.#key = `${redis.environment}:code-words`;
    this.#sealed = redis.sealed('words');
    for (const { name: operation } of operationList)
      metrics.count('gateway_upstream_unmapped_codes_total', { operation }, 0);
  }

  /** Notes the code of a failed call if it is unknown. */
  met(operation: UpstreamOperation, details: FailureDetails): void {
    const { code, message } = details;
    if (code === undefined || meaningOf(operation, details)) return;
    this.metrics.count('gateway_upstream_unmapped_codes_total', { operation: operation.name });
    const notes = new ContractNotes();
    notes.addCode(code);
    this.gaps.add(operation, notes);
    const name = `${operation.operationId} ${code}`;
    this.#logNew(name, operation, notes);
    if (!message || this.#words.has(name) || this.#words.size >= MAX_CODES) return;
    this.#words.set(name, message);
    inBackground('words of a code', () => this.#share(name, message));
  }

  /** Logs the first sight of a code. The number of codes is bounded, because a platform may make up many. */
  #logNew(name: string, { name: upstreamOperation }: UpstreamOperation, notes: ContractNotes): void {
    if (this.#logged.has(name) || this.#logged.size >= MAX_CODES) return;
    this.#logged.add(name);
    const [note] = notes;
    const upstreamCode = note && codeOf(note.path);
    this.log.warn(
      { event: 'unknown-code', upstreamOperation, upstreamCode },
      'The platform sent a code that neither its interface nor its profile has',
    );
  }

  /** Returns the codes that all replicas have met, without those that the profile teaches by now. */
  async list(): Promise<MetCode[]> {
    const [gaps, shared] = await Promise.all([this.gaps.list(), this.#shared()]);
    return gaps.flatMap(({ operation, path, kind, ...seen }) => {
      const code = kind === 'unknown-code' ? codeOf(path) : undefined;
      const module = operationList.find(({ operationId }) => operationId === operation)?.module;
      if (code === undefined || !module) return [];
      const name = `${operation} ${code}`;
      return [{ operation, module, code, words: shared.get(name) ?? this.#words.get(name) ?? null, ...seen }];
    });
  }

  /** Shares the words in Redis. Never fails, because the log has the words too. */
  async #share(name: string, words: string): Promise<void> {
    const sealed = this.#sealed?.seal(words, this.#key);
    if (sealed === undefined) return;
    await this.redis
      .run(async (client) => {
        if ((await client.hlen(this.#key)) >= MAX_CODES) return;
        await client.hset(this.#key, name, sealed);
        await client.pexpire(this.#key, KEPT_MS);
      })
      .catch(() => undefined);
  }

  async #shared(): Promise<ReadonlyMap<string, string>> {
    const sealed = this.#sealed;
    if (!sealed) return new Map();
    const stored = await this.redis.run((client) => client.hgetall(this.#key)).catch(() => ({}));
    return new Map(
      Object.entries(stored).flatMap(([name, text]) => {
        const words = sealed.open(text, this.#key);
        return words === undefined ? [] : [[name, words]];
      }),
    );
  }
}
