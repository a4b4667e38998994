import type { Scope } from './scopes.ts';

/** Who may have an operation. `none`: any caller. `public` needs no caller; a route without a policy is refused to everybody. */
export interface OperationPolicy {
  readonly operationId: string;
  readonly scope: Scope | 'none' | 'public';
  /** Scopes that some requests need in addition, by what their body says. */
  readonly alsoScopes?: (body: unknown) => readonly Scope[];
  /** Whether the platform is called on behalf of one of its users. */
  readonly actsAsUser?: boolean;
  /** How long responses may be kept for others with the same rights and the same user; absent: as configured, 0: not at all. */
  readonly cacheMs?: number;
  /**
   * What keeps a write from running twice: the caller's `Idempotency-Key`, where it sends one (every POST), or the number of the
   * order whether or not it does.
   */
  readonly idempotency?: 'key' | 'order';
  /** A repeat is answered by what is known of the first, also where what it names is gone by now: its service has to ask for that. */
  readonly answersRepeats?: boolean;
  /** Lookups of what it names need a user of the platform although it does not act as one: the alias `default`. */
  readonly looksUpAsUser?: boolean;
}

export const OPERATION_POLICY = 'operation-policy';
