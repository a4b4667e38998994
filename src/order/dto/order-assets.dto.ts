import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { UpstreamName } from '../../operation/response-fields.ts';
import { PageDto } from '../../operation/page.dto.ts';

@ApiSchema({
  description: 'An asset on which something of an order stands (docs/platform.md, sections 2.8 and 2.12)',
})
export class OrderAssetDto {
  @ApiProperty({
    type: 'integer',
    description: 'The item of the order; null where the record does not tell which of several it came of',
  })
  sequence!: number | null;

  licenseOrderId!: string;

  @UpstreamName('id')
  assetId!: string;

  assetNum!: string | null;

  /** The products of the order on this asset, each once. */
  productUris!: string[];
}

@ApiSchema({ description: 'One page of the assets of an order' })
export class OrderAssetPageDto extends PageDto {
  items!: OrderAssetDto[];
}

@ApiSchema({ description: 'What a deletion takes off one asset (docs/platform.md, sections 2.8 and 2.12)' })
export class AffectedAssetDto {
  @UpstreamName('id')
  assetId!: string;

  assetNum!: string | null;

  /** Whether nothing is left on the asset. */
  whole!: boolean;

  /** The products that go, each once. */
  productUris!: string[];
}

@ApiSchema({ description: 'What an item that deletes would take away, as the platform shows it now' })
export class DeletionEffectDto {
  @ApiProperty({ type: 'integer' })
  sequence!: number;

  /** false where something that the item names could not be read: `assets` has the rest. */
  readable!: boolean;

  /** The assets that lose something. */
  assets!: AffectedAssetDto[];
}
