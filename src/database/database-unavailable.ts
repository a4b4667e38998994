import { ProblemException } from '../problem/problem.exception.ts';
import type { FaultReason } from './engine.ts';

/**
 * `unreadable`: a record is damaged. `sealed`: its key was removed. `ahead`: another gateway has its key, and this one does not have it yet.
 * `abandoned`: the caller hung up.
 */
type Reason = FaultReason | 'unreadable' | 'sealed' | 'ahead' | 'abandoned';

const NOTHING_SENT = 'Nothing was sent to the platform.';
/** The step may also have waited behind others, so the text does not say that the database is away. */
const LATE = `The gateway got no answer from its database in time. ${NOTHING_SENT}`;
const NO_WRITES = `The database of the gateway takes no writes. ${NOTHING_SENT}`;
const STOPPED = `The database of the gateway cannot be used until its operator has looked at it. ${NOTHING_SENT}`;
/** The details of some reasons, for which nothing was done. All others have that of {@link LATE}. */
const DETAILS: Partial<Record<Reason, string>> = {
  full: NO_WRITES,
  'read-only': NO_WRITES,
  rights: NO_WRITES,
  damaged: NO_WRITES,
  'still-away': `The database of the gateway does not respond. ${NOTHING_SENT}`,
  stopped: STOPPED,
  unready: STOPPED,
  unreadable: `There is a record under this name, and it cannot be read. ${NOTHING_SENT}`,
  sealed:
    'There is a record under this name, and it is sealed under an encryption key that the gateway no longer has. Nothing was sent. The operator of the gateway has to put the key back.',
  ahead: `A record is sealed under an encryption key that another replica of the gateway has, and this one does not have yet. ${NOTHING_SENT}`,
  abandoned: `The caller hung up before the gateway had recorded this write. ${NOTHING_SENT}`,
};

/** Refuses a request, because the database cannot say what is recorded. The gateway sends nothing to the platform then. */
export class DatabaseUnavailable extends ProblemException {
  override readonly name = 'DatabaseUnavailable';

  constructor(
    readonly reason: Reason,
    cause?: unknown,
  ) {
    super('dependency-unavailable', {
      detail: DETAILS[reason] ?? LATE,
      // A repeat does not help while a key is missing: the operator has to correct the configuration.
      ...(reason === 'sealed' ? { retryable: false } : { retryAfter: 1 }),
      cause,
    });
  }

  /** True if the database did not respond. A step may have been carried out then. */
  get isAway(): boolean {
    return !(this.reason in DETAILS);
  }
}
