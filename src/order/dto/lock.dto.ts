import { ApiProperty } from '@nestjs/swagger';
import { Names } from '../../tenancy/names.ts';
import { IdentifierList, Optional, Text } from '../../validation/rules.ts';

const MAX_LOCKS = 1_000;

export class LocksDto {
  /** Lock numbers. */
  @IdentifierList({ min: 1, max: MAX_LOCKS }, { example: ['8000001003'] })
  @Names('lock')
  assetNums!: string[];

  /** Name, mobile number or e-mail of who does it; by default the caller's name. */
  @Optional()
  @Text(128, { example: 'ops@example.com' })
  operatorIdentity?: string;
}

export const lockStatuses = ['succeeded', 'not_found', 'failed', 'wrong_type', 'unknown'] as const;
export type LockStatus = (typeof lockStatuses)[number];

export class LockResultDto {
  assetNum!: string;

  @ApiProperty({
    enum: lockStatuses,
    description: '`unknown`: the answer of the platform leaves this number out',
  })
  status!: LockStatus;
}

export class LockResultsDto {
  items!: LockResultDto[];

  @ApiProperty({ type: 'integer' })
  succeeded!: number;

  @ApiProperty({ type: 'integer' })
  failed!: number;
}
