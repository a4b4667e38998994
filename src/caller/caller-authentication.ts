import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { ProblemException } from '../problem/problem.exception.ts';
import { CallerLimits } from './caller-limits.ts';
import { CallerRegistry } from './caller.registry.ts';
import type { Caller } from './callers-file.ts';
import { JwtCallers } from './jwt-callers.ts';

export type Refusal = ProblemException | undefined;

/** The scheme's name in any case (RFC 9110 11.1), and the text after it. */
const BEARER = /^bearer(?: +(.*))?$/is;
const API_KEY = /^lgw_/;
const TOKEN = /^(bearer +.*|[\w-]+\.[\w-]+\.[\w-]+)$/is;

/** Made once: there may be thousands a second. They tell what is wrong with the form of credentials, never whether a key is known. */
const REFUSALS = {
  none: new ProblemException('unauthenticated'),
  both: refusal('The request has an API key and an Authorization header. Send one of them.'),
  keyAsToken: refusal('An API key belongs in the header `X-Api-Key`, without `Bearer`.'),
  tokenAsKey: refusal('A token belongs in the header `Authorization`, after `Bearer`.'),
  noTokens: refusal(
    'This gateway accepts no tokens, since no issuer is configured. Send an API key in `X-Api-Key`.',
  ),
  otherScheme: refusal(
    'The `Authorization` header must be `Bearer` and a token. An API key belongs in `X-Api-Key`.',
  ),
} as const;

const REALM = 'realm="licensing-gateway"';

/** Identifies the caller and applies its limits once the headers of a request have arrived, before its body. */
@Injectable()
export class CallerAuthentication {
  constructor(
    private readonly registry: CallerRegistry,
    private readonly jwts: JwtCallers,
    private readonly limits: CallerLimits,
  ) {}

  /** The caller of a known key or of a token that was verified before. This costs one hash. */
  recognised(headers: IncomingHttpHeaders): Caller | undefined {
    const key = headers['x-api-key'];
    const token = bearerOf(headers);
    if (token === undefined) return typeof key === 'string' ? this.registry.byKey(key) : undefined;
    return key === undefined ? this.jwts.recognised(token) : undefined;
  }

  /** Whether the request has a token whose signature must be checked. */
  hasToken(headers: IncomingHttpHeaders): boolean {
    // A request with two credentials is refused: a server in between may have added one.
    return this.jwts.accepted && bearerOf(headers) !== undefined && headers['x-api-key'] === undefined;
  }

  /** The caller of a token that was not verified before. */
  verified(headers: IncomingHttpHeaders): Promise<Caller | undefined> {
    return this.jwts.verified(bearerOf(headers) ?? '');
  }

  /** The caller whose credentials these are now: for a response that goes on after its request was authorised. */
  async current(headers: IncomingHttpHeaders): Promise<Caller | undefined> {
    const known = this.recognised(headers);
    if (known || !this.hasToken(headers)) return known;
    return this.verified(headers).catch(() => undefined);
  }

  /** Counts a request of this caller. Returns the problem where it exceeds a limit. */
  admit(caller: Caller, reply: FastifyReply): Refusal | Promise<Refusal> {
    return this.limits.admit(caller, reply);
  }

  /** Why a request has no caller. */
  refusal({ 'x-api-key': key, authorization }: IncomingHttpHeaders): ProblemException {
    if (authorization === undefined)
      return typeof key === 'string' && TOKEN.test(key) ? REFUSALS.tokenAsKey : REFUSALS.none;
    if (key !== undefined) return REFUSALS.both;
    const token = bearerOf({ authorization });
    if (token === undefined) return REFUSALS.otherScheme;
    if (API_KEY.test(token)) return REFUSALS.keyAsToken;
    return this.jwts.accepted ? REFUSALS.none : REFUSALS.noTokens;
  }

  /** The `WWW-Authenticate` header of a 401 (RFC 9110 11.6.1, RFC 6750 3). It never says which part of the credentials was wrong. */
  challenge(headers: IncomingHttpHeaders): string {
    const key = `ApiKey ${REALM}`;
    if (!this.jwts.accepted) return key;
    return `${key}, Bearer ${REALM}${bearerOf(headers) === undefined ? '' : ', error="invalid_token"'}`;
  }
}

function refusal(detail: string): ProblemException {
  return new ProblemException('unauthenticated', { detail });
}

/** The text after the scheme; undefined for another scheme. */
function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  return bearer ? (bearer[1] ?? '') : undefined;
}
