import { ApiSchema } from '@nestjs/swagger';
import { Count, OpenWord } from '../../operation/response-fields.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';
import { Names } from '../../tenancy/names.ts';
import { IdentifierList, Optional, Text, WholeNumber } from '../../validation/rules.ts';

@ApiSchema({
  description: 'The locks to disable or enable',
})
export class LocksDto {
  /** Numbers of the locks. */
  @IdentifierList({ min: 1, max: 1_000 }, { example: ['8000001003'] })
  @Names('lock')
  assetNums!: string[];

  /** Name, mobile number or e-mail of the operator; by default the caller's name. */
  @Optional()
  @Text({ example: 'ops@example.com' })
  operatorIdentity?: string;
}

export const lockStatuses = enumeration(
  'LockStatus',
  ['succeeded', 'not_found', 'failed', 'wrong_type', 'unknown'],
  '`not_found`: no such lock; `wrong_type`: such a lock cannot be disabled or enabled; `unknown`: the platform did not report this number',
);
export type LockStatus = WordOf<typeof lockStatuses>;

@ApiSchema({ description: 'What became of one lock' })
export class LockResultDto {
  assetNum!: string;

  @OpenWord(lockStatuses, 'What became of the lock')
  status!: LockStatus;
}

@ApiSchema({
  description: 'What became of each lock, in the order of the request',
})
export class LockResultsDto {
  /** One result for each number, in the order of the request. */
  items!: LockResultDto[];

  @Count()
  succeeded!: number;

  @Count()
  failed!: number;
}

@ApiSchema({ description: 'How many asset numbers to reserve' })
export class ReserveAssetNumsDto {
  /** Number of asset numbers to reserve. */
  @WholeNumber(1, 1_000, { example: 2 })
  size!: number;
}

const regions = enumeration(
  'Region',
  ['domestic', 'singapore', 'unknown'],
  'The region in the first digit of an asset number: 8 is domestic, 6 Singapore',
);

@ApiSchema({ description: 'A reserved asset number' })
export class ReservedAssetNumDto {
  keyShellNumber!: string;

  @OpenWord(regions)
  region!: WordOf<typeof regions>;
}

@ApiSchema({
  description: 'The asset numbers that the platform reserved',
})
export class ReservedAssetNumsDto {
  @Count('Number of requested asset numbers')
  requested!: number;

  /** The reserved numbers. They may be fewer than requested. */
  items!: ReservedAssetNumDto[];
}
