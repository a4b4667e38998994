import { Expose, Type } from 'class-transformer';
import type { OrderDto, OrderItemDto } from './naive.dto.ts';

/** Maps between the public words and the platform's, for the requests of the bench. */

export interface WireAsset {
  readonly id: string;
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
  const { id, keyChipType, freezing, assignStatus, assetExtends, borrowedUsbKey, ...others } = wire;
  const { createTime, updateTime, limitStartTime, limitEndTime, ...same } = others;
  return {
    ...same,
    assetId: id,
    keyGeneration: keyChipType + 3,
    frozen: freezing,
    createdAt: time(createTime),
    updatedAt: time(updateTime),
    startsAt: time(limitStartTime),
    endsAt: time(limitEndTime),
    assignment: {
      status: assignStatus.assignStatus,
      memberGlobalId: assignStatus.assignMemberId,
      createdAt: time(Number(assignStatus.createTime)),
      updatedAt: null,
    },
    extensions: assetExtends.map(({ extendCode, extendValue }) => ({ code: extendCode, value: extendValue })),
    lentLock: borrowedUsbKey,
  };
}

/** The fields that class-transformer exposes, if it shapes the responses. */
class AssignmentView {
  @Expose() status!: string;
  @Expose() memberGlobalId!: string;
  @Expose() createdAt!: string;
  @Expose() updatedAt!: string | null;
}

class ExtensionView {
  @Expose() code!: string;
  @Expose() value!: string;
}

export class AssetView {
  @Expose() assetId!: string;
  @Expose() licenseType!: string;
  @Expose() assetNum!: string;
  @Expose() grantable!: boolean;
  @Expose() customerId!: string;
  @Expose() keyShellNumber!: string;
  @Expose() keyGeneration!: number;
  @Expose() locked!: boolean;
  @Expose() frozen!: boolean;
  @Expose() createdAt!: string;
  @Expose() updatedAt!: string;
  @Expose() startsAt!: string | null;
  @Expose() endsAt!: string | null;
  @Expose() @Type(() => AssignmentView) assignment!: AssignmentView;
  @Expose() assetLimits!: unknown;
  @Expose() @Type(() => ExtensionView) extensions!: ExtensionView[];
  @Expose() lentLock!: boolean;
}

export function toBatch({ channelCode, channelOrderId, syncMode, items }: OrderDto): object {
  return { channelCode, channelOrderId, syncMode, orderList: items.map(toItem) };
}

function toItem({ customer, admin, assets, ...same }: OrderItemDto): object {
  return {
    ...same,
    ...customer,
    adminName: admin?.name,
    adminAccount: admin?.account,
    adminEmail: admin?.email,
    adminCellNumber: admin?.cellNumber,
    assets: assets.map(({ assetNums, extensions, startsAt, endsAt, lentLock, transferred, products }) => ({
      assetNos: assetNums,
      assetExtendList: extensions?.map(({ code, value }) => ({ extendCode: code, extendValue: value })),
      limitStartDate: startsAt && Date.parse(startsAt),
      limitEndDate: endsAt && Date.parse(endsAt),
      borrowedUsbKey: lentLock,
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
    })),
  };
}
