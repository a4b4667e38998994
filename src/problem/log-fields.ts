import type { ProblemException } from './problem.exception.ts';

export type LogFields = Readonly<Record<string, string | number | boolean | undefined>>;

/** A failure that declares the fields that the log may show of it: no secret and no personal data. */
export interface LoggedFailure {
  readonly logFields: LogFields;
}

/** The log fields of a problem. The platform's own text (`reason`) appears nowhere else. */
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
