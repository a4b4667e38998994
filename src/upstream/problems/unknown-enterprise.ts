import { UpstreamFailure } from '../upstream-failure.ts';

/**
 * The platform answers an enterprise that it does not know with an empty list at some reads and with a refusal at others. Callers get the
 * same for all: it has nothing. Only a refusal that names the id of the enterprise counts; every other failure stays one.
 */
export function nothingIfUnknown(error: unknown): readonly never[] {
  if (
    error instanceof UpstreamFailure &&
    error.kind === 'refused' &&
    error.operation.effect === 'read' &&
    /\benterpriseGlobalId\b/.test(error.details.message ?? '')
  )
    return [];
  throw error;
}
