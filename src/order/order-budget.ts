import { type Budgets, type BudgetUse, limitsOf } from '../budgets/state/budgets.ts';
import { ProblemException, type RequestFault } from '../problem/problem.exception.ts';
import type { OrderItemDto, PlaceOrderDto } from './dto/license-order.dto.ts';
import type { OrderProductDto } from './dto/order-product.dto.ts';
import { type Content, productsIn } from './order-content.ts';

/** The interface does not say which number means "no limit". The gateway reads a number below 1, or the largest of its type, as that. */
const LARGEST = 2_147_483_647;

/** Returns what the order takes from each budget of its caller: one order; the licences that it buys; the assets and products that it deletes. */
export function budgetUses({ items }: PlaceOrderDto, budgets: Budgets): BudgetUse[] {
  const amounts = {
    orders: 1,
    licences: budgets.licences === undefined ? 0 : licencesOf(items),
    deletions: items.reduce((sum, item) => sum + deletionsOf(item), 0),
  };
  return limitsOf(budgets).map(([budget, limit]) => ({ budget, amount: amounts[budget], limit }));
}

/** Returns the problem of a caller with a budget of licences whose order buys licences without a limit. Undefined for any other order. */
export function unlimitedProblem(
  { items }: PlaceOrderDto,
  budgets: Budgets | undefined,
): ProblemException | undefined {
  if (budgets?.licences === undefined) return undefined;
  const errors: RequestFault[] = boughtIn(items)
    .flatMap(({ asset, pointer }) => productsIn(asset, pointer))
    .filter(({ product: { limitConcurrent } }) => isUnlimited(limitConcurrent))
    .map(({ pointer }) => ({
      pointer: `${pointer}/limitConcurrent`,
      detail: 'must be a number of licences, since those of this caller are counted',
    }));
  return errors.length > 0 ? new ProblemException('forbidden', { errors }) : undefined;
}

function boughtIn(items: readonly OrderItemDto[]) {
  return items.flatMap((item, index) =>
    item.orderType === 'new_buy'
      ? item.assets.map((asset, at) => ({ asset, pointer: `/items/${index}/assets/${at}` }))
      : [],
  );
}

function licencesOf(items: readonly OrderItemDto[]): number {
  return boughtIn(items).reduce(
    (sum, { asset }) =>
      sum +
      Math.max(1, asset.assetNums?.length ?? 0) * countIn(asset, (product) => product.limitConcurrent ?? 1),
    0,
  );
}

/** Counts the products. What lists no product counts 1, because only the platform knows what is in a package. */
function countIn(
  { products = [], merchandises = [] }: Content,
  of: (product: OrderProductDto) => number,
): number {
  const own = products.reduce((sum, product) => sum + of(product), 0);
  const packaged = merchandises.reduce(
    (sum, { products: listed, children }) => sum + countIn({ products: listed, merchandises: children }, of),
    0,
  );
  return Math.max(1, own + packaged);
}

function isUnlimited(limit: number | undefined): boolean {
  return limit !== undefined && (limit < 1 || limit === LARGEST);
}

/** Counts a product once for each asset that it is deleted from. */
function deletionsOf(item: OrderItemDto): number {
  if (item.orderType === 'new_buy') return 0;
  return item.assets.reduce((sum, asset) => {
    const assets = asset.assetNums.length;
    if (item.orderType === 'delete_asset') return sum + assets;
    return sum + assets * countIn(asset, () => 1);
  }, 0);
}
