import type { IncomingHttpHeaders } from 'node:http';
import { Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { ProblemException } from '../problem/problem.exception.ts';
import { CallerLimits } from './caller-limits.ts';
import { CallerRegistry } from './caller.registry.ts';
import type { Caller } from './callers-file.ts';
import { JwtCallers } from './jwt-callers.ts';

type Refusal = ProblemException | undefined;

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

  /** Gives the problem where a known caller is refused. Whether an unknown one is, is up to the route. */
  arrived(request: FastifyRequest, reply: FastifyReply): Refusal | Promise<Refusal> {
    const caller = this.#callerOf(request.headers);
    return caller instanceof Promise
      ? caller.then((known) => this.#admit(known, request, reply))
      : this.#admit(caller, request, reply);
  }

  /** What `WWW-Authenticate` says with 401 (RFC 9110 11.6.1, RFC 6750 3); never which part of the credentials was wrong. */
  challenge(headers: IncomingHttpHeaders): string {
    const key = `ApiKey ${REALM}`;
    if (!this.jwts.accepted) return key;
    const refused = headers.authorization !== undefined && BEARER.test(headers.authorization);
    return `${key}, Bearer ${REALM}${refused ? ', error="invalid_token"' : ''}`;
  }

  #admit(
    caller: Caller | undefined,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Refusal | Promise<Refusal> {
    if (!caller) return undefined;
    request.state.caller = caller;
    return this.limits.admit(caller, reply);
  }

  /** Of two credentials none counts: whoever is in between may have added one. */
  #callerOf(headers: IncomingHttpHeaders): Caller | undefined | Promise<Caller | undefined> {
    const key = headers['x-api-key'];
    const bearer = headers.authorization === undefined ? null : BEARER.exec(headers.authorization);
    if (!bearer) return typeof key === 'string' ? this.registry.byKey(key) : undefined;
    return key === undefined ? this.jwts.of(bearer[1] ?? '') : undefined;
  }
}
