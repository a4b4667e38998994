/** The effects of time on records: ends of assets and products, and the end of an order's length of time. */
import type { Asset, ProductInstance } from './records.ts';

/** The last instant that an RFC 3339 time can name. */
export const LAST_INSTANT = Date.UTC(9999, 11, 31, 23, 59, 59, 999);

/** True if the asset's validity is over. */
export function isExpired({ limitEndTime }: Asset, now: number): boolean {
  return limitEndTime !== null && limitEndTime <= now;
}

/** True if a product can be used now: it has begun, and neither it, nor its trial, nor its asset has ended. */
export function isUsable(product: ProductInstance, asset: Asset, now: number): boolean {
  const { active, limitStartTime, limitEndTime, trial, trialEndTime } = product;
  const ends = [limitEndTime, trial === 1 ? trialEndTime : null];
  return (
    active &&
    (limitStartTime === null || limitStartTime <= now) &&
    ends.every((end) => end === null || end > now) &&
    !isExpired(asset, now)
  );
}

/**
 * Returns the end of a length of time in `y-m-d` form, by the calendar in UTC. A month after 31 January is the last day of February. Null
 * for a length of zero.
 */
export function endAfter(start: number, expression: string): number | null {
  const [years = 0, months = 0, days = 0] = expression.split('-').map(Number);
  if (years + months + days === 0) return null;
  const date = new Date(start);
  const day = date.getUTCDate();
  date.setUTCDate(1);
  date.setUTCMonth(date.getUTCMonth() + years * 12 + months + 1, 0);
  date.setUTCDate(Math.min(day, date.getUTCDate()) + days);
  const end = date.getTime();
  return Number.isNaN(end) ? null : Math.min(end, LAST_INSTANT);
}
