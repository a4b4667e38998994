import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { ProblemException } from '../problem/problem.exception.ts';
import { CallerLimits } from './caller-limits.ts';
import { CallerRegistry } from './caller.registry.ts';
import type { Caller } from './callers-file.ts';
import { JwtCallers } from './jwt-callers.ts';

export type Refusal = ProblemException | undefined;

/** The scheme's name in any case (RFC 9110 11.1), and whatever stands behind it. */
const BEARER = /^bearer(?: +(.*))?$/is;
const REALM = 'realm="licensing-gateway"';

/** Settles who calls and whether it may now, when the headers of a request are there and nothing else is. */
@Injectable()
export class CallerAuthentication {
  constructor(
    private readonly registry: CallerRegistry,
    private readonly jwts: JwtCallers,
    private readonly limits: CallerLimits,
  ) {}

  /** Who calls, where a key or a token that was verified before says so: this costs a hash. */
  recognised(headers: IncomingHttpHeaders): Caller | undefined {
    const key = headers['x-api-key'];
    const token = bearerOf(headers);
    if (token === undefined) return typeof key === 'string' ? this.registry.byKey(key) : undefined;
    return key === undefined ? this.jwts.recognised(token) : undefined;
  }

  /** Whether there is a token that may be worth a check of its signature. */
  hasToken(headers: IncomingHttpHeaders): boolean {
    // Of two credentials none counts: a server in between may have added one.
    return this.jwts.accepted && bearerOf(headers) !== undefined && headers['x-api-key'] === undefined;
  }

  /** Who calls by a token that was not seen before. */
  verified(headers: IncomingHttpHeaders): Promise<Caller | undefined> {
    return this.jwts.verified(bearerOf(headers) ?? '');
  }

  /** Counts a request of this caller. Gives the problem where it is one too many. */
  admit(caller: Caller, reply: FastifyReply): Refusal | Promise<Refusal> {
    return this.limits.admit(caller, reply);
  }

  /** What `WWW-Authenticate` says with 401 (RFC 9110 11.6.1, RFC 6750 3); never which part of the credentials was wrong. */
  challenge(headers: IncomingHttpHeaders): string {
    const key = `ApiKey ${REALM}`;
    if (!this.jwts.accepted) return key;
    return `${key}, Bearer ${REALM}${bearerOf(headers) === undefined ? '' : ', error="invalid_token"'}`;
  }
}

/** What stands behind the scheme; undefined where it is another one. */
function bearerOf({ authorization }: IncomingHttpHeaders): string | undefined {
  const bearer = authorization === undefined ? null : BEARER.exec(authorization);
  return bearer ? (bearer[1] ?? '') : undefined;
}
