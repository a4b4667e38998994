import { Cache } from '@nestjs/cache-manager';
import { Injectable } from '@nestjs/common';
import { UpstreamConfig } from '../config/app-config.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import { environmentName, sha256 } from '../redis/key-names.ts';
import { problemFrom } from '../upstream/problems/as-problem.ts';
import type { CallContext } from '../request/call-context.ts';
import type { DryRun } from '../request/dry-run.ts';
import { ifShown } from '../upstream/if-shown.ts';
import { UpstreamClient } from '../upstream/upstream.client.ts';
import { MASK } from '../shared/secret-fields.ts';
import { validated } from '../validation/compiled-validation.ts';
import { nothing } from '../upstream/wire/reader.ts';
import { PlatformReadings } from '../upstream/platform-readings.ts';
import {
  CLEARABLE,
  type ClearableField,
  type EnterpriseMemberPath,
  type MemberDto,
  type ResetPasswordDto,
  UpdateMemberDto,
} from './dto/member.dto.ts';
import { MemberAssetsService } from './member-assets.service.ts';
import { type Confirm, MemberEdits } from './member-edits.ts';
import { type ListedMember, toMemberTerms } from './member.mapper.ts';
import { MemberSearch } from './member-search.ts';
import { isMasked, MASKED } from './mobile-number.ts';

const KEPT_MS = 24 * 60 * 60 * 1000;

type Acting = Pick<CallContext, 'user'>;
/** The fields that an edit may leave out, as far as the platform's list shows them. */
type ShownMember = Pick<ListedMember, ClearableField | 'hidden' | 'unreadable' | 'isMobilePart'>;

/**
 * Remembers deletes for a day until their outcome is known, so that a caller who repeats one gets 204 and not 404 (which also says that the
 * member is gone). Each belongs to its acting user, because the platform also has no such member for a user who may not see it. All replicas
 * share them.
 */
@Injectable()
export class UnsettledDeletes {
  readonly #prefix: string;

  constructor(
    config: UpstreamConfig,
    private readonly cache: Cache,
  ) {
    this.#prefix = `${environmentName(config.baseUrl)}:del:`;
  }

