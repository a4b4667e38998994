export interface Attention {
  /** `act`: callers are refused or orders are at stake. `watch`: that may follow. */
  readonly level: 'act' | 'watch';
  readonly title: string;
  /** The cause, as far as the gateway knows it. */
  readonly detail: string;
  /** The section of the console that shows more. */
  readonly section?: 'orders' | 'scheduled' | 'gaps' | 'jobs' | 'webhooks' | 'maintenance' | 'budgets';
  /** The alert of `deploy/prometheus/alerts.yml`, whose section in `docs/operating.md` says what to do. */
  readonly alert?: string;
}

/** An item, or nothing where the check found no problem. */
export type MaybeAttention = Attention | false | undefined;
