import { describe, expect, it } from '@jest/globals';
import { MemberList } from './member-list.ts';
import type { AskPage } from './member-pages.ts';
import type { PageLimit } from './page-limit.ts';

/** Pages of callers on a platform that leaves members out. Whole lists: test/e2e/member-lists.e2e.ts. */

interface Member {
  readonly memberGlobalId: string;
  readonly deleted: boolean;
}

/** Knows nothing of the platform, but that its first page is page 1. */
const limit = {
  firstPage: 1,
  size: async () => 200,
  listsDeleted: async () => false,
  learn: async () => undefined,
  isGiven: () => true,
  gave: () => undefined,
  beginsWith: () => undefined,
  note: () => undefined,
} as unknown as PageLimit;

/** A platform that counts `total` members, and does not show those of `hidden`. */
function platform(total: number, shown: number, hidden: (position: number) => boolean): AskPage<Member> {
  const all = Array.from({ length: shown }, (_, at) => ({ memberGlobalId: `m${at}`, deleted: false }));
  return (wanted) => {
    const [pageNum, pageSize] = [Number(wanted.pageNum), Number(wanted.pageSize)];
    const from = (pageNum - 1) * pageSize;
    const items = all.slice(from, from + pageSize).filter((_, at) => !hidden(from + at));
    return Promise.resolve({
      items,
      came: items.length,
      ...{ pageNum, pageSize, total, startRow: from + 1 },
      isFirst: pageNum === 1,
      isLast: pageNum * pageSize >= total,
    });
  };
}

const read = (ask: AskPage<Member>, page: number) => new MemberList(limit).page(ask, { page, pageSize: 50 });

describe('C31 a page of a platform that counts more members than it shows', () => {
  it('is an error if the list goes on after the page, or if the page shows nobody', async () => {
    const somewhere = platform(236, 236, (position) => position >= 80 && position < 100);
    await expect(read(somewhere, 2)).rejects.toMatchObject({ slug: 'upstream-contract-violation' });
    await expect(
      read(
        platform(236, 236, (position) => position >= 200),
        5,
      ),
    ).rejects.toMatchObject({
      slug: 'upstream-contract-violation',
    });
  });

  it('has the end of the list as its total if the list ends on the page', async () => {
    const { items, total } = await read(
      platform(286, 236, () => false),
      5,
    );
    expect([items.length, total]).toEqual([36, 236]);
  });

  it('has the members and the total of a platform that shows what it counts', async () => {
    const { items, total } = await read(
      platform(236, 236, () => false),
      2,
    );
    expect([items[0]?.memberGlobalId, items.length, total]).toEqual(['m50', 50, 236]);
  });
});
