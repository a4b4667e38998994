import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import pLimit from 'p-limit';
import { Agent, request } from 'undici';
import { LimitPerKey } from '../../kit/limit-per-key/limit-per-key.ts';
import { inBackground } from '../../shared/edge.ts';
import { CONNECTION_LIFE_MS, openConnector } from '../../transport/open-connector.ts';
import { retryAfterSeconds } from '../../transport/retry-after.ts';
import type { Webhook } from '../store/webhook-record.ts';
import { AddressRefused, ANSWER_MS, Destinations } from './destinations.ts';
import { signedHeaders, signingSecretsOf } from './signature.ts';

/** The longest wait that a receiver may ask for. */
const MAX_WAIT_S = 3_600;
const READ_BYTES = 1_024;
/** The most simultaneous deliveries of this process. Tests of webhooks count in this limit and in the two that follow. */
const MAX_AT_ONCE = 64;
/**
 * The most simultaneous deliveries of one caller. It is more than a caller's 20 webhooks need while all of them fail, because each then
 * gets one delivery at a time.
 */
const MAX_OF_CALLER = 24;
export const MAX_TO_ONE = 4;

/** Why a delivery got no HTTP status. */
export type SendFailure = 'timeout' | 'connection' | 'name' | 'certificate' | 'address-refused';

export interface Sent {
  /** The HTTP status of the receiver. Null if the receiver did not answer. */
  readonly status: number | null;
  readonly failure: SendFailure | null;
  readonly durationMs: number;
  /** The wait in seconds that the receiver asked for. */
  readonly retryAfterS?: number | undefined;
}

interface Conditions {
  /** Returns the time of the database, by which former secrets end. */
  readonly now: () => number;
  /** Aborts the delivery. */
  readonly over?: AbortSignal;
  /**
   * Asked when the delivery has its place, for which it may have waited half a minute. Resolves to the webhook as it is then; undefined if the
   * delivery is not wanted any more.
   */
  readonly wanted?: () => Promise<Webhook | undefined>;
}

/**
 * Sends events to the receivers of webhooks. It treats their URLs as untrusted: one address, no redirects, and it reads little of the
 * answer.
 */
@Injectable()
export class Receivers implements OnApplicationShutdown {
  readonly #limit = pLimit(MAX_AT_ONCE);
  readonly #ofCallers = new LimitPerKey(MAX_OF_CALLER);
  readonly #toOne = new LimitPerKey(MAX_TO_ONE);
  /** An agent that is forgotten ends when its last delivery has ended. */
  readonly #agents = new LRUCache<number, Agent>({
    max: MAX_AT_ONCE,
    dispose: (agent) => inBackground('agent of receivers', () => agent.close()),
  });

  constructor(private readonly destinations: Destinations) {}

  /**
   * Sends an event. It checks the URL again, because the operator may have changed the lists since the webhook was made. It resolves to
   * undefined if the delivery is not wanted any more.
   */
  post(webhook: Webhook, event: { readonly id: string }, conditions: Pick<Conditions, 'now'>): Promise<Sent>;
  post(webhook: Webhook, event: { readonly id: string }, conditions: Conditions): Promise<Sent | undefined>;
  async post(
    webhook: Webhook,
    event: { readonly id: string },
    conditions: Conditions,
  ): Promise<Sent | undefined> {
    if (this.destinations.refusalOf(webhook.url) !== undefined)
      return { status: null, failure: 'address-refused', durationMs: 0 };
    const send = () =>
      this.#limit(async () => {
        const present = conditions.wanted ? await conditions.wanted() : webhook;
        return present && this.#send(present, event, conditions);
      });
    return this.#toOne.run(webhook.webhookId, () => this.#ofCallers.run(webhook.caller, send));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  async #send(webhook: Webhook, event: { readonly id: string }, { now, over }: Conditions): Promise<Sent> {
    const began = performance.now();
    const body = JSON.stringify(event);
    const headers = signedHeaders(event.id, Date.now(), body, signingSecretsOf(webhook, now()));
    const late = AbortSignal.timeout(ANSWER_MS);
    const end = over ? AbortSignal.any([late, over]) : late;
    const answer = await this.#post(webhook.url, headers, body, end).catch((error: unknown) => ({
      ...{ status: null, failure: late.aborted ? ('timeout' as const) : failureOf(error) },
    }));
    return { ...answer, durationMs: Math.round(performance.now() - began) };
  }

  async #post(
    url: string,
    headers: Readonly<Record<string, string>>,
    body: string,
    signal: AbortSignal,
  ): Promise<Omit<Sent, 'durationMs'>> {
    const response = await request(url, {
      method: 'POST',
      dispatcher: this.#agentOf(new URL(url)),
      headers: {
        ...headers,
        'content-type': 'application/cloudevents+json',
        'user-agent': 'licensing-gateway',
      },
      body,
      signal,
    });
    // The gateway reads only as much of the answer as is needed to use the connection again.
    await response.body.dump({ limit: READ_BYTES, signal }).catch(() => undefined);
    const retryAfterS = retryAfterSeconds(
      [response.headers['retry-after']].flat()[0],
      Date.now(),
      MAX_WAIT_S,
    );
    return { status: response.statusCode, failure: null, retryAfterS };
  }

  /** Returns the agent of the URL's port. Each port has its own, because the port decides whether an address may be called. */
  #agentOf(url: URL): Agent {
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const known = this.#agents.get(port);
    if (known) return known;
    const lookup = this.destinations.lookup(port);
    const connect = openConnector({ lookup, timeout: ANSWER_MS, rejectUnauthorized: true, allowH2: false });
    const agent = new Agent({
      ...{ connect, allowH2: false, maxHeaderSize: 16_384, keepAliveTimeout: 10_000 },
      clientTtl: CONNECTION_LIFE_MS,
    });
    this.#agents.set(port, agent);
    return agent;
  }
}

function failureOf(error: unknown): SendFailure {
  if (error instanceof AddressRefused) return 'address-refused';
  const { code = '' } = error as { code?: string };
  if (/^(ENOTFOUND|EAI_)/.test(code)) return 'name';
  if (/CERT|SELF_SIGNED|UNABLE_TO_|ERR_TLS|ERR_SSL|EPROTO/.test(code)) return 'certificate';
  return /TIMEOUT/.test(code) || code === 'ETIMEDOUT' ? 'timeout' : 'connection';
}
