import { ApiProperty } from '@nestjs/swagger';
import { WholeNumber } from '../../validation/rules.ts';

export class ReserveAssetNumsDto {
  /** How many are wanted. */
  @WholeNumber(1, 1_000, { example: 2 })
  size!: number;
}

export class AssetNumDigitsDto {
  /** Ten digits: the region and a running number (interface section 2.13). */
  digits!: string;

  @ApiProperty({ enum: ['domestic', 'singapore', 'unknown'] })
  region!: 'domestic' | 'singapore' | 'unknown';
}

export class AssetNumDigitsListDto {
  items!: AssetNumDigitsDto[];
}
