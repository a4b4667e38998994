import { firstValueFrom } from 'rxjs';
import type { UpstreamConfig } from '../config/app-config.ts';
import type { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { type Principal, principalName, type UserPrincipal } from '../token/principal.ts';
import { TokenEndpoint } from '../token/token.endpoint.ts';
import { TokenFailure } from '../token/token-failure.ts';
import { TransportError } from '../transport/exchange.ts';
import { UndiciHttpService, UpstreamPools } from '../transport/upstream-pools.ts';
import { type Classified, classify, type WireResponse } from '../upstream/classify.ts';
import { freshNonce, tokenHeader } from '../upstream/credential-forms.ts';
import { type OperationName, operations } from '../upstream/operations.ts';
import { type UpstreamRequest, upstreamPath } from '../upstream/upstream.exchange.ts';

/** The platform cannot be asked. The message is one sentence that says what to do. */
export class CannotAsk extends Error {
  override readonly name = 'CannotAsk';
}

interface Question extends Pick<UpstreamRequest, 'ids' | 'query' | 'body'> {
  /** In place of a new one. */
  readonly nonce?: string;
  /** In place of the user's token; null: without one. */
  readonly userToken?: string | null;
}

/** A response as the gateway reads it, and what the gateway reads over. */
export type Answer = Classified & {
  readonly status: number;
  /** The date that the platform gave the response, in ms since the epoch. */
  readonly sentAt: number | undefined;
  /** Of a refusal: whether its code is a text or a number. */
  readonly codeIs: 'text' | 'number';
};

/** A token has ended: it is tried once with a new one. */
const EXPIRED: ReadonlySet<string> = new Set(['60000', '60005']);
/** The platform is out of order: that answers no question. */
const OUT_OF_ORDER: ReadonlySet<string> = new Set(['500', '80001']);
const CERTIFICATE = /CERT|SELF_SIGNED|UNABLE_TO_|ALTNAME/;

/** Asks the platform over the gateway's own connections and tokens, one call after the other. */
export class Platform {
  readonly #pools: UpstreamPools;
  readonly #http: UndiciHttpService;
  readonly #endpoint: TokenEndpoint;
  readonly #tokens = new Map<string, string>();
  /** For how long a new token is used, in seconds, by its name. */
  readonly lifetimes = new Map<string, number>();

  constructor(
    private readonly config: UpstreamConfig,
    private readonly user: UserPrincipal | undefined,
    log: Log,
  ) {
    this.#pools = new UpstreamPools(config, new Metrics());
    this.#http = new UndiciHttpService(this.#pools);
    this.#endpoint = new TokenEndpoint(config, this.#pools, log);
  }

  close(): Promise<void> {
    return this.#pools.destroy();
  }

  get hasUser(): boolean {
    return this.user !== undefined;
  }

  /** Whether a user's token comes with a refresh token, and that gives another token. */
  async refreshes(): Promise<boolean> {
    const { user } = this;
    if (!user) return false;
    const ask = async () => {
      const { refreshToken } = await this.#endpoint.request(user);
      if (refreshToken !== undefined) await this.#endpoint.refresh(refreshToken);
      return refreshToken !== undefined;
    };
    return this.#reached('UPSTREAM_TOKEN_URL', ask, user);
  }

  /** Throws {@link CannotAsk} where there is no whole response of the platform. */
  async ask(name: OperationName, question: Question = {}, isRepeated = false): Promise<Answer> {
    const operation = operations[name];
    const { scopes, profile } = this.config;
    const { ids, query, body, nonce = freshNonce(profile.of('nonceForm')) } = question;
    const isMember = operation.module === 'member';
    const token = await this.#token({ kind: 'application', scope: isMember ? scopes.member : scopes.order });
    const { userToken = isMember && this.user ? await this.#token(this.user) : null } = question;
    const response = await this.#reached('UPSTREAM_BASE_URL', () =>
      firstValueFrom(
        this.#http.request<Buffer>({
          url:
            this.config.baseUrl.pathname.replace(/\/+$/, '') +
            upstreamPath(operation, { ids, query: { ...query, g_nonce: nonce } }),
          method: operation.method,
          headers: {
            accept: 'application/json',
            'accept-encoding': 'identity',
            authorization: `Bearer ${token}`,
            'content-type': 'application/json',
            ...(isMember && { clientToken: tokenHeader(profile.of('clientToken'), token) }),
            ...(userToken !== null && { userToken: tokenHeader(profile.of('userToken'), userToken) }),
          },
          data: body && JSON.stringify(body),
          timeout: operation.placesOrders ? this.config.orderDeadlineMs : this.config.deadlineMs,
          group: operation.group === 'orders' ? 'orderWrites' : operation.group,
        }),
      ),
    );
    const { status, headers, data } = response;
    const answer = classify({ status, headers: headers as WireResponse['headers'], body: data });
    const code = answer.kind === 'success' ? undefined : answer.details.code;
    if (answer.kind === 'unauthorized' || (code !== undefined && EXPIRED.has(code))) {
      // A code says that nothing was done; a status says so of reads only.
      const isUndone = code !== undefined || operation.effect === 'read';
      const isFirst = isUndone && question.userToken === undefined && !isRepeated;
      this.#tokens.clear();
      if (isFirst) return this.ask(name, question, true);
      if (answer.kind === 'unauthorized')
        throw new CannotAsk(
          `The platform refuses the application with HTTP ${status}: check its scopes and rights.`,
        );
    }
    if (code !== undefined && OUT_OF_ORDER.has(code))
      throw new CannotAsk(
        `The platform answers ${name} with code ${code}: wait until it works, and run this again.`,
      );
    if (answer.kind === 'unreadable')
      throw new CannotAsk(
        `UPSTREAM_BASE_URL answers ${operation.method} ${operation.path} with HTTP ${status} and no JSON of the interface: check the URL, and what stands in front of the platform.`,
      );
    if (answer.kind === 'unavailable')
      throw new CannotAsk(
        `The platform answers with HTTP ${status}: wait until it works, and run this again.`,
      );
    const date = Date.parse(String(headers['date'] ?? ''));
    return { ...answer, status, sentAt: Number.isNaN(date) ? undefined : date, codeIs: codeTypeOf(data) };
  }

  async #token(principal: Principal): Promise<string> {
    const name = principalName(principal);
    const known = this.#tokens.get(name);
    if (known !== undefined) return known;
    const ask = () => this.#endpoint.request(principal);
    const { value, usableMs } = await this.#reached('UPSTREAM_TOKEN_URL', ask, principal);
    this.lifetimes.set(name, Math.round(usableMs / 1_000));
    this.#tokens.set(name, value);
    return value;
  }

  async #reached<T>(
    variable: 'UPSTREAM_BASE_URL' | 'UPSTREAM_TOKEN_URL',
    call: () => Promise<T>,
    principal?: Principal,
  ): Promise<T> {
    try {
      return await call();
    } catch (error) {
      if (error instanceof TokenFailure && error.kind === 'rejected')
        throw new CannotAsk(refused(error, principal));
      if (error instanceof TokenFailure || error instanceof TransportError)
        throw new CannotAsk(notReached(variable, error));
      throw error;
    }
  }
}

