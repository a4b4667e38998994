import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { OpenWord } from '../operation/response-fields.ts';
import { PathId } from '../validation/rules.ts';
import { type Outcome, outcomes, problemCodes } from '../problem/catalogue.ts';

export class ProblemPath {
  /** The `code` of the problem. */
  @PathId({ example: 'outcome-unknown' })
  slug!: string;
}

@ApiSchema({ description: 'What a problem means, and what to do' })
export class ProblemDescriptionDto {
  /** The `type` of such problems. */
  type!: string;

  @OpenWord(problemCodes, 'The code for programs to decide on; it never changes once published')
  code!: string;

  title!: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description: 'HTTP statuses of the problem; the first is the usual one',
  })
  statuses!: number[];

  @OpenWord(outcomes, 'The usual outcome: what is known about the effect on the platform')
  outcome!: Outcome;

  /** Whether one occurrence may have another outcome: `unknown` after a write, or `processed` where `unknown` is usual. */
  outcomeVaries!: boolean;

  /** Whether the same request may usually be sent again unchanged. */
  retryable!: boolean;

  /** When it is sent. */
  meaning!: string;

  /** What the caller can do. */
  remedy!: string;

  /**
   * Ids of the operations that have this problem as their own. Empty if operations of many kinds have it (its page says which), or if the
   * request matches no operation.
   */
  operations!: string[];
}

@ApiSchema({ description: "A code of the platform's interface, and what the gateway makes of it" })
export class PlatformCodeDto {
  /** The code, as the platform sends it. */
  code!: string;

  /** The meaning of the code in the platform's interface. */
  meaning!: string;

  @OpenWord(problemCodes, 'The problem that a caller gets for it; null where it is no failure')
  problem!: string | null;

  @ApiProperty({ type: 'integer', description: 'The HTTP status of the response to the caller' })
  status!: number;

  /** Ids of the operations for which the interface has the code; empty if any operation that calls the platform may meet it. */
  operations!: string[];

  /** What the gateway does, and what it answers. */
  handling!: string;
}

@ApiSchema({ description: 'The catalogue of problems' })
export class ProblemListDto {
  /** All problems that the gateway sends. */
  items!: ProblemDescriptionDto[];

  /** The codes of the platform. Any other code is `upstream-unmapped-error`, unless the gateway's operator has taught its meaning. */
  codes!: PlatformCodeDto[];
}
