import { HttpException } from '@nestjs/common';
import { type Outcome, problemDefinition, type ProblemSlug, problemType } from './catalogue.ts';

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

export interface UpstreamResponse {
  readonly operation: string;
  readonly code?: string;
  readonly status: number;
}

/** An asset number that another member has. */
export interface Conflict {
  readonly assetNum: string;
  readonly memberGlobalId: string;
}

/** The body of every error: RFC 9457 with our own members. */
export interface ProblemBody {
  readonly type: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string;
  readonly code: ProblemSlug;
  readonly outcome: Outcome;
  readonly retryable: boolean;
  readonly upstream?: UpstreamResponse;
  /** The platform's code, if the platform's profile teaches its meaning. */
  readonly upstreamCode?: string;
  readonly errors?: readonly RequestFault[];
  readonly conflicts?: readonly Conflict[];
  /** The fields that an edit would lose. */
  readonly fields?: readonly string[];
  /** The oldest cursor of events from which no event is missing. */
  readonly oldest?: string;
  /** When the budget of the next month begins. */
  readonly resetsAt?: string;
  readonly requestId?: string;
}

interface ProblemDetails {
  readonly status?: number;
  readonly detail?: string;
  readonly outcome?: Outcome;
  readonly retryable?: boolean;
  readonly upstream?: UpstreamResponse;
  readonly upstreamCode?: string | undefined;
  readonly errors?: readonly RequestFault[];
  readonly conflicts?: readonly Conflict[];
  readonly fields?: readonly string[];
  readonly oldest?: string;
  readonly resetsAt?: string;
  /** The seconds of `Retry-After`. */
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
    const status = details.status ?? definition.statuses[0];
    const body: ProblemBody = {
      type: problemType(slug),
      title: definition.title,
      status,
      detail: details.detail,
      code: slug,
      outcome: details.outcome ?? definition.outcome,
      retryable: details.retryable ?? definition.retryable,
      upstream: details.upstream,
      upstreamCode: details.upstreamCode,
      errors: details.errors,
      conflicts: details.conflicts,
      fields: details.fields,
      oldest: details.oldest,
      resetsAt: details.resetsAt,
    };
    super(body, status, { cause: details.cause });
    this.headers = {
      ...(details.retryAfter !== undefined && { 'retry-after': String(details.retryAfter) }),
      ...(details.allow && { allow: details.allow.join(', ') }),
      ...(details.location && { location: details.location }),
      ...(details.replayed && { 'idempotent-replayed': 'true' }),
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
