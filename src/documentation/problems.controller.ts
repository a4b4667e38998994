import { Controller, Get, Param, Req, Res } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { ListenConfig } from '../config/app-config.ts';
import { PublicOperation } from '../operation/operation.decorator.ts';
import { commonTo, exampleOf } from '../operation/openapi/problem-responses.ts';
import {
  isProblem,
  problemDefinition,
  type ProblemSlug,
  problemSlugs,
  problemType,
} from '../problem/catalogue.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { lazily } from '../shared/lazily.ts';
import { explainedCodes } from '../upstream/problems/explained-codes.ts';
import { DeclaredProblems } from './declared-problems.ts';
import { ApiFixedContent, FixedContent, linked } from '../operation/fixed-content.ts';
import { catalogueHtml, PAGE_POLICY, problemHtml } from './problem-pages.ts';
import { ProblemDescriptionDto, ProblemListDto, ProblemPath } from './problems.dto.ts';

/** The catalogue of problems, to which the `type` of a problem points: as JSON, or as a page for a browser. */
@ApiTags('Meta')
@Controller('problems')
export class ProblemsController {
  readonly #catalogue: Pair<ProblemListDto>;
  readonly #problems: ReadonlyMap<string, Pair<ProblemDescriptionDto>>;

  constructor({ publicPath, docs }: ListenConfig, declared: DeclaredProblems) {
    const codes = lazily(explainedCodes);
    const links = (word: string) => {
      if (isProblem(word)) return problemType(word);
      return docs && declared.operations.has(word) ? `/docs#${word}` : undefined;
    };
    const describe = (slug: ProblemSlug) => describeProblem(slug, declared.by(slug));
    this.#catalogue = new Pair(
      () => ({ items: problemSlugs.map(describe), codes: codes() }),
      (list) => catalogueHtml(list, links),
      publicPath,
    );
    const pairOf = (slug: ProblemSlug) =>
      new Pair(
        () => describe(slug),
        (problem) => {
          const example = exampleOf(slug, problemDefinition(slug).statuses[0]);
          const own = codes().filter((each) => each.problem === slug);
          return problemHtml(problem, { codes: own, commonTo: commonTo(slug), example }, links);
        },
        publicPath,
      );
    this.#problems = new Map(problemSlugs.map((slug) => [slug, pairOf(slug)]));
  }

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
    @Param() { slug }: ProblemPath,
    @Req() request: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ): Promise<ProblemDescriptionDto | Buffer | undefined> {
    const known = this.#problems.get(slug);
    if (!known) throw new ProblemException('not-found');
    return known.respond(request, reply);
  }
}

/** A value as JSON and as a page. Each form is made at its first request. */
class Pair<T extends object> {
  readonly #json: () => FixedContent;
  readonly #page: () => FixedContent;

  constructor(make: () => T, html: (value: T) => string, publicPath: string) {
    const content = (type: string, text: string, policy?: string) =>
      new FixedContent(`${type}; charset=utf-8`, linked(text, publicPath), policy);
    this.#json = lazily(() => content('application/json', JSON.stringify(make())));
    this.#page = lazily(() => content('text/html', html(make()), PAGE_POLICY));
  }

  respond(request: FastifyRequest, reply: FastifyReply): Promise<Buffer | undefined> {
    void reply.header('vary', 'accept, accept-encoding');
    // A browser names text/html itself; every other client gets JSON.
    const wantsHtml = /\btext\/html\b/i.test(request.headers.accept ?? '');
    return (wantsHtml ? this.#page() : this.#json()).respond(request, reply);
  }
}

function describeProblem(slug: ProblemSlug, operations: string[]): ProblemDescriptionDto {
  const type = problemType(slug);
  const { title, statuses, outcome, outcomeVaries = false, ...rest } = problemDefinition(slug);
  return {
    ...{ type, code: slug, title, statuses: [...statuses], outcome, outcomeVaries, ...rest },
    operations,
  };
}
