import { ProblemException } from '../problem/problem.exception.ts';

const MAX_LATER_DAYS = 400;
/** A caller that names the time of its request as `notBefore` is always a little late. */
const MAX_PAST_MS = 60_000;

/** Returns why an order cannot have this `notBefore` (in ms); undefined where it can. */
export function timeProblem(notBefore: number, now: number): ProblemException | undefined {
  if (notBefore < now - MAX_PAST_MS)
    return wrongTime('must not be in the past: leave it out to place the order now');
  if (notBefore > now + MAX_LATER_DAYS * 24 * 3_600_000)
    return wrongTime(`must be at most ${MAX_LATER_DAYS} days away`);
  return undefined;
}

function wrongTime(detail: string): ProblemException {
  return new ProblemException('validation-failed', { errors: [{ pointer: '/notBefore', detail }] });
}
