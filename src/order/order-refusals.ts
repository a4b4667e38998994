import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import type { PlatformReadings } from '../upstream/platform-readings.ts';
import { MAX_FAULTS } from '../validation/compiled-validation.ts';
import type { OrderItemDto, PlaceOrderDto } from './dto/license-order.dto.ts';
import { type Content, productsIn } from './order-content.ts';

const NOBODY = 'must say for whom the purchase is';
const NO_PACKAGES =
  'the platform is not known to delete packages (reading packagesInDeletion of its profile)';
/** The last time whose seconds fit into 32 bits. */
const MAX_SECONDS_MS = (2 ** 31 - 1) * 1_000 + 999;
const NO_SUCH_SECONDS =
  'must not be later than 2038-01-19T03:14:07Z: the platform takes seconds in 32 bits (reading productTrialEnd of its profile)';

const MAX_LATER_DAYS = 400;
/** A caller that names the time of its request as `notBefore` is always a little late. */
const MAX_PAST_MS = 60_000;

/**
 * Returns the problem of what the platform does not accept, or is not known to accept (src/config/readings.ts); undefined where it accepts the
 * order. A caller with a limited set of enterprises has been refused an item without a customer before.
 */
export function notTaken({ items }: PlaceOrderDto, readings: PlatformReadings): ProblemException | undefined {
  const errors: RequestFault[] = [];
  const most = readings.of('maxOrdersPerBatch') ?? items.length;
  if (items.length > most)
    errors.push({
      pointer: '/items',
      detail: `must be a list of 1 to ${most} objects: the platform takes no more`,
    });
  const takesPackages = readings.of('packagesInDeletion') === 'taken';
  const hasSeconds = readings.of('productTrialEnd') === 'seconds';
  for (const [index, item] of items.entries()) {
    const pointer = `/items/${index}/assets`;
    // Rule 1 of section 4.1.
    if (item.orderType === 'new_buy' && Object.values(item.customer).every((value) => value === undefined))
      errors.push({ pointer: `/items/${index}/customer`, detail: NOBODY });
    if (!takesPackages) errors.push(...packagesIn(item, pointer));
    if (hasSeconds) errors.push(...lateTrialsIn(item, pointer));
  }
  return errors.length > 0
    ? new ProblemException('validation-failed', { errors: errors.slice(0, MAX_FAULTS) })
    : undefined;
}

function packagesIn(item: OrderItemDto, pointer: string): RequestFault[] {
  if (item.orderType !== 'delete_product') return [];
  return item.assets.flatMap(({ products, merchandises }, at) => [
    ...(products?.length
      ? []
      : [{ pointer: `${pointer}/${at}/products`, detail: `must name a product: ${NO_PACKAGES}` }]),
    ...(merchandises?.length
      ? [{ pointer: `${pointer}/${at}/merchandises`, detail: `must be empty: ${NO_PACKAGES}` }]
      : []),
  ]);
}

function lateTrialsIn({ assets }: OrderItemDto, pointer: string): RequestFault[] {
  return (assets as readonly Content[])
    .flatMap((asset, at) => productsIn(asset, `${pointer}/${at}`))
    .filter(
      ({ product: { trialEndsAt } }) => trialEndsAt !== undefined && Date.parse(trialEndsAt) > MAX_SECONDS_MS,
    )
    .map((late) => ({ pointer: `${late.pointer}/trialEndsAt`, detail: NO_SUCH_SECONDS }));
}

/** Returns why an order cannot have this `notBefore` (in ms); undefined where it can. */
export function timeProblem(notBefore: number, now: number): ProblemException | undefined {
  if (notBefore < now - MAX_PAST_MS)
    return wrongTime('must not be in the past: leave it out to place the order now');
  if (notBefore > now + MAX_LATER_DAYS * 24 * 3_600_000)
    return wrongTime(`must be at most ${MAX_LATER_DAYS} days away`);
  return undefined;
}

function wrongTime(detail: string): ProblemException {
  return new ProblemException('validation-failed', { errors: [{ pointer: '/notBefore', detail }] });
}
