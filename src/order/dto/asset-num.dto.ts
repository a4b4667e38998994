import { Count, OpenWord } from '../../operation/answer-fields.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';
import { WholeNumber } from '../../validation/rules.ts';

export class ReserveAssetNumsDto {
  /** Number of asset numbers to reserve. */
  @WholeNumber(1, 1_000, { example: 2 })
  size!: number;
}

export const regions = enumeration('Region', ['domestic', 'singapore', 'unknown']);

export class ReservedAssetNumDto {
  /** Ten digits: the region and a running number (interface section 2.13). */
  keyShellNumber!: string;

  @OpenWord(regions)
  region!: WordOf<typeof regions>;
}

export class ReservedAssetNumsDto {
  @Count('Number of requested asset numbers')
  requested!: number;

  /** The reserved numbers. They may be fewer than requested. */
  items!: ReservedAssetNumDto[];
}
