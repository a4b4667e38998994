import { hash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import type { AskedGenerations, CallContext, Grants } from '../upstream/call-context.ts';
import { Generations } from './generations.ts';

/** One request for a cacheable read, as its key sees it. */
export interface KeyParts {
  readonly operation: string;
  readonly params: object;
  readonly query: object;
  readonly call: CallContext;
}

/**
 * The key of a cached response: platform, operation and parameters, user, rights, and the generations of the data in it. The
 * generations are read before the platform is called, so a response that a write overtakes gets a key that is no longer used.
 */
@Injectable()
export class ReadKeys {
  readonly #environment: string;
  readonly #rights = new WeakMap<Grants, string>();

  constructor(
    private readonly generations: Generations,
    { baseUrl, appKey, timestampUnit }: UpstreamConfig,
  ) {
    this.#environment = hash('sha256', JSON.stringify([baseUrl.href, appKey.reveal(), timestampUnit]));
  }

  /** Asks for the generations of a read with this path. The words never fail. */
  ask(params: object): AskedGenerations {
    const enterprise = enterpriseOf(params);
    return { enterprise, words: this.generations.current(tagsOfRead(enterprise)) };
  }

  /** Undefined where the generations are not available. */
  async of({ operation, params, query, call }: KeyParts): Promise<string | undefined> {
    const asked = call.generations;
    const isAsked = asked !== undefined && asked.enterprise === enterpriseOf(params);
    const generations = await (isAsked ? asked : this.ask(params)).words;
    if (!generations) return undefined;
    const parts = [
      this.#environment,
      operation,
      sortedEntries(params),
      sortedEntries(query),
      call.user ? [call.user.kind, call.user.name] : [],
      this.#rightsOf(call.caller.grants),
      generations,
    ];
    return JSON.stringify(parts);
  }

  /** Called when a write on this path has succeeded or failed. */
  written(params: object): Promise<void> {
    return this.generations.advance(tagsOfWrite(enterpriseOf(params)));
  }

  #rightsOf(grants: Grants): string {
    const known = this.#rights.get(grants);
    if (known !== undefined) return known;
    const granted = JSON.stringify([[...grants.enterprises].sort(), [...grants.channels].sort()]);
    const rights = hash('sha256', granted);
    this.#rights.set(grants, rights);
    return rights;
  }
}

/** A read that names no enterprise may show data of any. */
function tagsOfRead(enterprise: string | undefined): string[] {
  return enterprise === undefined ? ['any'] : ['all', `enterprise:${enterprise}`];
}

/** A write that names no enterprise (orders, locks, customers) may change data of any. */
function tagsOfWrite(enterprise: string | undefined): string[] {
  return ['any', enterprise === undefined ? 'all' : `enterprise:${enterprise}`];
}

function enterpriseOf(params: object): string | undefined {
  return (params as { enterpriseGlobalId?: string }).enterpriseGlobalId;
}

function sortedEntries(record: object): [string, unknown][] {
  return Object.entries(record).sort(([one], [other]) => (one < other ? -1 : 1));
}
