import { type ArgumentsHost, Catch, type ExceptionFilter, HttpException, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { errorSummary } from '../observability/error-summary.ts';
import { Log } from '../observability/log.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { logFields, ProblemException } from '../problem/problem.exception.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { AllowedMethods } from './allowed-methods.ts';
import { unsupportedType } from './request-bodies.ts';
import { hasDecodablePath } from './request-target.ts';

/** The error codes of a stream whose connection ended before the stream did. */
const HUNG_UP: ReadonlySet<unknown> = new Set(['ECONNRESET', 'ERR_STREAM_PREMATURE_CLOSE']);
/** The problems of refusals of the HTTP layer itself, by status. */
const BY_STATUS: Readonly<Record<number, ProblemSlug>> = {
  400: 'validation-failed',
  404: 'not-found',
  413: 'payload-too-large',
  414: 'uri-too-long',
  415: 'unsupported-media-type',
  431: 'headers-too-large',
};

const NO_SUCH_PATH = 'No operation has this path.';
const NO_DRY_RUN = 'This operation has no dry run. These are all:';
const WHERE_ALL_ARE = ' `/docs` shows all of them, `/openapi.json` has them for programs.';

@Catch()
@Injectable()
export class ProblemFilter implements ExceptionFilter {
  constructor(
    private readonly allowed: AllowedMethods,
    private readonly log: Log,
  ) {}

  catch(error: unknown, host: ArgumentsHost): void {
    const http = host.switchToHttp();
    const request = http.getRequest<FastifyRequest>();
    const known = asProblem(error);
    const problem = known instanceof ProblemException ? known : this.#translate(error, request);
    sendProblem(problem, request, http.getResponse<FastifyReply>());
  }

  #translate(error: unknown, request: FastifyRequest): ProblemException {
    const status =
      error instanceof HttpException
        ? error.getStatus()
        : (error as { statusCode?: number } | null)?.statusCode;
    // The path decides first, even if the HTTP layer has refused the body already.
    if (status === 404 || request.is404) {
      if (!hasDecodablePath(request.originalUrl))
        return new ProblemException('validation-failed', {
          errors: [{ parameter: 'path', detail: 'must be percent-encoded UTF-8' }],
        });
      const allow = this.allowed.find(request.url);
      const isDryRun = request.method === 'POST' && this.allowed.otherDryRuns(request.url) !== undefined;
      if (allow.length > 0 && !isDryRun) return methodNotAllowed(request.method, allow);
      return new ProblemException('not-found', { detail: this.#noSuchPath(request) });
    }
    // Other refusals of the HTTP layer (a file outside the documentation's folder) become 404.
    const slug = BY_STATUS[status ?? 500] ?? (status && status < 500 ? 'not-found' : undefined);
    // Fastify itself refuses a header that does not have the form of a type.
    if (slug === 'unsupported-media-type')
      return new ProblemException(slug, { errors: [unsupportedType(request)] });
    if (slug) return new ProblemException(slug);
    // The caller hung up while its file was read or while rows were made for it. That is no fault of the gateway, and no response can
    // arrive.
    const isGone = !request.raw.complete || request.raw.socket.destroyed;
    if (isGone && HUNG_UP.has((error as NodeJS.ErrnoException | null)?.code))
      return new ProblemException('validation-failed', { cause: error });
    this.#logInternal(error, request);
    return new ProblemException('internal-error', { cause: error });
  }

  /** Tells where all paths are documented, and tells a known caller the nearest path. An unknown client learns no paths. */
  #noSuchPath({ url, stages }: FastifyRequest): string {
    const dryRuns = stages.identified && this.allowed.otherDryRuns(url);
    if (dryRuns) return `${NO_DRY_RUN} ${dryRuns.map((path) => `\`POST ${path}\``).join(', ')}.`;
    const nearest = stages.identified && this.allowed.nearest(url);
    const isDocumented = this.allowed.find('/openapi.json').length > 0;
    const hint = nearest === undefined ? '' : ` The nearest is \`${nearest}\`.`;
    return `${NO_SUCH_PATH}${hint}${isDocumented ? WHERE_ALL_ARE : ''}`;
  }

  #logInternal(error: unknown, request: FastifyRequest): void {
    this.log.error(
      { event: 'internal-error', requestId: request.stages.arrived.requestId, ...errorSummary(error) },
      'A request failed inside the gateway',
    );
  }
}

function methodNotAllowed(method: string, allow: readonly string[]): ProblemException {
  return new ProblemException('method-not-allowed', {
    detail: `The path exists, but not with ${method}. It has ${allow.join(', ')}.`,
    allow,
  });
}

/** Sends a problem, and keeps its fields for the log line of the request. */
export function sendProblem(problem: ProblemException, request: FastifyRequest, reply: FastifyReply): void {
  const { body } = problem;
  if (!request.stages.failed) request.stages.pass('failed', { fields: logFields(problem) });
  void reply
    .status(body.status)
    .headers(problem.headers)
    .type('application/problem+json')
    .send(problem.bodyFor(request.stages.arrived.requestId));
}
