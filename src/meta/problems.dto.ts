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

  /** Whether the same request may usually be sent again as it is. */
  retryable!: boolean;

  /** When it is sent. */
  meaning!: string;

  /** What the caller can do. */
  remedy!: string;
}

@ApiSchema({ description: 'The catalogue of problems' })
export class ProblemListDto {
  /** All problems that the gateway sends. */
  items!: ProblemDescriptionDto[];
}
