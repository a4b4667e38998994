import { WholeNumberParameter } from '../validation/scalar-rules.ts';
import { Optional } from '../validation/rules.ts';
import { Count } from './response-fields.ts';

const MAX_PAGE = 1_000_000;
const MAX_PAGE_SIZE = 1_000;
const DEFAULT_PAGE_SIZE = 100;

/** The page of a list that a caller asks for. */
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

/** Returns one page of a whole list. */
export function pageOf<T>(list: readonly T[], { page, pageSize }: PageQuery): PageDto & { items: T[] } {
  const first = (page - 1) * pageSize;
  return {
    items: list.slice(first, first + pageSize),
    page,
    pageSize,
    total: list.length,
    totalPages: Math.ceil(list.length / pageSize),
  };
}
