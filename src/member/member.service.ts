import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';
import { asProblem } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../upstream/call-context.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { nothing } from '../upstream/wire/reader.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import {
  CLEARABLE,
  type EnterpriseMemberPath,
  type MemberDto,
  type ResetPasswordDto,
  type UpdateMemberDto,
} from './dto/member.dto.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { toMemberTerms } from './member.mapper.ts';
import { MemberSearch } from './member-search.ts';

/** A long on the wire. */
const LONG = /^(0|[1-9]\d{0,18})$/;
/** They take about 2 MB. A day has only a few deletes with an unknown outcome. */
const MAX_REMEMBERED = 10_000;
const KEPT_MS = 24 * 60 * 60 * 1000;

/**
 * Remembers deletes with an unknown outcome, so that a caller who repeats one gets 204 and not 404 (which also says that the member is gone):
 * for a day, in Redis for all replicas, or the latest of them in this process, where there is no Redis or it is away.
 */
@Injectable()
export class UnsettledDeletes {
  readonly #local = new Set<string>();
  readonly #prefix: string;

  constructor(
    config: UpstreamConfig,
    private readonly redis: SharedRedis,
  ) {
    this.#prefix = `${environmentName(config.baseUrl)}:del:`;
  }

  async add(enterpriseGlobalId: string, memberGlobalId: string): Promise<void> {
    const key = this.#keyOf(enterpriseGlobalId, memberGlobalId);
    const shared = await this.redis
      .run((client) => client.set(key, '1', 'PX', KEPT_MS))
      .catch(() => undefined);
    if (shared) return;
    this.#local.delete(key);
    this.#local.add(key);
    const [oldest] = this.#local;
    if (this.#local.size > MAX_REMEMBERED && oldest !== undefined) this.#local.delete(oldest);
  }

  /** Forgets the delete. Returns true where it was remembered. */
  async settle(enterpriseGlobalId: string, memberGlobalId: string): Promise<boolean> {
    const key = this.#keyOf(enterpriseGlobalId, memberGlobalId);
    const removed = await this.redis.run((client) => client.del(key)).catch(() => 0);
    return this.#local.delete(key) || removed === 1;
  }

  #keyOf(enterpriseGlobalId: string, memberGlobalId: string): string {
    // Path ids have no slash.
    return this.#prefix + sha256(`${enterpriseGlobalId}/${memberGlobalId}`);
  }
}

@Injectable()
export class MemberService {
  constructor(
    private readonly upstream: UpstreamClient,
    private readonly search: MemberSearch,
    private readonly readings: PlatformReadings,
    private readonly unsettled: UnsettledDeletes,
    private readonly assets: MemberAssetsService,
  ) {}

  /** Where the platform may clear what an edit leaves out, the gateway reads the member first and sends all of its fields. */
  async updateMember(call: CallContext, ids: EnterpriseMemberPath, member: UpdateMemberDto): Promise<void> {
    this.readings.assertClears('memberEdit', member);
    const isWhole = CLEARABLE.every((field) => member[field] !== undefined);
    const shown =
      isWhole || this.readings.of('memberEdit') === 'keeps' ? {} : await this.#shown(call, ids, member);
    const body = toMemberTerms({ ...shown, ...member });
    await this.upstream.call('editMember', call, { ids: { ...ids }, body }, nothing);
  }

  /** As the platform has it now: found by its account, or else in the list, where the edit renames it. */
  async #shown(
    call: CallContext,
    ids: EnterpriseMemberPath,
    { account: keyword }: UpdateMemberDto,
  ): Promise<Pick<MemberDto, (typeof CLEARABLE)[number]>> {
    const { enterpriseGlobalId, memberGlobalId } = ids;
    let found: MemberDto | undefined;
    for await (const { items } of this.search.allMembers(call, enterpriseGlobalId, { keyword }))
      if ((found = items.find((each) => each.memberGlobalId === memberGlobalId))) break;
    const { departmentId, remark, passwordMobile } =
      found ?? (await this.search.getMember({ ...call, fresh: true }, ids));
    if (departmentId !== null && !LONG.test(departmentId))
      throw new ProblemException('upstream-contract-violation', {
        outcome: 'not_processed',
        detail: 'The department of the member cannot be sent again: it is no number of 64 bits. Name one.',
      });
    return { departmentId, remark, passwordMobile };
  }

  resetPassword(call: CallContext, ids: EnterpriseMemberPath, { password }: ResetPasswordDto): Promise<void> {
    return this.upstream.call('resetPassword', call, { ids: { ...ids }, body: { password } }, nothing);
  }

  /** A missing member is no failure where an earlier delete may have removed it: a caller may repeat a DELETE (docs/api.md, section 4). */
  async deleteMember(call: CallContext, ids: EnterpriseMemberPath): Promise<void> {
    const { enterpriseGlobalId, memberGlobalId } = ids;
    if (call.dryRun)
      for (const { assetNum, memberGlobalId: owner } of await this.assets.wholeAssetNums(
        call,
        enterpriseGlobalId,
      ))
        if (owner === memberGlobalId) call.dryRun.effects.push({ assetNum });
    try {
      await this.upstream.call('deleteMember', call, { ids: { ...ids } }, nothing);
      await this.unsettled.settle(enterpriseGlobalId, memberGlobalId);
    } catch (error) {
      const problem = asProblem(error);
      if (!(problem instanceof ProblemException)) throw error;
      const { code, outcome } = problem.body;
      if (outcome === 'unknown') await this.unsettled.add(enterpriseGlobalId, memberGlobalId);
      if (code !== 'member-not-found' || !(await this.unsettled.settle(enterpriseGlobalId, memberGlobalId)))
        throw error;
    }
  }
}
