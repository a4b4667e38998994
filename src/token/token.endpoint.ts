import { readFileSync } from 'node:fs';
import { Injectable, type OnApplicationShutdown, type OnModuleInit } from '@nestjs/common';
import * as oauth from 'openid-client';
import { fetch as undiciFetch } from 'undici';
import { UpstreamConfig } from '../config/app-config.ts';
import { followFiles } from '../config/watched-file.ts';
import { numberText, parseJson } from '../shared/json.ts';
import { Log } from '../observability/log.ts';
import { retryAfterSeconds } from '../transport/retry-after.ts';
import { UpstreamPools } from '../transport/upstream-pools.ts';
import { type AccessToken, accessToken, type Principal } from './principal.ts';
import { TokenFailure } from './token-failure.ts';

const TIMEOUT_S = 5;
const MAX_RESPONSE_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_S = 3_600;
/** After a 429 that names no time. */
const DEFAULT_RETRY_AFTER_S = 60;
/** RFC 6749 5.2: another request with the same credentials cannot change these errors. */
const REJECTIONS = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client', 'invalid_scope']);

type Send = (client: oauth.Configuration) => Promise<oauth.TokenEndpointResponse>;

/** Keeps nothing and repeats nothing, except that it tries the previous secret while the application's secret is being changed. */
@Injectable()
export class TokenEndpoint implements OnModuleInit, OnApplicationShutdown {
  #unfollow: (() => void) | undefined;

  constructor(
    private readonly config: UpstreamConfig,
    private readonly pools: UpstreamPools,
    private readonly log: Log,
  ) {}

  onModuleInit(): void {
    const { appSecret, appSecretFile: path } = this.config;
    if (path === undefined) return;
    const take = () => appSecret.rotate(readSecret(path));
    // The file is also read at once: it may have changed since the configuration was read.
    this.#unfollow = followFiles([path], take, () => {
      try {
        take();
        this.log.info({ event: 'secret-reloaded' }, "The application's secret was re-read");
      } catch {
        this.log.error(
          { event: 'secret-rejected' },
          'UPSTREAM_APP_SECRET_FILE is empty or unreadable; the last secret stays in use',
        );
      }
    });
  }

  onApplicationShutdown(): void {
    this.#unfollow?.();
  }

  /** The application's own token for a scope, or a configured user's: by refresh token where there is one, else by password. */
  request(principal: Principal, refreshToken?: string): Promise<AccessToken> {
    if (principal.kind === 'application') {
      return this.#grant((client) => oauth.clientCredentialsGrant(client, { scope: principal.scope }));
    }
    return refreshToken === undefined
      ? this.login(principal.username, principal.password.reveal())
      : this.refresh(refreshToken);
  }

  /** Password grant (RFC 6749 4.3): OAuth 2.1 has dropped it, the platform demands it. */
  login(username: string, password: string): Promise<AccessToken> {
    const { user: scope } = this.config.scopes;
    const form = { username, password, ...(scope !== undefined && { scope }) };
    return this.#grant((client) => oauth.genericGrantRequest(client, 'password', form));
  }

  /** Refresh grant (RFC 6749 6). The response may carry another refresh token, which replaces this one. */
  async refresh(refreshToken: string): Promise<AccessToken> {
    const token = await this.#grant((client) => oauth.refreshTokenGrant(client, refreshToken));
    return { refreshToken, ...token };
  }

  async #grant(send: Send): Promise<AccessToken> {
    const { appSecret } = this.config;
    const [current, previous] = appSecret.candidates;
    try {
      const token = await this.#ask(current as string, send);
      appSecret.settled();
      return token;
    } catch (error) {
      const wrongSecret = error instanceof TokenFailure && error.reason === 'invalid_client';
      if (!wrongSecret || previous === undefined) throw error;
      return this.#ask(previous, send);
    }
  }

  async #ask(secret: string, send: Send): Promise<AccessToken> {
    try {
      const { access_token: value, lifetime, refresh_token: refreshToken } = await send(this.#client(secret));
      const token = accessToken(value, lifetime);
      if (token) return refreshToken === undefined ? token : { ...token, refreshToken };
    } catch (error) {
      throw asTokenFailure(error);
    }
    throw new TokenFailure('unavailable', 'unusable_token');
  }

  #client(secret: string): oauth.Configuration {
    const { tokenUrl, tokenAuth, appKey } = this.config;
    const client = new oauth.Configuration(
      { issuer: tokenUrl.origin, token_endpoint: tokenUrl.href },
      appKey.reveal(),
      undefined,
      tokenAuth === 'basic' ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret),
    );
    client.timeout = TIMEOUT_S;
    // The configuration has already checked which URLs may be plain http.
    if (tokenUrl.protocol === 'http:') oauth.allowInsecureRequests(client);
    client[oauth.customFetch] = async (url, options) => {
      const response = await undiciFetch(url, {
        ...(options as Parameters<typeof undiciFetch>[1]),
        redirect: 'manual',
        dispatcher: this.pools.tokens,
      });
      return lenient(response);
    };
    return client;
  }
}

