import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';
import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext, Grants } from '../request/call-context.ts';
import { CallerRegistry } from './caller.registry.ts';
import type { Caller } from '../request/caller.ts';
import { ClientCertificates } from './client-certificates.ts';
import { JwtCallers, type TokenFault } from './jwt-callers.ts';
import type { Scope } from '../request/scopes.ts';
import { grantsWith } from './standing.ts';
import { CALLER_CLAIMS_TEXT } from './token-claims.ts';

/** The scheme's name in any case (RFC 9110 11.1), and the text after it. */
const BEARER = /^bearer(?: +(.*))?$/is;
/** The credentials of a request: those in its headers, and the certificate of its connection. */
type Credentials = Pick<IncomingMessage, 'headers' | 'socket'>;

const API_KEY = /^lgw_/;
const TOKEN = /^(bearer +.*|[\w-]+\.[\w-]+\.[\w-]+)$/is;

const SEND_KEY = 'Send an API key in `X-Api-Key`.';
const SEND_EITHER = 'Send an API key in `X-Api-Key`, or a token in `Authorization: Bearer`.';

/**
 * The refusals, which are made once because the process may send thousands a second. They describe the fault in the form of credentials. A
 * key that was never issued, a removed one, and one with a missing letter get the same text, so that an attacker learns nothing about keys.
 */
const REFUSALS = {
  none: refusal(`The request has neither \`X-Api-Key\` nor \`Authorization\`. ${SEND_KEY}`),
  noneOfBoth: refusal(`The request has neither \`X-Api-Key\` nor \`Authorization\`. ${SEND_EITHER}`),
  both: refusal('The request has an API key and an Authorization header. Send one of them.'),
  twoCallers: refusal(
    'The credential in the headers and the client certificate are of two callers. Use those of one of them.',
  ),
  keyTwice: refusal(
    'The request has the header `X-Api-Key` more than once: perhaps a proxy adds one. Send it once.',
  ),
  emptyKey: refusal(`The header \`X-Api-Key\` is empty. ${SEND_KEY}`),
  wrongKey: refusal(
    'The API key in `X-Api-Key` is not valid: no caller of this gateway has it. Send the whole key as it was issued; a removed key is not valid any more.',
  ),
  keyAsToken: refusal('An API key belongs in the header `X-Api-Key`, without `Bearer`.'),
  tokenAsKey: refusal('A token belongs in the header `Authorization`, after `Bearer`.'),
  noTokens: refusal(
    'This gateway accepts no tokens, since no issuer is configured. Send an API key in `X-Api-Key`.',
  ),
  otherScheme: refusal(
    'The `Authorization` header must be `Bearer` and a token. An API key belongs in `X-Api-Key`.',
  ),
} as const;

/** The refusals of tokens. A claim is named only after the issuer's signature was verified. */
const TOKEN_REFUSALS: Readonly<Record<TokenFault, ProblemException>> = {
  form: refusal('The token is not a signed JWT: three parts of base64url with dots between them.'),
  header: refusal(
    'The header of the token is not accepted: it must have `kid`, an asymmetric `alg` and, if any, `typ` JWT or at+jwt, and no `jku`, `jwk`, `x5u`, `x5c` or `crit`.',
  ),
  signature: refusal('The token is not signed by a key of the issuer that this gateway trusts.'),
  expired: refusal('The token has expired: its `exp` is over. Get a new one.'),
  early: refusal('The token is not valid yet: its `nbf` lies ahead.'),
  issuer: refusal('The `iss` of the token is not the issuer that this gateway trusts, letter by letter.'),
  audience: refusal('The `aud` of the token does not name this gateway.'),
  claims: refusal('A claim of the token is missing or has another form: `exp` must be a number.'),
  caller: refusal(
    `The token is valid, but the gateway has no caller of that name (the first of ${CALLER_CLAIMS_TEXT} that is there).`,
  ),
};

const REALM = 'realm="licensing-gateway"';

/** Identifies the caller once the headers of a request have arrived, before its body. */
@Injectable()
export class CallerAuthentication {
  constructor(
    private readonly registry: CallerRegistry,
    private readonly jwts: JwtCallers,
    private readonly certificates: ClientCertificates,
  ) {}

