import { HttpException } from '@nestjs/common';
import { problemDefinition, type ProblemSlug, problemType } from './catalogue.ts';
import type { ProblemDto, UpstreamAnswerDto } from './problem.dto.ts';

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A failure that declares the fields that the log may show of it: no secret and no personal data. */
export interface LoggedFailure {
  readonly logFields: LogFields;
}

/**
 * One fault of a request: its location and the allowed values. The location is an RFC 6901 pointer into the body, the name of a parameter
 * or header, or row, line and column of a file. Row 1 is the first below the header, and line 1 the first of the file.
 */
export type RequestFault =
  | { readonly row: number; readonly line?: number; readonly column?: string; readonly detail: string }
  | { readonly pointer: string; readonly detail: string }
  | { readonly parameter: string; readonly detail: string };

export type UpstreamResponse = Readonly<UpstreamAnswerDto>;

/** The body of every error: RFC 9457 with our own members. */
export interface ProblemBody extends Readonly<Omit<ProblemDto, 'errors' | 'requestId'>> {
  readonly errors?: readonly RequestFault[];
  readonly requestId?: string;
}

interface ProblemDetails extends Partial<Omit<ProblemBody, 'type' | 'title' | 'code' | 'requestId'>> {
  /** The seconds of `Retry-After`, at least one. */
  readonly retryAfter?: number;
  readonly allow?: readonly string[];
  /** The URL for `Location`: of the order's record, or of the running job. */
  readonly location?: string | undefined;
  /** True if the response repeats the result of an earlier request, for `Idempotent-Replayed`. */
  readonly replayed?: boolean;
  readonly cause?: unknown;
}

export class ProblemException extends HttpException {
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    readonly slug: ProblemSlug,
    details: ProblemDetails = {},
  ) {
    const definition = problemDefinition(slug);
    const { retryAfter, allow, location, replayed, cause, ...own } = details;
    const {
      status = definition.statuses[0],
      detail,
      outcome = definition.outcome,
      retryable = definition.retryable,
      ...others
    } = own;
    const { title } = definition;
    const body: ProblemBody = {
      ...{ type: problemType(slug), title, status, detail, code: slug, outcome, retryable },
      ...others,
    };
    super(body, status, { cause });
    this.headers = {
      ...(retryAfter !== undefined && { 'retry-after': String(Math.max(1, retryAfter)) }),
      ...(allow && { allow: allow.join(', ') }),
      ...(location && { location }),
      ...(replayed && { 'idempotent-replayed': 'true' }),
    };
  }

  /** Returns the whole body. Its detail says what happened this time, or else what the problem means in general. */
  bodyFor(requestId: string): ProblemBody {
    const { body } = this;
    return { ...body, detail: body.detail ?? problemDefinition(this.slug).meaning, requestId };
  }

  get body(): ProblemBody {
    return this.getResponse() as ProblemBody;
  }
}

/** Returns the log fields of a problem. The platform's own text (`reason`) appears nowhere else. */
export function logFields({ body, cause }: ProblemException): LogFields {
  return {
    problem: body.code,
    outcome: body.outcome,
    detail: body.detail,
    ...(isLogged(cause) && cause.logFields),
  };
}

function isLogged(cause: unknown): cause is LoggedFailure {
  return cause instanceof Error && 'logFields' in cause;
}