function readSecret(path: string): string {
  const secret = readFileSync(path, 'utf8').trim();
  if (secret === '') throw new Error('is empty');
  return secret;
}

type UndiciResponse = Awaited<ReturnType<typeof undiciFetch>>;

/**
 * The library checks responses strictly by the RFC, but the platform's endpoint is not documented. A missing `token_type` becomes
 * Bearer, and `expires_in` bypasses the library's checks as `lifetime`, since {@link accessToken} reads it.
 */
async function lenient(response: UndiciResponse): Promise<Response> {
  const bytes = await boundedBody(response);
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  headers.delete('content-encoding');
  let body: Buffer | string = bytes;
  try {
    const json = response.status === 200 ? parseJson(bytes, { maxDepth: 8 }) : undefined;
    if (typeof json === 'object' && json !== null) {
      const { expires_in: lifetime, ...rest } = json as Record<string, unknown>;
      const given = Object.entries(rest).filter(([, member]) => member !== null);
      body = JSON.stringify({
        token_type: 'Bearer',
        ...Object.fromEntries(given),
        lifetime: numberText(lifetime) ?? lifetime,
      });
    }
  } catch {
    // The body is not JSON, which the library reports.
  }
  return new Response(bytes.length === 0 ? null : body, { status: response.status, headers });
}

async function boundedBody(response: UndiciResponse): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_RESPONSE_BYTES) throw new TokenFailure('unavailable', 'answer_too_large');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

function asTokenFailure(error: unknown): TokenFailure {
  if (error instanceof TokenFailure) return error;
  const { cause } = error as { cause?: unknown };
  if (cause instanceof TokenFailure) return cause;
  if (error instanceof oauth.ResponseBodyError) {
    const kind = REJECTIONS.has(error.error) ? 'rejected' : 'unavailable';
    // Only error codes in the RFC's form are repeated: the rest of the response is foreign text.
    const reason = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'error_response';
    const { response } = error;
    return new TokenFailure(kind, reason, {
      ...(kind === 'unavailable' && ofStatus(response)),
      cause: error,
    });
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return new TokenFailure('rejected', 'invalid_client', { cause: error });
  }
  return cause instanceof Response
    ? new TokenFailure('unavailable', cause.status >= 500 ? 'server_error' : 'unusable_answer', {
        ...ofStatus(cause),
        cause: error,
      })
    : new TokenFailure('unavailable', 'no_answer', { ofEndpoint: true, cause: error });
}

/** Whether a status concerns the whole endpoint: 429 and 502 to 504 do, with `Retry-After` or without. */
function ofStatus({ status, headers }: Response): { ofEndpoint: boolean; retryAfter: number | undefined } {
  const named = retryAfterSeconds(headers.get('retry-after') ?? undefined, Date.now(), MAX_RETRY_AFTER_S);
  return {
    ofEndpoint: [429, 502, 503, 504].includes(status),
    retryAfter: named || (status === 429 ? DEFAULT_RETRY_AFTER_S : undefined),
  };
}
