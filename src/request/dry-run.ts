import { ProblemException } from '../problem/problem.exception.ts';
import { enumeration, type WordOf } from '../shared/enumeration.ts';
import { withoutSecrets } from '../shared/secret-fields.ts';

/** A call of the platform that a write would make. */
export interface WouldSend {
  /** The name of the call in the gateway. */
  readonly operation: string;
  /** The body with its secrets masked. Null if there is none, or if it is too large to show. */
  readonly body: unknown;
}

export const effectKinds = enumeration(
  'EffectKind',
  [
    'asset-removed',
    'product-removed',
    'number-assigned',
    'number-withdrawn',
    'number-kept',
    'lock-disabled',
    'lock-enabled',
    'loan-made',
    'member-removed',
    'budget-used',
  ],
  'What a write would take away or change',
);

/** The present state that a write would remove or change. A field is null if it does not apply, or is not known. */
export interface DryRunEffect {
  readonly kind: WordOf<typeof effectKinds>;
  readonly enterpriseGlobalId: string | null;
  readonly assetId: string | null;
  readonly assetNum: string | null;
  readonly productUri: string | null;
  readonly memberGlobalId: string | null;
  readonly account: string | null;
  /** True if the platform shows it. */
  readonly readable: boolean;
}

export interface ImportPlan {
  readonly add: number;
  readonly update: number;
  readonly unchanged: number;
  readonly delete: string[];
  readonly impossible: { row: number; account: string; reason: string }[];
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
  readonly wouldSend: WouldSend[] = [];
  readonly effects: DryRunEffect[] = [];
  plan: ImportPlan | undefined;
  #isStopped = false;

  /** True once the dry run has reached the point where the write would begin. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  add(kind: DryRunEffect['kind'], what: Partial<Omit<DryRunEffect, 'kind'>> = {}): void {
    const none = { enterpriseGlobalId: null, assetId: null, assetNum: null, productUri: null };
    this.effects.push({ kind, ...none, memberGlobalId: null, account: null, readable: true, ...what });
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
