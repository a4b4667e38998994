import { ApiSchema } from '@nestjs/swagger';
import { Count, OpenWord } from '../../operation/answer-fields.ts';
import { enumeration, type WordOf } from '../../shared/enumeration.ts';
import { WholeNumber } from '../../validation/rules.ts';

@ApiSchema({ description: 'How many asset numbers to reserve (docs/platform.md, section 4.1, operation 9)' })
export class ReserveAssetNumsDto {
  /** Number of asset numbers to reserve. */
  @WholeNumber(1, 1_000, { example: 2 })
  size!: number;
}

export const regions = enumeration(
  'Region',
  ['domestic', 'singapore', 'unknown'],
  'The region in the first digit of an asset number: 8 is domestic, 6 Singapore (docs/platform.md, section 2.13)',
);

@ApiSchema({ description: 'A reserved asset number (docs/platform.md, section 2.13)' })
export class ReservedAssetNumDto {
  keyShellNumber!: string;

  @OpenWord(regions)
  region!: WordOf<typeof regions>;
}

@ApiSchema({
  description: 'The asset numbers that the platform reserved (docs/platform.md, section 4.1, operation 9)',
})
export class ReservedAssetNumsDto {
  @Count('Number of requested asset numbers')
  requested!: number;

  /** The reserved numbers. They may be fewer than requested. */
  items!: ReservedAssetNumDto[];
}