  /** Returns the caller of a known key, of a token that was verified before, or of the connection's certificate. This costs one hash. */
  recognised({ headers, socket }: Credentials): Caller | undefined {
    const key = headers['x-api-key'];
    if (key !== undefined && headers.authorization !== undefined) return undefined;
    const token = bearerOf(headers);
    const shown = this.certificates.callersOf(socket);
    if (token === undefined && key === undefined) return shown.length === 1 ? shown[0] : undefined;
    const known =
      token === undefined ? typeof key === 'string' && this.registry.byKey(key) : this.jwts.recognised(token);
    return known && areOf(shown, known) ? known : undefined;
  }

  /** True if the request has a token whose signature must be checked. */
  hasToken(headers: IncomingHttpHeaders): boolean {
    // A request with two credentials is refused, because a server in between may have added one.
    return this.jwts.accepted && bearerOf(headers) !== undefined && headers['x-api-key'] === undefined;
  }

  /** Returns the caller of a token that was not verified before, or the reason why it has none. */
  async verified({ headers, socket }: Credentials): Promise<Caller | ProblemException> {
    const token = bearerOf(headers) ?? '';
    if (API_KEY.test(token)) return REFUSALS.keyAsToken;
    const found = await this.jwts.verified(token);
    if (typeof found === 'string') return TOKEN_REFUSALS[found];
    return areOf(this.certificates.callersOf(socket), found) ? found : REFUSALS.twoCallers;
  }

  /**
   * Returns the present rights of these credentials, for a response that goes on after its request was authorised. Undefined if they grant
   * nothing with this scope. `begunBy` is the caller of the request, if its response comes to an end by itself: it is completed although the
   * token expires meanwhile, or its issuer cannot be reached.
   */
  async grantsNow(
    credentials: Credentials,
    scope: Scope,
    begunBy?: CallContext['caller'],
  ): Promise<Grants | undefined> {
    const known = this.recognised(credentials);
    if (known || !this.hasToken(credentials.headers)) return grantsWith(scope, known);
    const verdict = await this.verified(credentials).catch(() => undefined);
    if (begunBy && (verdict === undefined || verdict === TOKEN_REFUSALS.expired))
      return grantsWith(scope, this.jwts.present(begunBy));
    return verdict instanceof ProblemException ? undefined : grantsWith(scope, verdict);
  }

  /** Tells why a request without a token to verify has no caller. */
  refusal({ 'x-api-key': key, authorization }: IncomingHttpHeaders): ProblemException {
    const token = bearerOf({ authorization });
    if (typeof key === 'string') {
      if (authorization !== undefined) return REFUSALS.both;
      if (key === '') return REFUSALS.emptyKey;
      if (this.registry.byKey(key)) return REFUSALS.twoCallers;
      // Node joins the values of repeated headers, and no key contains a comma.
      if (key.includes(', ')) return REFUSALS.keyTwice;
      return TOKEN.test(key) ? REFUSALS.tokenAsKey : REFUSALS.wrongKey;
    }
    if (authorization === undefined) return this.jwts.accepted ? REFUSALS.noneOfBoth : REFUSALS.none;
    if (token === undefined) return REFUSALS.otherScheme;
    return API_KEY.test(token) ? REFUSALS.keyAsToken : REFUSALS.noTokens;
  }

  /**
   * Returns the `WWW-Authenticate` header of a 401 (RFC 9110 11.6.1, RFC 6750 3). The credentials of a known caller are valid, and something
   * else is missing, such as a session.
   */
  challenge(headers: IncomingHttpHeaders, isKnown: boolean): string {
    const key = `ApiKey ${REALM}`;
    if (!this.jwts.accepted) return key;
    const isRefused = !isKnown && bearerOf(headers) !== undefined;
    return `${key}, Bearer ${REALM}${isRefused ? ', error="invalid_token"' : ''}`;
  }
}

function refusal(detail: string): ProblemException {
  return new ProblemException('unauthenticated', { detail });
}

/** True if all of these are this caller. The callers of tokens are made of an entry, so their names are compared. */
function areOf(callers: readonly Caller[], { name }: Caller): boolean {
  return callers.every((each) => each.name === name);
}

/** Returns the text after the scheme. Undefined for another scheme. */
function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  return bearer ? (bearer[1] ?? '') : undefined;
}
