import { Type } from 'class-transformer';
import {
  ArrayMaxSize,
  ArrayMinSize,
  IsArray,
  IsBoolean,
  IsIn,
  IsInt,
  IsISO8601,
  IsNotEmpty,
  IsOptional,
  IsString,
  Matches,
  Max,
  MaxLength,
  Min,
  ValidateNested,
} from 'class-validator';

/** The order of the gateway's contract, with the usual decorators and without regard to their cost. */

class FeatureDto {
  @IsOptional() @IsString() @MaxLength(64) code?: string;
  @IsOptional() @IsString() @MaxLength(200) name?: string;
  @IsOptional() @IsString() @MaxLength(500) value?: string;
  @IsOptional() @IsString() @MaxLength(64) valueType?: string;
  @IsOptional() @IsBoolean() trial?: boolean;
  @IsOptional() @IsISO8601() trialEndsAt?: string;
}

class ProductDto {
  @IsOptional() @IsString() @MaxLength(128) productUri?: string;
  @IsOptional() @IsString() @MaxLength(128) crmProductId?: string;
  @IsOptional() @IsString() @MaxLength(128) parentCrmProductId?: string;
  @IsOptional() @IsString() @MaxLength(200) productName?: string;
  @IsOptional() @IsString() @MaxLength(128) gmsPid?: string;
  @IsOptional() @IsString() @MaxLength(128) appKey?: string;
  @IsOptional() @IsString() @MaxLength(64) productType?: string;
  @IsOptional() @IsISO8601() startsAt?: string;
  @IsOptional() @IsISO8601() endsAt?: string;
  @IsOptional() @IsInt() @Min(0) @Max(1_000_000) limitConcurrent?: number;
  @IsOptional() @Matches(/^\d{1,19}$/) limitTimeDuration?: string;
  @IsOptional() @IsBoolean() strictMatchWhenDelete?: boolean;
  @IsOptional() @IsBoolean() trial?: boolean;
  @IsOptional() @IsISO8601() trialEndsAt?: string;
  @IsOptional() @IsArray() @IsString({ each: true }) passwords?: string[];
  @IsOptional() @IsString() @MaxLength(32) timeUnit?: string;
  @IsOptional() @IsInt() @Min(0) timeUnitQuantity?: number;
  @IsOptional() @Matches(/^\d+-\d+-\d+$/) timeDurationExpression?: string;
  @IsOptional() @IsString() @MaxLength(128) srcLicenseOrderId?: string;

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(200)
  @ValidateNested({ each: true })
  @Type(() => FeatureDto)
  features?: FeatureDto[];
}

class ExtensionDto {
  @IsString() @IsNotEmpty() @MaxLength(128) code!: string;
  @IsString() @MaxLength(500) value!: string;
}

class BoughtAssetDto {
  @IsOptional() @IsArray() @IsString({ each: true }) assetNums?: string[];

  @IsOptional()
  @IsArray()
  @ArrayMaxSize(100)
  @ValidateNested({ each: true })
  @Type(() => ExtensionDto)
  extensions?: ExtensionDto[];

  @IsOptional() @IsISO8601() startsAt?: string;
  @IsOptional() @IsISO8601() endsAt?: string;
  @IsOptional() @IsBoolean() lentLock?: boolean;
  @IsOptional() @IsBoolean() transferred?: boolean;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(1_000)
  @ValidateNested({ each: true })
  @Type(() => ProductDto)
  products!: ProductDto[];
}

class BuyerDto {
  @IsOptional() @IsString() @MaxLength(128) customerId?: string;
  @IsOptional() @IsString() @MaxLength(128) crmCustomerId?: string;
  @IsOptional() @IsString() @MaxLength(200) customerName?: string;
  @IsOptional() @IsString() @MaxLength(128) channelCustomerId?: string;
  @IsOptional() @IsString() @MaxLength(128) enterpriseGlobalId?: string;
  @IsOptional() @IsString() @MaxLength(500) address?: string;
  @IsOptional() @IsString() @MaxLength(32) passwordMobile?: string;
}

class AdministratorDto {
  @IsOptional() @IsString() @MaxLength(128) name?: string;
  @IsOptional() @IsString() @MaxLength(128) account?: string;
  @IsOptional() @IsString() @MaxLength(254) email?: string;
  @IsOptional() @IsString() @MaxLength(32) cellNumber?: string;
}

export class OrderItemDto {
  @IsIn(['new_buy']) orderType!: string;
  @IsOptional() @IsInt() @Min(0) @Max(1_000_000) sequence?: number;
  @IsIn(['cloud_account', 'cloud_customer', 'cloud_personal', 'softkey', 'lan_softkey']) licenseType!: string;
  @IsOptional() @IsIn(['personal', 'company']) customerType?: string;
  @ValidateNested() @Type(() => BuyerDto) customer!: BuyerDto;
  @IsOptional() @ValidateNested() @Type(() => AdministratorDto) admin?: AdministratorDto;
  @IsOptional() @IsString() @MaxLength(128) srcLicenseOrderId?: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(1_000)
  @ValidateNested({ each: true })
  @Type(() => BoughtAssetDto)
  assets!: BoughtAssetDto[];
}

export class OrderDto {
  @IsString() @IsNotEmpty() @MaxLength(64) channelCode!: string;
  @IsString() @IsNotEmpty() @MaxLength(64) channelOrderId!: string;
  @IsOptional() @IsIn(['sync', 'async']) syncMode?: string;

  @IsArray()
  @ArrayMinSize(1)
  @ArrayMaxSize(1_000)
  @ValidateNested({ each: true })
  @Type(() => OrderItemDto)
  items!: OrderItemDto[];
}
