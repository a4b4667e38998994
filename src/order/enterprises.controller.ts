import { Body, Controller, Get, Param, Post, Query } from '@nestjs/common';
import { ApiTags } from '@nestjs/swagger';
import { Call } from '../operation/request-stages.ts';
import { Operation } from '../operation/operation.decorator.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { AssetDto, AssetPageDto, AssetParams, ListAssetsQuery } from './dto/asset.dto.ts';
import { CreateEnterpriseDto, EnterpriseDto, EnterpriseParams } from './dto/enterprise.dto.ts';
import { OrderService } from './order.service.ts';

@ApiTags('Customers and enterprises')
@Controller('v1/enterprises')
export class EnterprisesController {
  constructor(private readonly orders: OrderService) {}

  @Post()
  @Operation({
    id: 'createEnterprise',
    summary: 'Create an enterprise main account with its default customer and administrator',
    description:
      'The scope `customers:write` reaches every enterprise and customer; the `enterprises` of the caller do not limit it.',
    effect: 'write',
    scope: 'customers:write',
    upstream: 'createEnterprise',
    idempotency: 'key',
    keyExample: 'example-of-create-enterprise-1',
    success: [{ status: 201, description: 'The new enterprise', type: EnterpriseDto }],
    body: CreateEnterpriseDto,
  })
  createEnterprise(
    @Call() call: CallContext,
    @Body() enterprise: CreateEnterpriseDto,
  ): Promise<EnterpriseDto> {
    return this.orders.createEnterprise(call, enterprise);
  }

  @Get(':enterpriseGlobalId/assets')
  @Operation({
    id: 'listAssets',
    summary: 'Page through the assets of an enterprise',
    description:
      'The assets behind its cloud account authorization, in the order of the platform. The gateway filters and pages them.',
    effect: 'read',
    scope: 'orders:read',
    upstream: 'listAssets',
    paged: true,
    success: [{ status: 200, description: 'One page; empty after the last page', type: AssetPageDto }],
  })
  listAssets(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterpriseParams,
    @Query() query: ListAssetsQuery,
  ): Promise<AssetPageDto> {
    return this.orders.listAssets(call, enterpriseGlobalId, query);
  }

  @Get(':enterpriseGlobalId/assets/:assetId')
  @Operation({
    id: 'getAsset',
    summary: 'One asset of an enterprise',
    effect: 'read',
    scope: 'orders:read',
    upstream: 'listAssets',
    problems: ['asset-not-found'],
    success: [{ status: 200, description: 'The asset', type: AssetDto }],
  })
  getAsset(@Call() call: CallContext, @Param() asset: AssetParams): Promise<AssetDto> {
    return this.orders.getAsset(call, asset);
  }
}
