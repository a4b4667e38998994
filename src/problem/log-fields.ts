import type { ProblemException } from './problem.exception.ts';

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A failure that says itself what the log may show of it: field by field, no secret, no data of people. */
export interface LoggedFailure {
  readonly logFields: LogFields;
}

/** What the log says of a problem; the platform's own words (`reason`) appear nowhere else. */
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
