/** The page object of section 2.10, filled as PageHelper fills it, the library whose shape it has. */

/** The page numbers that are shown around the current one. */
const NAVIGATE_PAGES = 8;

interface PageObject<Item> {
  readonly pageNum: number;
  readonly pageSize: number;
  readonly size: number;
  readonly orderBy: null;
  /** The positions of the first and last item, counted from 1. 0 on an empty page. */
  readonly startRow: number;
  readonly endRow: number;
  readonly total: number;
  readonly pages: number;
  readonly list: readonly Item[];
  /** The first and last of `navigatepageNums`, not of all pages. 0 if there are none. */
  readonly firstPage: number;
  readonly lastPage: number;
  /** 0 if the page does not exist. */
  readonly prePage: number;
  readonly nextPage: number;
  readonly isFirstPage: boolean;
  readonly isLastPage: boolean;
  readonly hasPreviousPage: boolean;
  readonly hasNextPage: boolean;
  readonly navigatePages: number;
  readonly navigatepageNums: readonly number[];
}

/** Cuts one page out of all rows. A page beyond the last is empty. */
export function pageOf<Row, Item>(
  rows: readonly Row[],
  pageNum: number,
  pageSize: number,
  show: (row: Row) => Item,
): PageObject<Item> {
  const before = (pageNum - 1) * pageSize;
  const list = rows.slice(before, before + pageSize).map(show);
  const total = rows.length;
  const pages = Math.ceil(total / pageSize);
  const navigatepageNums = numbersAround(pageNum, pages);
  const startRow = list.length === 0 ? 0 : before + 1;
  return {
    pageNum,
    pageSize,
    size: list.length,
    orderBy: null,
    startRow,
    endRow: list.length === 0 ? 0 : before + list.length,
    total,
    pages,
    list,
    firstPage: navigatepageNums[0] ?? 0,
    prePage: pageNum > 1 && pages > 0 ? pageNum - 1 : 0,
    nextPage: pageNum < pages ? pageNum + 1 : 0,
    lastPage: navigatepageNums.at(-1) ?? 0,
    isFirstPage: pageNum === 1,
    isLastPage: pageNum === pages || pages === 0,
    hasPreviousPage: pageNum > 1,
    hasNextPage: pageNum < pages,
    navigatePages: NAVIGATE_PAGES,
    navigatepageNums,
  };
}

function numbersAround(pageNum: number, pages: number): number[] {
  const length = Math.min(pages, NAVIGATE_PAGES);
  const last = pages - length + 1;
  const first = Math.max(1, Math.min(pageNum - NAVIGATE_PAGES / 2, last));
  return Array.from({ length }, (_, place) => first + place);
}
