import { ApiProperty, ApiSchema } from '@nestjs/swagger';
import { UpstreamName } from '../../operation/response-fields.ts';
import { PageDto } from '../../operation/page.dto.ts';

@ApiSchema({
  description: 'An asset on which something of an order stands',
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
