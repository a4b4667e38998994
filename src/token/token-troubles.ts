import { type Principal, principalName } from './principal.ts';
import type { TokenFailure } from './token-failure.ts';

/** Why the last request for the token of a principal failed. */
export interface TokenTrouble extends Pick<TokenFailure, 'kind' | 'reason'> {
  readonly principal: string;
  readonly of: Principal['kind'];
  /**
   * The time until which no request is made, in ms since 1970. Undefined if the credentials have changed since: the next call tries them.
   */
  readonly retryAt: number | undefined;
}

interface Failed {
  readonly principal: Principal;
  readonly key: string;
  readonly failure: TokenFailure;
  readonly retryAt: number;
}

/** The age at which a failure no longer needs an operator, because no calls are made as that principal any more. */
const MAX_AGE_MS = 3_600_000;

/** Remembers the principals whose last request for a token failed. */
export class TokenTroubles {
  readonly #failed = new Map<string, Failed>();

  /** `keyOf` returns a different key after a change of a principal's credentials. */
  constructor(private readonly keyOf: (principal: Principal) => string) {}

  settle(principal: Principal, failure?: TokenFailure): void {
    const name = principalName(principal);
    if (!failure) {
      this.#failed.delete(name);
      return;
    }
    const retryAt = Date.now() + (failure.retryAfter ?? 0) * 1_000;
    this.#failed.set(name, { principal, key: this.keyOf(principal), failure, retryAt });
  }

  get all(): TokenTrouble[] {
    const now = Date.now();
    return [...this.#failed].flatMap(([name, { principal, key, failure, retryAt }]) => {
      const { kind: of } = principal;
      if (now - retryAt > MAX_AGE_MS) return [];
      const { kind, reason } = failure;
      return [
        { principal: name, of, kind, reason, retryAt: this.keyOf(principal) === key ? retryAt : undefined },
      ];
    });
  }

  has(kind: Principal['kind']): boolean {
    return this.#failed.values().some(({ principal }) => principal.kind === kind);
  }

  forget(kind: Principal['kind']): void {
    for (const [name, { principal }] of this.#failed) if (principal.kind === kind) this.#failed.delete(name);
  }
}
