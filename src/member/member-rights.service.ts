import { Injectable } from '@nestjs/common';
import { ProblemException } from '../problem/problem.exception.ts';
import { isNamed, tagOf } from '../operation/response.ts';
import type { CallContext } from '../request/call-context.ts';
import type { DryRun } from '../request/dry-run.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothing } from '../upstream/wire/reader.ts';
import type { WholeList } from '../upstream/wire/whole-list.ts';
import {
  type AssetNumDto,
  type ChangeAssetNumsDto,
  ListAssetNumsQuery,
  type RightsChangeDto,
  type SetAssetNumsDto,
} from './dto/member-assets.dto.ts';
import type { EnterpriseMemberPath } from './dto/member.dto.ts';
import { type Confirm, MemberEdits } from './member-edits.ts';
import { MemberAssetsService, pageOfMember } from './member-assets.service.ts';

/**
 * Changes the rights of a member. It sends only the difference, because the platform refuses a number that the member has. A caller may
 * therefore repeat a change after a lost response.
 */
@Injectable()
export class MemberRightsService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly assets: MemberAssetsService,
    private readonly edits: MemberEdits,
  ) {}

  set(
    call: CallContext,
    ids: EnterpriseMemberPath,
    { assetNums }: SetAssetNumsDto,
    ifMatch: string | undefined,
  ): Promise<RightsChangeDto> {
    return this.edits.run(call, ids, async (confirm) => {
      const rights = await this.#read(call, ids, ifMatch);
      const wanted = new Set(assetNums);
      const surplus = rights.own.filter(({ assetNum }) => !wanted.has(assetNum));
      const withdraw = await this.#withoutLentLocks(call, ids, surplus);
      return this.#apply(call, ids, { assign: assetNums, withdraw }, rights, confirm);
    });
  }

  change(
    call: CallContext,
    ids: EnterpriseMemberPath,
    changes: ChangeAssetNumsDto,
    ifMatch: string | undefined,
  ): Promise<RightsChangeDto> {
    return this.edits.run(call, ids, async (confirm) =>
      this.#apply(call, ids, changes, await this.#read(call, ids, ifMatch), confirm),
    );
  }

  async #read(
    call: CallContext,
    { enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath,
    ifMatch: string | undefined,
  ): Promise<Rights> {
    const all = await this.assets.wholeAssetNums(call, enterpriseGlobalId, { fresh: true });
    const own = all.filter((each) => each.memberGlobalId === memberGlobalId);
    const ownNums = own.map(({ assetNum }) => assetNum);
    call.authorisedIds?.add('assetNum', ownNums);
    const isRead = () => isNamed(ifMatch, tagOf(pageOfMember(own, new ListAssetNumsQuery())));
    return { all, own, isOther: ifMatch !== undefined && !isRead() };
  }

  /**
   * Leaves out lent locks. The platform lists a lock that is lent to the member among the member's numbers, but it is no right that can be
   * withdrawn.
   */
  async #withoutLentLocks(
    call: CallContext,
    { enterpriseGlobalId }: EnterpriseMemberPath,
    surplus: readonly AssetNumDto[],
  ): Promise<string[]> {
    const nums = surplus.map(({ assetNum }) => assetNum);
    if (surplus.every(({ lent }) => lent === false)) return nums;
    const locks = await this.assets.wholeLentLocks(call, enterpriseGlobalId, { fresh: true });
    const lockNums = new Set(locks.map(({ assetNum }) => assetNum));
    return nums.filter((assetNum) => !lockNums.has(assetNum));
  }

  /** Sends both lists, because the platform requires both, even if one is empty. */
  async #apply(
    call: CallContext,
    ids: EnterpriseMemberPath,
    { assign, withdraw }: ChangeAssetNumsDto,
    { all, own, isOther }: Rights,
    confirm: Confirm,
  ): Promise<RightsChangeDto> {
    const owned = new Set(own.map(({ assetNum }) => assetNum));
    // The platform's list may have a number twice.
    const [adding, leaving] = [[...new Set(assign)], [...new Set(withdraw)]];
    const assigned = adding.filter((assetNum) => !owned.has(assetNum));
    const withdrawn = leaving.filter((assetNum) => owned.has(assetNum));
    // If nothing is left to change, an earlier request with this tag may have changed it, and its response was lost (RFC 9110, 13.1.1).
    if (isOther && assigned.length + withdrawn.length > 0) throw new ProblemException('precondition-failed');
    const conflicts = conflictsOf(assigned, all);
    if (conflicts.length > 0)
      throw new ProblemException('asset-assigned-twice', { conflicts: shownTo(call, conflicts) });
    const kept = adding.filter((assetNum) => owned.has(assetNum));
    if (call.dryRun) show(call.dryRun, ids, all, { assigned, withdrawn, kept });
    if (assigned.length + withdrawn.length > 0) {
      const { memberGlobalId } = ids;
      await confirm();
      const body = { deleteAssets: withdrawn, addAssets: assigned };
      await this.upstream
        .call('changePrivileges', call, { ids: { memberGlobalId }, body }, nothing)
        .catch(async (error: unknown) => {
          throw await this.#withConflicts(error, call, ids, assigned);
        });
    }
    return { assigned, withdrawn, kept };
  }

  /** Adds to the platform's refusal who has the numbers by now. There is nobody in it if that cannot be read. */
  async #withConflicts(
    error: unknown,
    call: CallContext,
    { enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath,
    assigned: readonly string[],
  ): Promise<unknown> {
    const problem = asProblem(error);
    if (!(problem instanceof ProblemException) || problem.slug !== 'asset-assigned-twice') return error;
    const all = await this.assets
      .wholeAssetNums(call, enterpriseGlobalId, { fresh: true })
      .catch(() => undefined);
    const conflicts = all ? conflictsOf(assigned, all) : [];
    return new ProblemException('asset-assigned-twice', {
      conflicts: shownTo(
        call,
        conflicts.filter((each) => each.memberGlobalId !== memberGlobalId),
      ),
      upstream: problem.body.upstream,
      cause: error,
    });
  }
}

interface Rights {
  readonly all: WholeList<AssetNumDto>;
  readonly own: readonly AssetNumDto[];
  /** True if `If-Match` names other content. */
  readonly isOther: boolean;
}

function show(
  dryRun: DryRun,
  ids: EnterpriseMemberPath,
  all: WholeList<AssetNumDto>,
  { assigned, withdrawn, kept }: RightsChangeDto,
): void {
  const assetIds = new Map(all.map(({ assetNum, assetId }) => [assetNum, assetId]));
  for (const [kind, assetNums] of [
    ['number-assigned', assigned],
    ['number-withdrawn', withdrawn],
    ['number-kept', kept],
  ] as const)
    for (const assetNum of assetNums) {
      const assetId = assetIds.get(assetNum) ?? null;
      dryRun.add(kind, { ...ids, assetNum, assetId, readable: assetIds.has(assetNum) });
    }
}

/** Returns no holder of a number to a caller who may not read members. */
function shownTo<T>({ caller }: CallContext, conflicts: readonly T[]): readonly T[] {
  return caller.scopes?.has('members:read') ? conflicts : [];
}

function conflictsOf(assigned: readonly string[], all: WholeList<AssetNumDto>) {
  const wanted = new Set(assigned);
  return all.flatMap(({ assetNum, memberGlobalId }) =>
    memberGlobalId !== null && wanted.has(assetNum) ? [{ assetNum, memberGlobalId }] : [],
  );
}
