import { WholeNumberParameter } from '../validation/scalar-rules.ts';
import { Optional } from '../validation/rules.ts';
import { Count } from './response-fields.ts';

const MAX_PAGE = 1_000_000;
const MAX_PAGE_SIZE = 1_000;
const DEFAULT_PAGE_SIZE = 100;

export class PageQuery {
  @Optional()
  @WholeNumberParameter(1, MAX_PAGE, { example: 1 })
  page: number = 1;

  @Optional()
  @WholeNumberParameter(1, MAX_PAGE_SIZE, { example: DEFAULT_PAGE_SIZE })
  pageSize: number = DEFAULT_PAGE_SIZE;
}

/** The fields of every page besides its `items`. */
export abstract class PageDto {
  @Count()
  page!: number;

  @Count()
  pageSize!: number;

  @Count()
  total!: number;

  @Count()
  totalPages!: number;
}

export function pageOf<T>(list: readonly T[], query: PageQuery): PageDto & { items: T[] } {
  const first = (query.page - 1) * query.pageSize;
  return pageWith(list.slice(first, first + query.pageSize), list.length, query);
}

/** Returns a page with these items of a list that has `total` of them. */
export function pageWith<T>(
  items: T[],
  total: number,
  { page, pageSize }: PageQuery,
): PageDto & { items: T[] } {
  return { items, page, pageSize, total, totalPages: Math.ceil(total / pageSize) };
}
