import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { PublicOperation } from '../operation/operation.decorator.ts';
import { problemDefinition, type ProblemSlug, problemSlugs, problemType } from '../problem/catalogue.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { ApiFixedContent, FixedContent } from './fixed-content.ts';
import { catalogueHtml, PAGE_POLICY, problemHtml } from './problem-pages.ts';
import { ProblemDescriptionDto, ProblemListDto, ProblemParams } from './problems.dto.ts';

/** The error catalogue: what a problem's `type` points to. JSON, or a page for a browser; the bytes of each are made once. */
@ApiTags('Meta')
@Controller('problems')
export class ProblemsController {
  readonly #catalogue = new Pair(
    () => ({ items: problemSlugs.map(describe) }),
    () => catalogueHtml(problemSlugs.map(describe)),
  );
  readonly #problems = new Map(
    problemSlugs.map((slug) => [
      slug as string,
      new Pair(
        () => describe(slug),
        () => problemHtml(describe(slug)),
      ),
    ]),
  );

  @Get()
  @PublicOperation(
    'listProblems',
    'All problems that this gateway sends',
    'JSON, or a page for a browser. It needs no key.',
  )
  @ApiFixedContent('The catalogue', ProblemListDto)
  listProblems(
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProblemListDto | Buffer | undefined> {
    return this.#catalogue.respond(request, reply);
  }

  @Get(':slug')
  @PublicOperation(
    'getProblem',
    'One problem: what it means and what to do',
    'JSON, or a page for a browser: the `type` of a problem leads here. It needs no key.',
    ['not-found'],
  )
  @ApiFixedContent('The problem', ProblemDescriptionDto)
  getProblem(
    @Param() { slug }: ProblemParams,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProblemDescriptionDto | Buffer | undefined> {
    const known = this.#problems.get(slug);
    if (!known) throw new ProblemException('not-found');
    return known.respond(request, reply);
  }
}

/** One thing as JSON and as a page. */
class Pair {
  #json?: FixedContent;
  #page?: FixedContent;

  constructor(
    private readonly value: () => object,
    private readonly html: () => string,
  ) {}

  respond(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
    void reply.header('vary', 'accept, accept-encoding');
    const content = wantsHtml(request.headers.accept)
      ? (this.#page ??= new FixedContent('text/html; charset=utf-8', this.html(), PAGE_POLICY))
      : (this.#json ??= new FixedContent('application/json; charset=utf-8', JSON.stringify(this.value())));
    return content.respond(request, reply);
  }
}

function describe(slug: ProblemSlug): ProblemDescriptionDto {
  const {
    statuses,
    title,
    outcome,
    outcomeVaries = false,
    retryable,
    meaning,
    remedy,
  } = problemDefinition(slug);
  return {
    type: problemType(slug),
    code: slug,
    title,
    statuses: [...statuses],
    outcome,
    outcomeVaries,
    retryable,
    meaning,
    remedy,
  };
}

/** A browser names text/html itself; every other client gets JSON. */
function wantsHtml(accept: string | undefined): boolean {
  return accept !== undefined && /\btext\/html\b/i.test(accept);
}
