import { Count, OpenWord } from '../../operation/answer-fields.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';
import { Names } from '../../tenancy/names.ts';
import { IdentifierList, Optional, Text } from '../../validation/rules.ts';

const MAX_LOCKS = 1_000;

export class LocksDto {
  /** Lock numbers. */
  @IdentifierList({ min: 1, max: MAX_LOCKS }, { example: ['8000001003'] })
  @Names('lock')
  assetNums!: string[];

  /** Name, mobile number or e-mail of the operator; by default the caller's name. */
  @Optional()
  @Text(128, { example: 'ops@example.com' })
  operatorIdentity?: string;
}

export const lockStatuses = enumeration('LockStatus', [
  'succeeded',
  'not_found',
  'failed',
  'wrong_type',
  'unknown',
]);
export type LockStatus = WordOf<typeof lockStatuses>;

export class LockResultDto {
  assetNum!: string;

  @OpenWord(lockStatuses, '`unknown`: the platform did not report this number')
  status!: LockStatus;
}

export class LockResultsDto {
  items!: LockResultDto[];

  @Count()
  succeeded!: number;

  @Count()
  failed!: number;
}
