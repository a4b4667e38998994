import { rfc3339 } from '../shared/rfc3339.ts';
import type { EstateRowDto } from './estate.dto.ts';
import { earliestEnd, type EstateRow, NO_END } from './estate-row.ts';

export function toRow(row: EstateRow): EstateRowDto {
  const { asset, product, seenAt, enterpriseGlobalId } = row;
  const endsAt = earliestEnd(row);
  return {
    enterpriseGlobalId,
    assetId: asset.assetId,
    assetNum: asset.assetNum,
    licenseType: asset.licenseType,
    productId: product?.productId ?? null,
    productUri: product?.productUri ?? null,
    productName: product?.productName ?? null,
    packageNum: product?.packageNum ?? null,
    startsAt: product?.startsAt ?? asset.startsAt,
    endsAt: endsAt === NO_END ? null : timeText(endsAt),
    trial: product?.trial ?? null,
    limitConcurrent: product?.limitConcurrent ?? null,
    memberGlobalId: asset.memberGlobalId,
    lent: asset.lent,
    online: asset.online,
    lastOnlineAt: asset.lastOnlineAt,
    locked: asset.locked,
    frozen: asset.frozen,
    licenseOrderId: product?.licenseOrderId ?? null,
    channelOrderId: product?.channelOrderId ?? null,
    crmProductId: product?.crmProductId ?? null,
    seenAt: timeText(seenAt) ?? '',
  };
}

export function timeText(ms: number | null): string | null {
  return ms === null ? null : (rfc3339(ms) ?? null);
}
