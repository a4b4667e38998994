import { Expose, Type } from 'class-transformer';
import type { OrderDto, OrderItemDto } from './naive.dto.ts';

/** Between the public words and the platform's, for what the bench asks. */

export interface WireAsset {
  readonly keyChipType: number;
  readonly freezing: boolean;
  readonly createTime: number;
  readonly updateTime: number;
  readonly limitStartTime: number | null;
  readonly limitEndTime: number | null;
  readonly assignStatus: { id: string; assignStatus: string; assignMemberId: string; createTime: string };
  readonly assetExtends: { extendCode: string; extendValue: string }[];
  readonly borrowedUsbKey: boolean;
}

const time = (long: number | null) => (long === null ? null : new Date(long).toISOString());

export function toAsset(wire: WireAsset): object {
  const { keyChipType, freezing, assignStatus, assetExtends, borrowedUsbKey, ...same } = wire;
  return {
    ...same,
    keyGeneration: keyChipType + 3,
    frozen: freezing,
    createTime: time(wire.createTime),
    updateTime: time(wire.updateTime),
    limitStartTime: time(wire.limitStartTime),
    limitEndTime: time(wire.limitEndTime),
    assignStatus: {
      id: assignStatus.id,
      assignStatus: assignStatus.assignStatus,
      memberGlobalId: assignStatus.assignMemberId,
      createTime: time(Number(assignStatus.createTime)),
    },
    extensions: assetExtends.map(({ extendCode, extendValue }) => ({ code: extendCode, value: extendValue })),
    lent: borrowedUsbKey,
  };
}

/** What class-transformer lets out, where it shapes the answers. */
class AssignmentView {
  @Expose() id!: string;
  @Expose() assignStatus!: string;
  @Expose() memberGlobalId!: string;
  @Expose() createTime!: string;
}

class ExtensionView {
  @Expose() code!: string;
  @Expose() value!: string;
}

export class AssetView {
  @Expose() id!: string;
  @Expose() licenseType!: string;
  @Expose() assetNum!: string;
  @Expose() grantable!: boolean;
  @Expose() customerId!: string;
  @Expose() keyShellNumber!: string;
  @Expose() keyGeneration!: number;
  @Expose() locked!: boolean;
  @Expose() frozen!: boolean;
  @Expose() createTime!: string;
  @Expose() updateTime!: string;
  @Expose() limitStartTime!: string | null;
  @Expose() limitEndTime!: string | null;
  @Expose() @Type(() => AssignmentView) assignStatus!: AssignmentView;
  @Expose() assetLimits!: unknown;
  @Expose() @Type(() => ExtensionView) extensions!: ExtensionView[];
  @Expose() lent!: boolean;
}

export function toBatch({ channelCode, channelOrderId, syncMode, orders }: OrderDto): object {
  return { channelCode, channelOrderId, syncMode, orderList: orders.map(toItem) };
}

function toItem({ customer, admin, assets, ...same }: OrderItemDto): object {
  return {
    ...same,
    ...customer,
    adminName: admin?.name,
    adminAccount: admin?.account,
    adminEmail: admin?.email,
    adminCellNumber: admin?.cellNumber,
    assets: assets.map(
      ({ assetNums, extensions, limitStartTime, limitEndTime, lent, transferred, products }) => ({
        assetNos: assetNums,
        assetExtendList: extensions?.map(({ code, value }) => ({ extendCode: code, extendValue: value })),
        limitStartDate: limitStartTime && Date.parse(limitStartTime),
        limitEndDate: limitEndTime && Date.parse(limitEndTime),
        borrowedUsbKey: lent,
        transferedAssetNum: transferred,
        products: products.map(({ features, ...product }) => ({
          ...product,
          productFeatures: features?.map(({ code, name, value, valueType }) => ({
            featureCode: code,
            featureName: name,
            featureValue: value,
            featureValueType: valueType,
          })),
        })),
      }),
    ),
  };
}
