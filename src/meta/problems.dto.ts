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

  /** The `code` that callers branch on. */
  code!: string;

  title!: string;

  @ApiProperty({
    type: 'array',
    items: { type: 'integer' },
    description: 'HTTP statuses it comes with; the first is usual',
  })
  statuses!: number[];

  @ApiProperty({ enum: ['not_processed', 'processed', 'unknown'] })
  outcome!: Outcome;

  /** Whether a single problem may carry another outcome: after a write `unknown`, and where `unknown` is usual `processed`. */
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
