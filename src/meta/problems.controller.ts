import { Controller, Get, Header, Param, Res } from '@nestjs/common';
import { ApiOkResponse, ApiProduces, ApiTags } from '@nestjs/swagger';
import type { FastifyReply } from 'fastify';
import { HeaderValue } from '../operation/request-state.ts';
import { PublicOperation } from '../operation/operation.decorator.ts';
import { problemDefinition, type ProblemSlug, problemSlugs, problemType } from '../problem/catalogue.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { catalogueHtml, problemHtml } from './problem-pages.ts';
import { ProblemDescriptionDto, ProblemListDto, ProblemParams } from './problems.dto.ts';

/** The error catalogue: what a problem's `type` points to. JSON, or a page where a browser asks. */
@ApiTags('Meta')
@Controller('problems')
export class ProblemsController {
  @Get()
  @Header('vary', 'accept')
  @PublicOperation('listProblems', 'All problems this gateway answers with')
  @ApiProduces('application/json', 'text/html')
  @ApiOkResponse({ type: ProblemListDto, description: 'The catalogue' })
  listProblems(
    @Res({ passthrough: true }) reply: FastifyReply,
    @HeaderValue('accept') accept?: string,
  ): ProblemListDto | string {
    const items = problemSlugs.map(describe);
    return wantsHtml(accept) ? page(reply, catalogueHtml(items)) : { items };
  }

  @Get(':slug')
  @Header('vary', 'accept')
  @PublicOperation('getProblem', 'One problem: what it means and what to do', [
    'validation-failed',
    'not-found',
  ])
  @ApiProduces('application/json', 'text/html')
  @ApiOkResponse({ type: ProblemDescriptionDto, description: 'The problem' })
  getProblem(
    @Param() { slug }: ProblemParams,
    @Res({ passthrough: true }) reply: FastifyReply,
    @HeaderValue('accept') accept?: string,
  ): ProblemDescriptionDto | string {
    const known = problemSlugs.find((each) => each === slug);
    if (!known) throw new ProblemException('not-found');
    return wantsHtml(accept) ? page(reply, problemHtml(describe(known))) : describe(known);
  }
}

function page(reply: FastifyReply, html: string): string {
  void reply.type('text/html; charset=utf-8');
  return html;
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
