import { Names } from '../../tenancy/names.ts';
import {
  Flag,
  Identifier,
  IdentifierList,
  ListOf,
  ObjectRule,
  Optional,
  Text,
} from '../../validation/rules.ts';
import { Timestamp } from '../../validation/time-rules.ts';
import { MerchandiseDto, OrderProductDto, RevokedProductDto } from './order-product.dto.ts';

export const MAX_ASSETS = 1_000;

export class OrderCustomerDto {
  /** Customer id on the authorization platform. */
  @Optional()
  @Identifier({ example: 'cus-harbour-default' })
  @Names('customer')
  customerId?: string;

  @Optional()
  @Identifier({ example: 'CRM-1001' })
  @Names('crmCustomer')
  crmCustomerId?: string;

  @Optional()
  @Text(200, { example: 'Harbour Engineering' })
  customerName?: string;

  @Optional()
  @Identifier({ example: 'CH-1001' })
  @Names('channelCustomer')
  channelCustomerId?: string;

  /** Only enterprises granted to the caller. */
  @Optional()
  @Identifier({ example: 'ent-harbour' })
  @Names('enterprise')
  enterpriseGlobalId?: string;

  @Optional()
  @Text(500)
  address?: string;

  /** The purchaser's mobile number. */
  @Optional()
  @Identifier()
  @Names('label')
  passwordMobile?: string;
}

export class OrderAdminDto {
  @Optional()
  @Text(128)
  name?: string;

  @Optional()
  @Text(128)
  account?: string;

  @Optional()
  @Text(254)
  email?: string;

  @Optional()
  @Text(32)
  cellNumber?: string;
}

export class OrderBranchDto {
  @Optional()
  @Identifier()
  @Names('label')
  code?: string;

  @Optional()
  @Text(200)
  name?: string;
}

export class OrderExtensionDto {
  @Identifier({ example: 'site' })
  @Names('label')
  code!: string;

  @Text(500, { example: 'pier-1' })
  value!: string;
}

@ObjectRule<BoughtAssetDto>(
  ({ products, merchandises }) => hasItems(products) || hasItems(merchandises),
  'must have at least one product or merchandise',
)
export class BoughtAssetDto {
  /** Existing assets that the products are added to; left out, the platform makes a new one. */
  @Optional()
  @IdentifierList({ max: MAX_ASSETS })
  @Names('newAssetNum')
  assetNums?: string[];

  @Optional()
  @ListOf(() => OrderExtensionDto, { max: 100 })
  extensions?: OrderExtensionDto[];

  @Optional()
  @Timestamp({ example: '2026-01-01T00:00:00.000Z' })
  limitStartTime?: string;

  @Optional()
  @Timestamp({ example: '2027-01-01T00:00:00.000Z' })
  limitEndTime?: string;

  /** A lent lock. */
  @Optional()
  @Flag()
  lent?: boolean;

  /** A transferred asset number. */
  @Optional()
  @Flag()
  transferred?: boolean;

  @Optional()
  @ListOf(() => OrderProductDto, { max: 1_000 })
  products?: OrderProductDto[];

  @Optional()
  @ListOf(() => MerchandiseDto, { max: 500 })
  merchandises?: MerchandiseDto[];
}

/** Revoked whole; to revoke products of an asset, use `delete_product`. */
export class RevokedAssetDto {
  @IdentifierList({ min: 1, max: MAX_ASSETS }, { example: ['8000001009'] })
  @Names('assetNum')
  assetNums!: string[];
}

export class ReducedAssetDto extends RevokedAssetDto {
  @Optional()
  @Timestamp()
  limitStartTime?: string;

  @Optional()
  @Timestamp()
  limitEndTime?: string;

  @ListOf(() => RevokedProductDto, { min: 1, max: 1_000 })
  products!: RevokedProductDto[];
}

function hasItems(list: readonly unknown[] | undefined): boolean {
  return Array.isArray(list) && list.length > 0;
}
