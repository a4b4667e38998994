import { ApiProperty } from '@nestjs/swagger';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';

/** Which page of the assets of an order is wanted. */
export class OrderAssetsQuery extends PageQuery {}

/** An asset on which something of an order stands. */
export class OrderAssetDto {
  @ApiProperty({
    type: 'integer',
    description: 'The item of the order; null where the record does not tell which of several it came of',
  })
  sequence!: number | null;

  licenseOrderId!: string;

  assetId!: string;

  assetNum!: string | null;

  /** The products of the order on this asset, each once. */
  productUris!: string[];
}

export class OrderAssetPageDto extends PageDto {
  items!: OrderAssetDto[];
}

/** What a deletion takes off one asset. */
export class AffectedAssetDto {
  assetId!: string;

  assetNum!: string | null;

  /** Whether nothing is left on the asset. */
  whole!: boolean;

  /** The products that go, each once. */
  productUris!: string[];
}

/** What an item that deletes would take away, as the platform shows it now. */
export class DeletionEffectDto {
  @ApiProperty({ type: 'integer' })
  sequence!: number;

  /** false where something that the item names could not be read: `assets` has the rest. */
  readable!: boolean;

  assets!: AffectedAssetDto[];
}
