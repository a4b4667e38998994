import { Injectable } from '@nestjs/common';
import * as oauth from 'openid-client';
import { fetch as undiciFetch } from 'undici';
import { UpstreamConfig } from '../config/app-config.ts';
import { numberText, parseJson } from '../json/parse-json.ts';
import { retryAfterSeconds } from '../upstream/classify.ts';
import { UpstreamPools } from '../upstream/transport/upstream-pools.ts';
import { type AccessToken, accessToken, type Principal } from './principal.ts';
import { TokenFailure } from './token-failure.ts';

const TIMEOUT_S = 5;
const MAX_ANSWER_BYTES = 64 * 1024;
const MAX_RETRY_AFTER_S = 3_600;
/** RFC 6749 5.2: answers that asking again with the same credentials cannot change. */
const REJECTIONS = new Set(['invalid_client', 'invalid_grant', 'unauthorized_client', 'invalid_scope']);

/** The user center's token endpoint: one request, one token or a {@link TokenFailure}. Nothing is kept or repeated here. */
@Injectable()
export class TokenEndpoint {
  readonly #oauth: oauth.Configuration;

  constructor(config: UpstreamConfig, pools: UpstreamPools) {
    const secret = config.appSecret.reveal();
    this.#oauth = new oauth.Configuration(
      { issuer: config.tokenUrl.origin, token_endpoint: config.tokenUrl.href },
      config.appKey.reveal(),
      undefined,
      config.tokenAuth === 'basic' ? oauth.ClientSecretBasic(secret) : oauth.ClientSecretPost(secret),
    );
    this.#oauth.timeout = TIMEOUT_S;
    // Which URLs may be plain http was decided by the configuration.
    if (config.tokenUrl.protocol === 'http:') oauth.allowInsecureRequests(this.#oauth);
    this.#oauth[oauth.customFetch] = async (url, options) => {
      const response = await undiciFetch(url, {
        ...(options as Parameters<typeof undiciFetch>[1]),
        redirect: 'manual',
        dispatcher: pools.tokens,
      });
      return lenient(response);
    };
  }

  /** The application's own token for a scope, or a configured user's: by refresh token where there is one, else by password. */
  request(principal: Principal, refreshToken?: string): Promise<AccessToken> {
    if (principal.kind === 'application') {
      return this.#grant(() => oauth.clientCredentialsGrant(this.#oauth, { scope: principal.scope }));
    }
    return refreshToken === undefined
      ? this.login(principal.username, principal.password.reveal())
      : this.refresh(refreshToken);
  }

  /** Password grant (RFC 6749 4.3): OAuth 2.1 has dropped it, the platform demands it. */
  login(username: string, password: string): Promise<AccessToken> {
    return this.#grant(() => oauth.genericGrantRequest(this.#oauth, 'password', { username, password }));
  }

  /** Refresh grant (RFC 6749 6). The answer may carry another refresh token, which replaces this one. */
  async refresh(refreshToken: string): Promise<AccessToken> {
    const token = await this.#grant(() => oauth.refreshTokenGrant(this.#oauth, refreshToken));
    return { refreshToken, ...token };
  }

  async #grant(send: () => Promise<oauth.TokenEndpointResponse>): Promise<AccessToken> {
    try {
      const answer = await send();
      const token = accessToken(answer.access_token, answer['lifetime']);
      if (token && answer.refresh_token === undefined) return token;
      if (token) return { ...token, refreshToken: answer.refresh_token };
    } catch (error) {
      throw asTokenFailure(error);
    }
    throw new TokenFailure('unavailable', 'unusable_token');
  }
}

/** As undici's fetch gives it. */
type Answer = Awaited<ReturnType<typeof undiciFetch>>;

/**
 * The library holds answers to the RFC's letter; the platform's endpoint is not documented. A missing `token_type` is
 * taken for Bearer, and `expires_in` is carried past the library's checks as `lifetime`, since {@link accessToken} reads it.
 */
async function lenient(response: Answer): Promise<Response> {
  const bytes = await boundedBody(response);
  const headers = new Headers(response.headers);
  headers.delete('content-length');
  headers.delete('content-encoding');
  let body: Buffer | string = bytes;
  try {
    const answer = response.status === 200 ? parseJson(bytes, { maxDepth: 8 }) : undefined;
    if (typeof answer === 'object' && answer !== null) {
      const { expires_in: lifetime, ...rest } = answer as Record<string, unknown>;
      const given = Object.entries(rest).filter(([, member]) => member !== null);
      body = JSON.stringify({
        token_type: 'Bearer',
        ...Object.fromEntries(given),
        lifetime: numberText(lifetime) ?? lifetime,
      });
    }
  } catch {
    // Not JSON: the library says so itself.
  }
  return new Response(bytes.length === 0 ? null : body, { status: response.status, headers });
}

async function boundedBody(response: Answer): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  for await (const chunk of response.body ?? []) {
    size += chunk.length;
    if (size > MAX_ANSWER_BYTES) throw new TokenFailure('unavailable', 'answer_too_large');
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
    // Only words of the RFC are repeated: the rest of the answer is foreign text.
    const reason = /^[a-z_]{1,40}$/.test(error.error) ? error.error : 'error_response';
    return new TokenFailure(kind, reason, retryAfter(error.response), error);
  }
  if (error instanceof oauth.WWWAuthenticateChallengeError) {
    return new TokenFailure('rejected', 'invalid_client', undefined, error);
  }
  return new TokenFailure(
    'unavailable',
    'no_answer',
    cause instanceof Response ? retryAfter(cause) : undefined,
    error,
  );
}

function retryAfter(response: Response): number | undefined {
  return retryAfterSeconds(response.headers.get('retry-after') ?? undefined, Date.now(), MAX_RETRY_AFTER_S);
}
