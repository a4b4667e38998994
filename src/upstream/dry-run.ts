import { ProblemException } from '../problem/problem.exception.ts';
import { withoutSecrets } from '../shared/secret-fields.ts';
import type { OperationName } from './operations.ts';

/** A call of the platform that a write would make. */
export interface WouldSend {
  readonly operation: OperationName;
  /** With its secrets masked; null where it has none. */
  readonly body: unknown;
}

/** Ends a dry run where something would be sent or recorded. Callers never see it: the interceptor answers with the dry run. */
export class DryRunStop extends ProblemException {
  override readonly name = 'DryRunStop';

  constructor() {
    super('internal-error', { outcome: 'not_processed' });
  }
}

/** A write with `validateOnly`: all of it up to the point where something would be sent to the platform, or recorded. */
export class DryRun {
  readonly wouldSend: WouldSend[] = [];
  /** What the write would take away or change, as it is now. */
  readonly effects: object[] = [];
  #isStopped = false;

  /** It has come to where it would begin. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The one place where a call of the platform is stopped: `UpstreamClient`. */
  stopBefore(operation: OperationName, body: object | undefined): never {
    this.wouldSend.push({ operation, body: withoutSecrets(body ?? null) });
    return this.stop();
  }

  /** Called by a service before it records something of its own. */
  stop(): never {
    this.#isStopped = true;
    throw new DryRunStop();
  }
}
