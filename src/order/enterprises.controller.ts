import { Body, Controller, Get, Param, Patch, Post, Query } from '@nestjs/common';
import { ApiExtension, ApiTags } from '@nestjs/swagger';
import { Call } from '../request/request-stages.ts';
import { EnterprisePath } from '../operation/enterprise-path.dto.ts';
import { Operation } from '../operation/operation.decorator.ts';
import type { CallContext } from '../request/call-context.ts';
import { AssetDto, AssetPageDto, SoughtAssetPath, ListAssetsQuery } from './dto/asset.dto.ts';
import {
  BindCustomerDto,
  CrmCustomerPath,
  CustomerDto,
  CustomerPageDto,
  FindCustomersQuery,
  UpdateCustomerDto,
} from './dto/customer.dto.ts';
import { CreateEnterpriseDto, EnterpriseDto } from './dto/enterprise.dto.ts';
import { OrderService } from './order.service.ts';

const ACROSS_ENTERPRISES =
  'The scope `customers:write` reaches every enterprise and customer; the `enterprises` of the caller do not limit it.';

@ApiTags('Customers and enterprises')
@Controller('v1')
export class EnterprisesController {
  constructor(private readonly orders: OrderService) {}

  @Operation({
    id: 'bindCustomer',
    summary: 'Bind a channel customer to an enterprise main account',
    description: ACROSS_ENTERPRISES,
    effect: 'write',
    scope: 'customers:write',
    upstream: 'bindCustomer',
    dryRun: true,
    idempotency: 'key',
    success: [{ status: 201, description: 'The bound customer', type: CustomerDto }],
    body: BindCustomerDto,
  })
  @Post('customers')
  bindCustomer(@Call() call: CallContext, @Body() customer: BindCustomerDto): Promise<CustomerDto> {
    return this.orders.bindCustomer(call, customer);
  }

  @Operation({
    id: 'findCustomers',
    summary: 'Page through the customers of a channel',
    effect: 'read',
    scope: 'orders:read',
    upstream: 'queryCustomers',
    paged: true,
    success: [{ status: 200, description: 'One page; empty after the last page', type: CustomerPageDto }],
  })
  @Get('customers')
  findCustomers(@Call() call: CallContext, @Query() query: FindCustomersQuery): Promise<CustomerPageDto> {
    return this.orders.findCustomers(call, query);
  }

  @Operation({
    id: 'updateCustomer',
    summary: 'Change name, branch or address of the customer of a CRM number',
    description: `A repeated request has the same effect. ${ACROSS_ENTERPRISES}`,
    effect: 'write',
    scope: 'customers:write',
    upstream: 'updateCustomer',
    dryRun: true,
    success: [{ status: 204, description: 'Changed' }],
    body: UpdateCustomerDto,
  })
  @Patch('crm-customers/:crmCustomerId')
  updateCustomer(
    @Call() call: CallContext,
    @Param() { crmCustomerId }: CrmCustomerPath,
    @Body() changes: UpdateCustomerDto,
  ): Promise<void> {
    return this.orders.updateCustomer(call, crmCustomerId, changes);
  }

  @Operation({
    id: 'createEnterprise',
    summary: 'Create an enterprise main account with its default customer and administrator',
    description: ACROSS_ENTERPRISES,
    effect: 'write',
    scope: 'customers:write',
    upstream: 'createEnterprise',
    dryRun: true,
    idempotency: 'key',
    keyExample: 'example-of-create-enterprise-1',
    success: [{ status: 201, description: 'The new enterprise', type: EnterpriseDto }],
    body: CreateEnterpriseDto,
  })
  @Post('enterprises')
  createEnterprise(
    @Call() call: CallContext,
    @Body() enterprise: CreateEnterpriseDto,
  ): Promise<EnterpriseDto> {
    return this.orders.createEnterprise(call, enterprise);
  }

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
  @Get('enterprises/:enterpriseGlobalId/assets')
  listAssets(
    @Call() call: CallContext,
    @Param() { enterpriseGlobalId }: EnterprisePath,
    @Query() query: ListAssetsQuery,
  ): Promise<AssetPageDto> {
    return this.orders.listAssets(call, enterpriseGlobalId, query);
  }

  @Operation({
    id: 'getAsset',
    summary: 'One asset of an enterprise',
    description:
      'A platform may list locks in its member center only. Of such an asset only the id, the number and the member are known.',
    effect: 'read',
    scope: 'orders:read',
    upstream: 'listAssets',
    problems: ['asset-not-found'],
    success: [{ status: 200, description: 'The asset', type: AssetDto }],
  })
  @Get('enterprises/:enterpriseGlobalId/assets/:assetId')
  @ApiExtension('x-upstream-also', ['listAssetNums'])
  getAsset(@Call() call: CallContext, @Param() asset: SoughtAssetPath): Promise<AssetDto> {
    return this.orders.getAsset(call, asset);
  }
}