  async add(call: Acting, ids: EnterpriseMemberPath): Promise<void> {
    await this.cache.set(this.#keyOf(call, ids), '1', KEPT_MS);
  }

  async forget(call: Acting, ids: EnterpriseMemberPath): Promise<void> {
    await this.cache.del(this.#keyOf(call, ids));
  }

  async has(call: Acting, ids: EnterpriseMemberPath): Promise<boolean> {
    return (await this.cache.get(this.#keyOf(call, ids))) !== undefined;
  }

  #keyOf({ user }: Acting, { enterpriseGlobalId, memberGlobalId }: EnterpriseMemberPath): string {
    // Ids in a path have no slash.
    return this.#prefix + sha256(`${enterpriseGlobalId}/${memberGlobalId}/${user?.username ?? ''}`);
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
    private readonly edits: MemberEdits,
  ) {}

  /**
   * Updates a member. If the platform may clear absent fields, it reads the member first and sends all of its fields. Throws
   * `edit-would-lose` if it cannot send one of them. `mayBeHidden`: the fields that the platform's list may hide.
   */
  async updateMember(
    call: CallContext,
    ids: EnterpriseMemberPath,
    member: UpdateMemberDto,
    mayBeHidden?: readonly ClearableField[],
  ): Promise<void> {
    this.readings.assertClears('memberEdit', member);
    if (isMasked(member.passwordMobile))
      throw new ProblemException('validation-failed', {
        errors: [{ pointer: '/passwordMobile', detail: MASKED }],
      });
    const left = this.#leftOut(member);
    const edit = async (confirm?: Confirm) => {
      const shown = left.length === 0 ? {} : await this.#shown(call, ids, member, mayBeHidden);
      const body = { ...toMemberTerms({ ...shown, ...member }), ...hidden(call, shown) };
      await confirm?.();
      await this.upstream.call('editMember', call, { ids: { ...ids }, body }, nothing);
    };
    await (this.#keeps ? edit() : this.edits.run(call, ids, edit));
  }

  /** Returns the problem of an edit that would lose what the platform has of the member. Undefined if it loses nothing. */
  lossOf(edit: UpdateMemberDto, member: ShownMember): ProblemException | undefined {
    const { account, name } = edit;
    const left = this.#leftOut(edit);
    const { faults } = validated(UpdateMemberDto, { account, name, ...valuesOf(left, member) });
    const refused = new Set(faults.map(({ path: [field] }) => field));
    const fields = left.filter((field) => {
      const isPart = field === 'passwordMobile' && member.isMobilePart;
      const isShown = !member.hidden.includes(field) && !member.unreadable.includes(field);
      return isPart || !isShown || refused.has(field);
    });
    if (fields.length === 0) return undefined;
    return new ProblemException('edit-would-lose', {
      fields,
      detail: `The edit would lose what the platform has in ${fields.join(', ')}, which it does not show in a form that can be sent again. Give these fields too.`,
    });
  }

  get #keeps(): boolean {
    return this.readings.of('memberEdit') === 'keeps';
  }

  /** Returns the fields that the edit leaves out and the platform may clear. */
  #leftOut(edit: UpdateMemberDto): readonly ClearableField[] {
    return this.#keeps ? [] : CLEARABLE.filter((field) => edit[field] === undefined);
  }

  /** Returns the present values of the fields that the edit leaves out. */
  async #shown(
    call: CallContext,
    ids: EnterpriseMemberPath,
    edit: UpdateMemberDto,
    mayBeHidden: readonly ClearableField[] | undefined,
  ): Promise<Partial<Pick<MemberDto, ClearableField>>> {
    const left = this.#leftOut(edit);
    const member = await this.search.find(call, ids, edit.account, left, mayBeHidden);
    const loss = this.lossOf(edit, member);
    if (loss) throw loss;
    return valuesOf(left, member);
  }

  resetPassword(call: CallContext, ids: EnterpriseMemberPath, { password }: ResetPasswordDto): Promise<void> {
    return this.upstream.call('resetPassword', call, { ids: { ...ids }, body: { password } }, nothing);
  }

  /**
   * Deletes a member. A missing member is no failure if an earlier delete may have removed it: a caller may repeat a DELETE (docs/api.md,
   * section 4).
   */
  async deleteMember(call: CallContext, ids: EnterpriseMemberPath): Promise<void> {
    const send = () => this.upstream.call('deleteMember', call, { ids: { ...ids } }, nothing);
    if (call.dryRun) {
      await this.#showLeaving(call.dryRun, call, ids);
      return send();
    }
    // Deletes of one member run one after the other, because one that is still under way is no earlier one.
    await this.edits.run(call, ids, () => this.#deleteNext(call, ids, send));
  }

  async #deleteNext(call: CallContext, ids: EnterpriseMemberPath, send: () => Promise<void>): Promise<void> {
    const isRepeat = await this.unsettled.has(call, ids);
    // It is remembered before it is sent, because this process may end before it has the response.
    await this.unsettled.add(call, ids);
    try {
      await send();
    } catch (error) {
      const { slug, body } = problemFrom(error);
      if (body.outcome === 'unknown') throw error;
      const isGone = slug === 'member-not-found';
      // Another refusal says nothing about the earlier delete.
      if (isGone || !isRepeat) await this.unsettled.forget(call, ids);
      if (isGone && isRepeat) return;
      throw error;
    }
    await this.unsettled.forget(call, ids);
  }

  /** Shows the member who would be deleted, and the rights that would be lost with it. */
  async #showLeaving(dryRun: DryRun, call: CallContext, ids: EnterpriseMemberPath): Promise<void> {
    const member = await ifShown(
      () => this.search.getMember({ ...call, fresh: true }, ids),
      ({ slug }) => slug === 'member-not-found',
    );
    dryRun.add('member-removed', {
      ...ids,
      account: accountIn(member?.userName),
      readable: member !== undefined,
    });
    const all = await ifShown(() =>
      this.assets.wholeAssetNums(call, ids.enterpriseGlobalId, { fresh: true }),
    );
    if (!all) dryRun.add('number-withdrawn', { ...ids, readable: false });
    for (const { assetId, assetNum, memberGlobalId } of all ?? [])
      if (memberGlobalId === ids.memberGlobalId)
        dryRun.add('number-withdrawn', { ...ids, assetId, assetNum });
  }
}

/** Returns the account in a user name. Null if a code may end the user name that nothing separates from the account for certain. */
function accountIn(userName: string | null | undefined): string | null {
  const at = userName?.indexOf('@') ?? -1;
  return userName && at > 0 ? userName.slice(0, at) : null;
}

function valuesOf(
  fields: readonly ClearableField[],
  member: ShownMember,
): Partial<Pick<MemberDto, ClearableField>> {
  return Object.fromEntries(fields.map((field) => [field, member[field] ?? undefined]));
}

/** Returns masks for what a dry run would show of the member to a caller who may not read members. */
function hidden({ dryRun, caller }: CallContext, shown: object): object {
  if (!dryRun || caller.scopes?.has('members:read')) return {};
  const fields = Object.entries(shown).filter(([, value]) => value !== undefined);
  return Object.fromEntries(fields.map(([field]) => [field, MASK]));
}
