import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { Reservations } from '../tenancy/reservations.ts';
import { type CallContext, isGranted } from '../upstream/call-context.ts';
import { isBound } from '../upstream/tenancy.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothing } from '../upstream/wire/reader.ts';
import type { WireBindRequest, WireEnterpriseRequest, WireLockRequest } from '../upstream/wire/order.ts';
import type { AssetDto, ListAssetsQuery } from './dto/asset.dto.ts';
import type { ReserveAssetNumsDto, ReservedAssetNumsDto } from './dto/asset-num.dto.ts';
import type {
  BindCustomerDto,
  CustomerDto,
  FindCustomersQuery,
  UpdateCustomerDto,
} from './dto/customer.dto.ts';
import type { CreateEnterpriseDto, EnterpriseDto } from './dto/enterprise.dto.ts';
import type { LockResultsDto, LocksDto } from './dto/lock.dto.ts';
import {
  toAssets,
  toCustomer,
  toCustomers,
  toEnterprise,
  toLockResults,
  toReservedAssetNums,
} from './order.mapper.ts';

/** The order module's operations but for orders themselves: map in, call, map out. */
@Injectable()
export class OrderService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly config: UpstreamConfig,
    private readonly reservations: Reservations,
  ) {}

  bindCustomer(call: CallContext, customer: BindCustomerDto): Promise<CustomerDto> {
    const body: WireBindRequest = { ...customer };
    return this.upstream.call('bindCustomer', call, { body }, toCustomer);
  }

  async findCustomers(
    call: CallContext,
    { channelCode, channelCustomerId, defaultOnly }: FindCustomersQuery,
  ): Promise<CustomerDto[]> {
    const query = { channelCode, channelCustomerId, defaultCustomer: defaultOnly ? 'Y' : 'N' };
    const found = await this.upstream.call('queryCustomers', call, { query }, toCustomers);
    // A channel has customers of several enterprises.
    const { enterprises } = call.caller.grants;
    return found.filter(({ enterpriseGlobalId }) => isGranted(enterprises, enterpriseGlobalId ?? ''));
  }

  updateCustomer(call: CallContext, crmCustomerId: string, changes: UpdateCustomerDto): Promise<void> {
    const body: WireEnterpriseRequest = { crmCustomerId, ...changes };
    return this.upstream.call('updateCustomer', call, { body }, nothing);
  }

  createEnterprise(call: CallContext, enterprise: CreateEnterpriseDto): Promise<EnterpriseDto> {
    const body: WireEnterpriseRequest = { ...enterprise };
    return this.upstream.call('createEnterprise', call, { body }, toEnterprise);
  }

  listAssets(
    call: CallContext,
    enterpriseGlobalId: string,
    { extendCode }: ListAssetsQuery,
  ): Promise<AssetDto[]> {
    const request = { ids: { enterpriseGlobalId }, query: { extendCode } };
    return this.upstream.call('listAssets', call, request, (data, notes) =>
      toAssets(data, this.config.timestampUnit, notes),
    );
  }

  switchLocks(
    call: CallContext,
    operation: 'disableLocks' | 'enableLocks',
    locks: LocksDto,
  ): Promise<LockResultsDto> {
    const { assetNums, operatorIdentity = call.caller.name } = locks;
    const left = call.reach?.left;
    const sent = left ? assetNums.filter((assetNum) => !left.has(assetNum)) : assetNums;
    if (sent.length === 0) return Promise.resolve(toLockResults([], assetNums, undefined, left));
    const body: WireLockRequest = { assetNums: sent, operatorIdentity };
    return this.upstream.call(operation, call, { body }, (data, notes) =>
      toLockResults(data, assetNums, notes, left),
    );
  }

  async reserveAssetNums(call: CallContext, { size }: ReserveAssetNumsDto): Promise<ReservedAssetNumsDto> {
    const items = await this.upstream.call('obtainAssetNums', call, { body: { size } }, toReservedAssetNums);
    const { name, grants } = call.caller;
    const numbers = items.map(({ keyShellNumber }) => keyShellNumber);
    if (isBound(grants)) await this.reservations.add(name, numbers);
    return { requested: size, items };
  }
}
