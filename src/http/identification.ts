import { Injectable } from '@nestjs/common';
import type { FastifyError, FastifyReply, FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../caller/caller-authentication.ts';
import { CallerLimits } from '../caller/caller-limits.ts';
import { ClientCertificates } from '../caller/client-certificates.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { Generations } from '../read-cache/read-keys.ts';
import type { Caller } from '../request/caller.ts';
import { Admission } from './admission.ts';
import { Connections } from './connections.ts';
import { sendProblem } from './problem.filter.ts';
import { RequestBodies } from './request-bodies.ts';
import { hasBody } from './server-limits.ts';

export type Done = (error?: FastifyError) => void;

/** Gives a request of a known caller what it needs, within the limits of its caller and of the process. */
@Injectable()
export class CallerAdmission {
  constructor(
    private readonly limits: CallerLimits,
    private readonly admission: Admission,
    private readonly connections: Connections,
    private readonly bodies: RequestBodies,
    private readonly generations: Generations,
  ) {}

  admit(caller: Caller, request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { stages, params, routeOptions } = request;
    this.connections.known(request.raw.socket);
    const { atEnd } = stages.arrived;
    atEnd.push(this.admission.enterFromCaller());
    const overload = this.admission.refusal();
    const full = overload ?? this.#bodyOf(request, caller);
    const generation =
      routeOptions.config.isCached && !full ? this.generations.ask(params as object) : undefined;
    // A request whose body is refused counts for the rate of its caller, too.
    const verdict = overload ?? this.limits.admit(caller, reply, atEnd);
    const goOn = (problem: ProblemException | undefined = full): void =>
      problem ? sendProblem(problem, request, reply) : done();
    stages.pass('identified', { caller, generation });
    if (verdict instanceof Promise) verdict.then(goOn).then(undefined, done);
    else goOn(verdict);
  }

  #bodyOf(request: FastifyRequest, caller: Caller): ProblemException | undefined {
    if (!hasBody(request.raw)) return undefined;
    request.stages.arrived.atEnd.push(() => this.bodies.closed(request));
    return this.bodies.admit(request, caller);
  }
}

/** Finds out whose request it is. */
@Injectable()
export class Identification {
  constructor(
    private readonly callers: CallerAuthentication,
    private readonly certificates: ClientCertificates,
    private readonly admission: Admission,
    private readonly ofCallers: CallerAdmission,
  ) {}

  /** Adds the caller, if the route has one, before the body is read. The gateway reads no body of an unknown client. */
  identify(request: FastifyRequest, reply: FastifyReply, done: Done): void {
    const { headers, raw } = request;
    const access = accessTo(request);
    const known = access === 'callers' ? this.callers.recognised(raw) : undefined;
    if (known) return this.ofCallers.admit(known, request, reply, done);
    const full = access === 'health' ? undefined : this.admission.refusal();
    if (full) return sendProblem(full, request, reply);
    if (access !== 'callers') return done();
    const stranger = (why?: ProblemException): void => {
      if (request.is404) return done();
      if (this.certificates.tellRefused(raw.socket, request.stages.arrived.requestId))
        void reply.header('connection', 'close');
      sendProblem(why ?? this.callers.refusal(headers), request, reply);
    };
    if (!this.callers.hasToken(headers)) return stranger();
    this.callers
      .verified(raw)
      .then((caller) => {
        // A caller that has hung up is not counted, because its response is closed already.
        if (reply.raw.closed) return;
        if (caller instanceof ProblemException) stranger(caller);
        else this.ofCallers.admit(caller, request, reply, done);
      })
      // This also catches failures in the handler of the verdict.
      .then(undefined, done);
  }

  /** Returns the value of `WWW-Authenticate`. It calls a token invalid only if the request has no caller. */
  challenge({ headers, stages }: FastifyRequest): string {
    return this.callers.challenge(headers, stages.identified !== undefined);
  }
}

/**
 * Returns the kind of client that a route serves. The route's template decides, so that another spelling of the path changes nothing. No
 * public route accepts a body.
 */
function accessTo({ routeOptions: { url = '' } }: FastifyRequest): 'callers' | 'health' | 'public' {
  // An operator must always be able to see the state.
  if (url.startsWith('/health/')) return 'health';
  return /^\/(?:(problems|docs|estate|openapi|postman-collection)(\W|$)|$)/.test(url) ? 'public' : 'callers';
}
