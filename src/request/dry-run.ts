import { ProblemException } from '../problem/problem.exception.ts';
import { withoutSecrets } from '../shared/secret-fields.ts';
import type { EffectDto, ImportPlanDto, WouldSendDto } from './dry-run.dto.ts';

/** The present state that a write would remove or change. */
export type DryRunEffect = Readonly<EffectDto>;
export type EffectTerms = Partial<Omit<DryRunEffect, 'kind'>>;

export function effectOf(kind: DryRunEffect['kind'], what: EffectTerms = {}): DryRunEffect {
  const none = { enterpriseGlobalId: null, assetId: null, assetNum: null, productUri: null };
  return { kind, ...none, memberGlobalId: null, account: null, readable: true, ...what };
}

/** Ends a dry run where the write would send or record something. Callers never see it: the interceptor answers with the dry run. */
export class DryRunStop extends ProblemException {
  override readonly name = 'DryRunStop';

  constructor() {
    super('internal-error', { outcome: 'not_processed' });
  }
}

/** The dry run of a write: all of it up to the point where it would send something to the platform, or record something. */
export class DryRun {
  readonly wouldSend: WouldSendDto[] = [];
  readonly effects: DryRunEffect[] = [];
  plan: ImportPlanDto | undefined;
  #isStopped = false;

  /** True once the dry run has reached the point where the write would begin. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  add(kind: DryRunEffect['kind'], what?: EffectTerms): void {
    this.effects.push(effectOf(kind, what));
  }

  /** Stops before a call of the platform. Only `UpstreamClient` does so. */
  stopBefore(operation: string, body: object | undefined): never {
    this.wouldSend.push({ operation, body: withoutSecrets(body ?? null) });
    return this.stop();
  }

  /** Stops before a service records something of its own. */
  stop(): never {
    this.#isStopped = true;
    throw new DryRunStop();
  }
}
