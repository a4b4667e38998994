import { ApiSchema } from '@nestjs/swagger';
import { Label, Names } from '../../tenancy/names.ts';
import {
  Flag,
  Identifier,
  IdentifierList,
  ListOf,
  ObjectRule,
  Optional,
  Text,
} from '../../validation/rules.ts';
import { Timestamp } from '../../validation/scalar-rules.ts';
import {
  MerchandiseDto,
  OrderProductDto,
  RevokedMerchandiseDto,
  RevokedProductDto,
} from './order-product.dto.ts';

export const MAX_ASSETS = 1_000;

@ApiSchema({
  description:
    'The customer of an item of an order (docs/platform.md, section 2.4). Any of the ids is enough',
})
export class OrderCustomerDto {
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

  /** Global id of the enterprise's main account. Only enterprises granted to the caller; a bound caller must name one. */
  @Optional()
  @Identifier({ example: 'ent-harbour' })
  @Names('enterprise')
  enterpriseGlobalId?: string;

  @Optional()
  @Text(500)
  address?: string;

  /** The purchaser's mobile number. */
  @Optional()
  @Label()
  passwordMobile?: string;
}

@ApiSchema({ description: "The customer's administrator (docs/platform.md, section 2.4)" })
export class OrderAdminDto {
  /** The administrator's own name. */
  @Optional()
  @Text(128, { 'x-upstream': 'adminName' })
  name?: string;

  /** The administrator's login name. */
  @Optional()
  @Text(128, { 'x-upstream': 'adminAccount' })
  account?: string;

  /** The administrator's e-mail address. */
  @Optional()
  @Text(254, { 'x-upstream': 'adminEmail' })
  email?: string;

  /** The administrator's mobile number. */
  @Optional()
  @Text(32, { 'x-upstream': 'adminCellNumber' })
  cellNumber?: string;
}

@ApiSchema({ description: "The customer's branch (docs/platform.md, section 2.4)" })
export class OrderBranchDto {
  /** Code of the branch. */
  @Optional()
  @Label({ 'x-upstream': 'branchCode' })
  code?: string;

  /** Name of the branch. */
  @Optional()
  @Text(200, { 'x-upstream': 'branchName' })
  name?: string;
}

@ApiSchema({ description: 'An extension property of an asset (docs/platform.md, section 2.4)' })
class OrderExtensionDto {
  /** Code of the property. */
  @Label({ example: 'site', 'x-upstream': 'extendCode' })
  code!: string;

  /** Value of the property. */
  @Text(500, { example: 'pier-1', 'x-upstream': 'extendValue' })
  value!: string;
}

/** Fields of an asset in an order, without its numbers, products and packages. */
abstract class AssetTerms {
  @Optional()
  @ListOf(() => OrderExtensionDto, { max: 100 }, { 'x-upstream': 'assetExtendList' })
  extensions?: OrderExtensionDto[];

  @Optional()
  @Timestamp({ example: '2026-01-01T00:00:00.000Z', 'x-upstream': 'limitStartDate' })
  startsAt?: string;

  @Optional()
  @Timestamp({ example: '2027-01-01T00:00:00.000Z', 'x-upstream': 'limitEndDate' })
  endsAt?: string;

  @Optional()
  @Flag({ 'x-upstream': 'borrowedUsbKey' })
  lentLock?: boolean;

  @Optional()
  @Flag({ 'x-upstream': 'transferedAssetNum' })
  transferred?: boolean;
}

const HasContent = ObjectRule<{ products?: unknown[]; merchandises?: unknown[] }>(
  ({ products, merchandises }) =>
    [products, merchandises].some((list) => Array.isArray(list) && list.length > 0),
  'must have at least one product or merchandise',
);

abstract class AssetWithProducts extends AssetTerms {
  @Optional()
  @ListOf(() => OrderProductDto, { max: 1_000 })
  products?: OrderProductDto[];

  @Optional()
  @ListOf(() => MerchandiseDto, { max: 500 })
  merchandises?: MerchandiseDto[];
}

@HasContent
@ApiSchema({ description: 'What is bought for one asset (docs/platform.md, section 2.4)' })
export class BoughtAssetDto extends AssetWithProducts {
  /** Existing assets that get the products. Without this field the platform creates a new asset. */
  @Optional()
  @IdentifierList({ max: MAX_ASSETS }, { 'x-upstream': 'assetNos' })
  @Names('newAssetNum')
  assetNums?: string[];
}

@ApiSchema({
  description:
    'Assets that are revoked whole, independent of other fields. To revoke products of an asset, use `delete_product` (docs/platform.md, section 2.4)',
})
export class RevokedAssetDto extends AssetWithProducts {
  @IdentifierList({ min: 1, max: MAX_ASSETS }, { example: ['8000001009'], 'x-upstream': 'assetNos' })
  @Names('assetNum')
  assetNums!: string[];
}

@HasContent
@ApiSchema({ description: 'Assets whose products are revoked (docs/platform.md, section 2.4)' })
export class ReducedAssetDto extends AssetTerms {
  @IdentifierList({ min: 1, max: MAX_ASSETS }, { example: ['8000001009'], 'x-upstream': 'assetNos' })
  @Names('assetNum')
  assetNums!: string[];

  @Optional()
  @ListOf(() => RevokedProductDto, { max: 1_000 })
  products?: RevokedProductDto[];

  @Optional()
  @ListOf(() => RevokedMerchandiseDto, { max: 500 })
  merchandises?: RevokedMerchandiseDto[];
}