function refused({ reason }: TokenFailure, principal: Principal | undefined): string {
  if (principal?.kind === 'user')
    return `The token endpoint refuses the user \`${principal.alias}\` of UPSTREAM_USERS_FILE (${reason}): check its name and password.`;
  if (reason === 'invalid_scope')
    return `The application has no scope ${principal?.scope}: ask the platform's operator for it, or name another one in UPSTREAM_ORDER_SCOPE or UPSTREAM_MEMBER_SCOPE. Set both to nothing if the platform takes no scope.`;
  return `The token endpoint refuses the application (${reason}): check UPSTREAM_APP_KEY and UPSTREAM_APP_SECRET, and try UPSTREAM_TOKEN_AUTH=body.`;
}

function notReached(variable: string, error: TokenFailure | TransportError): string {
  const codes = codesOf(error);
  const code = codes[0] ?? (error instanceof TransportError ? error.kind : error.reason);
  if (codes.some((each) => CERTIFICATE.test(each)))
    return `${variable} shows a certificate that this machine does not trust (${code}): name its authority in UPSTREAM_TLS_CA_FILE.`;
  if (/TIMEOUT|timeout|timed/i.test(code))
    return `${variable} does not answer in time (${code}): check the address and the network.`;
  if (error instanceof TokenFailure && codes.length === 0)
    return `${variable} does not answer like a token endpoint (${code}): check the URL.`;
  return `${variable} cannot be reached (${code}): check the address, the port and the network.`;
}

/** The codes of the causes, the innermost first. */
function codesOf(error: unknown): string[] {
  if (!(error instanceof Error)) return [];
  const { code } = error as NodeJS.ErrnoException;
  const own =
    typeof code === 'string' && /^[A-Z_0-9]{3,40}$/.test(code) && !code.startsWith('OAUTH') ? [code] : [];
  return [...codesOf(error.cause), ...own];
}

function codeTypeOf(body: Buffer): 'text' | 'number' {
  try {
    return typeof (JSON.parse(body.toString()) as { code?: unknown } | null)?.code === 'number'
      ? 'number'
      : 'text';
  } catch {
    return 'text';
  }
}
