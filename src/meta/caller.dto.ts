import { Count } from '../operation/answer-fields.ts';

/** So many requests in a window of so many seconds. */
export class RateLimitDto {
  @Count()
  requests!: number;

  @Count()
  perSeconds!: number;
}

/** The caller of a key or token, as the callers file has it. `*` stands for all. */
export class CallerDto {
  name!: string;

  scopes!: string[];

  enterprises!: string[];

  /** Channels of orders and customers. */
  channels!: string[];

  /** Aliases for `X-Acting-User`. */
  users!: string[];

  /** null: its rate is not limited. */
  rateLimit!: RateLimitDto | null;
}
