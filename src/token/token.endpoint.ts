import { Injectable, type OnModuleInit } from '@nestjs/common';
import * as oauth from 'openid-client';
import { fetch as undiciFetch } from 'undici';
import { UpstreamConfig } from '../config/app-config.ts';
import { codeModules } from '../config/taught-codes.ts';
import { SECRET_TEXT } from '../config/secret.ts';
import { bytesOfFile, SettingsFileError } from '../config/settings-file.ts';
import { FollowedFiles } from '../observability/followed-files.ts';
import { UpstreamPools } from '../transport/upstream-pools.ts';
import { type AccessToken, accessToken, type Principal } from './principal.ts';
import { readTokenAnswer, type TokenAnswer } from './token-answer.ts';
import { SECRET_REFUSED, TokenFailure } from './token-failure.ts';

const SECRET_FILE = 'UPSTREAM_APP_SECRET_FILE';
const TIMEOUT_S = 5;
const MAX_RESPONSE_BYTES = 64 * 1024;
/** Node's codes for a content coding that cannot be decoded: gzip and deflate, Brotli, Zstandard. */
const BROKEN_CODING = /^(Z_|ERR__|ZSTD_)/;

interface Grant {
  readonly send: (client: oauth.Configuration) => Promise<oauth.TokenEndpointResponse>;
  /** The owner of the token. */
  readonly of: 'application' | 'user';
  readonly withPassword?: boolean;
}

/**
 * Sends requests for tokens. It keeps nothing and repeats nothing, except that it tries the last secret that has worked while the
 * application's secret is being changed.
 */
@Injectable()
export class TokenEndpoint implements OnModuleInit {
  /** Receives every whole response before it is read. Must not throw. */
  seen: ((answer: TokenAnswer) => void) | undefined;

  constructor(
    private readonly config: UpstreamConfig,
    private readonly pools: UpstreamPools,
    private readonly files: FollowedFiles,
  ) {}

  onModuleInit(): void {
    const { appSecret, appSecretFile: path } = this.config;
    if (path === undefined) return;
    // The file is also read at once, because it may have changed since the configuration was read.
    this.files.settings({ name: 'secret', variable: SECRET_FILE, path, read: readSecret }, (secret) => {
      appSecret.rotate(secret);
      return undefined;
    });
  }

  /**
   * Requests the application's token for a scope, or a configured user's. It uses the refresh token if there is one, or else the password.
   */
  request(principal: Principal, refreshToken?: string): Promise<AccessToken> {
    if (principal.kind === 'application') {
      const scope = this.#scope(principal.scope);
      return this.#grant({
        send: (client) => oauth.clientCredentialsGrant(client, scope),
        of: 'application',
      });
    }
    return refreshToken === undefined
      ? this.login(principal.username, principal.password.reveal())
      : this.refresh(refreshToken);
  }

  /** Requests a token with a password (RFC 6749 4.3). OAuth 2.1 has dropped this grant, but the platform requires it. */
  login(username: string, password: string): Promise<AccessToken> {
    const form = { username, password, ...this.#scope(this.config.scopes.user) };
    return this.#grant({
      send: (client) => oauth.genericGrantRequest(client, 'password', form),
      of: 'user',
      withPassword: true,
    });
  }

  /** Requests a token with a refresh token (RFC 6749 6). The response may contain another refresh token, which replaces this one. */
  async refresh(refreshToken: string): Promise<AccessToken> {
    const token = await this.#grant({
      send: (client) => oauth.refreshTokenGrant(client, refreshToken),
      of: 'user',
    });
    return { refreshToken, ...token };
  }

  #scope(scope: string | undefined): { scope?: string } {
    const isSent = scope !== undefined && this.config.profile.of('tokenScope') !== 'refused';
    return isSent ? { scope } : {};
  }

  async #grant(grant: Grant): Promise<AccessToken> {
    const { appSecret } = this.config;
    const [current = '', previous] = appSecret.candidates;
    try {
      const token = await this.#ask(current, grant);
      appSecret.settled(current);
      return token;
    } catch (error) {
      const wrongSecret = error instanceof TokenFailure && error.reason === SECRET_REFUSED;
      if (!wrongSecret || previous === undefined) throw error;
      const token = await this.#ask(previous, grant);
      appSecret.settled(previous);
      return token;
    }
  }

  async #ask(secret: string, grant: Grant): Promise<AccessToken> {
    try {
      const answer = await grant.send(this.#client(secret, grant));
      const { access_token: value, lifetime, refresh_token: refreshToken } = answer;
      const token = accessToken(value, lifetime);
      if (token) return refreshToken === undefined ? token : { ...token, refreshToken };
    } catch (error) {
      throw asTokenFailure(error);
    }
    throw new TokenFailure('unavailable', 'unusable_token');
  }

  #client(secret: string, { of, withPassword = false }: Grant): oauth.Configuration {
    const { tokenUrl, tokenAuth, appKey, profile } = this.config;
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
      const { status, headers } = response;
      // The library checks a response strictly by RFC 6749, so the gateway passes it the parts that it has read itself.
      const answer = { status, headers, body: await boundedBody(response) };
      this.seen?.(answer);
      const token = readTokenAnswer(answer, {
        ...{ of, withPassword },
        taught: (code) => codeModules.some((module) => profile.taught(module, code) === 'credentials'),
      });
      return Response.json({ token_type: 'Bearer', ...token });
    };
    return client;
  }
}

function readSecret(path: string): string {
  const secret = bytesOfFile(path).toString().trim();
  if (SECRET_TEXT.test(secret)) return secret;
  throw new SettingsFileError('it is empty, or no UTF-8 text of one line');
}

type UndiciResponse = Awaited<ReturnType<typeof undiciFetch>>;

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
  const { code } = (cause ?? {}) as { code?: unknown };
  return typeof code === 'string' && BROKEN_CODING.test(code)
    ? new TokenFailure('unavailable', 'unusable_answer', { cause: error })
    : new TokenFailure('unavailable', 'no_answer', { ofEndpoint: true, cause: error });
}
