import { randomBytes } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { SingleFlight } from '../kit/single-flight/single-flight.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { AccessToken } from '../token/principal.ts';
import type { TokenEndpoint } from '../token/token.endpoint.ts';
import { TokenFailure } from '../token/token-failure.ts';
import { inWaitTime, TokenManager } from '../token/token.manager.ts';
import type { ActingUser, CallContext } from '../request/call-context.ts';
import { type SessionRecord, SessionStore, type StoredSession } from './session.store.ts';

const ID_BYTES = 16;
const SESSION_ID = /^[A-Za-z0-9_-]{22}$/;
/** The longest life of a session. With refresh tokens it could last forever; a working day is enough. */
const MAX_LIFE_MS = 12 * 3600 * 1000;

/** Manages sessions of the platform's users. A password opens a session and is not kept. A refresh token renews the session. */
@Injectable()
export class SessionService {
  readonly #renewals = new SingleFlight<AccessToken>();

  constructor(
    private readonly store: SessionStore,
    private readonly tokens: TokenManager,
    private readonly config: UpstreamConfig,
  ) {}

  async open(
    { caller }: CallContext,
    username: string,
    password: string,
  ): Promise<{ sessionId: string; record: SessionRecord }> {
    this.store.assertUsable();
    // The question for the time shows that the store responds, before anything is sent.
    const createdAt = await this.store.now();
    const token = await this.#login(caller.name, username, password);
    const lifeMs = token.refreshToken === undefined ? token.usableMs : MAX_LIFE_MS;
    const leftAtTokenEndMs = lifeMs - token.usableMs;
    const sessionId = randomBytes(ID_BYTES).toString('base64url');
    const record = {
      username,
      caller: caller.name,
      createdAt,
      expiresAt: createdAt + lifeMs,
      token,
      leftAtTokenEndMs,
    };
    await this.store.open(this.store.keyOf(sessionId), record, lifeMs);
    return { sessionId, record };
  }

  /** Throws `session-expired` if the session is unknown, has ended or belongs to another caller. The response does not tell which. */
  async find(sessionId: string, caller: string): Promise<StoredSession & { key: string }> {
    // Node joins the values of repeated headers.
    if (sessionId.includes(', '))
      throw new ProblemException('validation-failed', {
        errors: [{ parameter: 'X-Session-Id', detail: 'must be given once' }],
      });
    const key = this.store.keyOf(sessionId);
    const stored = SESSION_ID.test(sessionId) ? await this.store.read(key) : undefined;
    if (stored?.record.caller !== caller) throw expired();
    return { key, ...stored };
  }

  async end(sessionId: string, { caller }: CallContext): Promise<void> {
    const { key } = await this.find(sessionId, caller.name);
    await this.store.remove(key);
  }

  async actingUser(sessionId: string, caller: string): Promise<ActingUser> {
    const stored = await this.find(sessionId, caller);
    const { key } = stored;
    const { username } = stored.record;
    let { token } = stored.record;
    // From here on the monotonic clock of this process is used, because a request is short.
    let tokenEndsAt = performance.now() + tokenLeftMs(stored);
    let refusedVersion: string | undefined;
    return {
      kind: 'session',
      sessionId,
      username,
      name: key,
      token: async (waitMs) => {
        if (token.version === refusedVersion || performance.now() >= tokenEndsAt) {
          token = await this.#renewed(key, refusedVersion, waitMs);
          tokenEndsAt = performance.now() + token.usableMs;
        }
        return token;
      },
      refused: (version) => {
        refusedVersion = version;
        return Promise.resolve(true);
      },
    };
  }

  /** Returns the user of a response that takes long. Before each of its calls, the session is looked up again, because it may have ended. */
  lookedUpAgain(user: ActingUser, caller: string): ActingUser {
    const { sessionId } = user;
    if (sessionId === undefined) return user;
    const token = async (waitMs: number) => {
      await this.find(sessionId, caller);
      return user.token(waitMs);
    };
    return { ...user, token };
  }

  /** Waits for `waitMs` at most. The renewal goes on after that, so that the next call of the session finds its token. */
  #renewed(key: string, refusedVersion: string | undefined, waitMs: number): Promise<AccessToken> {
    const giveUpAt = performance.now() + waitMs;
    const renewal = this.#renewals.run(key, () =>
      this.store.exclusively(key, giveUpAt, () => this.#renew(key, refusedVersion)),
    );
    return inWaitTime(waitMs, renewal);
  }

  /**
   * Renews a session. If another replica has renewed it first, it returns that replica's token, so that the refresh token is not used
   * twice.
   */
  async #renew(key: string, refusedVersion: string | undefined): Promise<AccessToken> {
    const stored = await this.store.read(key);
    if (!stored) throw expired();
    const { token } = stored.record;
    if (token.version !== refusedVersion && tokenLeftMs(stored) > 0) return token;
    const next =
      token.refreshToken === undefined
        ? undefined
        : await this.#refreshed(stored.record.caller, token.refreshToken);
    const record = next && {
      ...stored.record,
      token: next,
      leftAtTokenEndMs: stored.leftMs - next.usableMs,
    };
    // Without a new token the session ends, unless another replica has renewed it meanwhile: its refresh token may work only once.
    const isReplaced = await this.store.replace(key, stored, record);
    const valid = isReplaced ? record : (await this.store.read(key))?.record;
    if (!valid) throw expired();
    return valid.token;
  }

  /** Returns undefined if the platform refuses the refresh token. */
  async #refreshed(caller: string, refreshToken: string): Promise<AccessToken | undefined> {
    try {
      return await this.tokens.forSession((endpoint) => endpoint.refresh(refreshToken), { caller });
    } catch (error) {
      if (isOfUser(error)) return undefined;
      throw error;
    }
  }

  async #login(caller: string, username: string, password: string): Promise<AccessToken> {
    try {
      const login = (endpoint: TokenEndpoint) => endpoint.login(username, password);
      return await this.tokens.forSession(login, { caller, waitMs: this.config.deadlineMs });
    } catch (error) {
      if (isOfUser(error)) throw new ProblemException('login-failed');
      throw error;
    }
  }
}

/** True if the platform refuses the user (RFC 6749 5.2). Every other refusal concerns the gateway itself. */
function isOfUser(error: unknown): boolean {
  return error instanceof TokenFailure && error.reason === 'invalid_grant';
}

function tokenLeftMs({ record, leftMs }: StoredSession): number {
  return leftMs - record.leftAtTokenEndMs;
}

function expired(): ProblemException {
  return new ProblemException('session-expired');
}
