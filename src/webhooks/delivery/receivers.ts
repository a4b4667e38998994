import { Injectable, type OnApplicationShutdown } from '@nestjs/common';
import pLimit from 'p-limit';
import { type Agent, request } from 'undici';
import { openConnector } from '../../transport/open-connector.ts';
import { renewingAgent } from '../../transport/renewing-client.ts';
import { retryAfterSeconds } from '../../transport/retry-after.ts';
import type { Webhook } from '../store/webhook-record.ts';
import { AddressRefused, Destinations } from './destinations.ts';
import { LimitPerKey } from './limit-per-key.ts';
import { signedHeaders, signingSecretsOf } from './signature.ts';

const ANSWER_MS = 10_000;
/** A receiver may ask for this much patience. */
const MAX_WAIT_S = 3_600;
const READ_BYTES = 1_024;
/** The most deliveries of this process at the same time, tests of webhooks included: in all, of one caller, and to one webhook. */
const MAX_AT_ONCE = 64;
/** More than a caller's 20 webhooks need while all of them fail, since each then gets one delivery at a time. */
const MAX_OF_CALLER = 24;
export const MAX_TO_ONE = 4;

/** Why a delivery has no status. */
export type SendFailure = 'timeout' | 'connection' | 'name' | 'certificate' | 'address-refused';

export interface Sent {
  /** Of the answer; null where there was none. */
  readonly status: number | null;
  readonly failure: SendFailure | null;
  readonly durationMs: number;
  /** For how long the receiver wants to be left alone, in seconds. */
  readonly retryAfterS?: number | undefined;
}

/** Sends to the receivers of webhooks, as careful as with anything that strangers name: one address, no redirects, little of the answer. */
@Injectable()
export class Receivers implements OnApplicationShutdown {
  readonly #limit = pLimit(MAX_AT_ONCE);
  readonly #ofCallers = new LimitPerKey(MAX_OF_CALLER);
  readonly #toOne = new LimitPerKey(MAX_TO_ONE);
  readonly #agents = new Map<number, Agent>();

  constructor(private readonly destinations: Destinations) {}

  /** Never rejects. The lists of the operator may have changed since the webhook was made. `over` ends it before its time. */
  async post(webhook: Webhook, event: { readonly id: string }, over?: AbortSignal): Promise<Sent> {
    if (this.destinations.refusalOf(webhook.url) !== undefined)
      return { status: null, failure: 'address-refused', durationMs: 0 };
    const send = () => this.#limit(() => this.#send(webhook, event, over));
    return this.#toOne.run(webhook.webhookId, () => this.#ofCallers.run(webhook.caller, send));
  }

  async onApplicationShutdown(): Promise<void> {
    await Promise.all([...this.#agents.values()].map((agent) => agent.destroy()));
  }

  async #send(webhook: Webhook, event: { readonly id: string }, over?: AbortSignal): Promise<Sent> {
    const began = performance.now();
    const now = Date.now();
    const body = JSON.stringify(event);
    const headers = signedHeaders(event.id, now, body, signingSecretsOf(webhook, now));
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
    // More of it than a connection needs to be used again is not worth reading.
    await response.body.dump({ limit: READ_BYTES, signal }).catch(() => undefined);
    const retryAfterS = retryAfterSeconds(
      [response.headers['retry-after']].flat()[0],
      Date.now(),
      MAX_WAIT_S,
    );
    return { status: response.statusCode, failure: null, retryAfterS };
  }

  /** One for each port: whether an address may be called depends on it. */
  #agentOf(url: URL): Agent {
    const port = Number(url.port || (url.protocol === 'https:' ? 443 : 80));
    const known = this.#agents.get(port);
    if (known) return known;
    const lookup = this.destinations.lookup(port);
    const connect = openConnector({ lookup, timeout: ANSWER_MS, rejectUnauthorized: true, allowH2: false });
    const agent = renewingAgent({
      ...{ connect, allowH2: false, maxHeaderSize: 16_384, keepAliveTimeout: 10_000 },
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
