import { ApiProperty } from '@nestjs/swagger';
import { PathId } from '../validation/rules.ts';
import type { Outcome } from '../problem/definition.ts';

export class ProblemParams {
  @PathId({ example: 'outcome-unknown' })
  slug!: string;
}

export class ProblemDescriptionDto {
  /** The `type` of such problems. */
  type!: string;

  /** The `code` for programs to decide on. */
  code!: string;

  title!: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description: 'HTTP statuses of the problem; the first is the usual one',
  })
  statuses!: number[];

  @ApiProperty({ enum: ['not_processed', 'processed', 'unknown'] })
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

export class ProblemListDto {
  items!: ProblemDescriptionDto[];
}
