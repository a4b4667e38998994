import { UpstreamName } from '../../operation/answer-fields.ts';
import { Names } from '../../tenancy/names.ts';
import { Identifier, Optional, PathId, Text } from '../../validation/rules.ts';

export class CreateEnterpriseDto {
  /** The customer's number in the CRM. */
  @Identifier({ example: 'CRM-3001' })
  @Names('unbounded')
  crmCustomerId!: string;

  @Text(200, { example: 'Lighthouse Design' })
  customerName!: string;

  @Optional()
  @Text(200, { example: 'Coast' })
  branchName?: string;

  @Optional()
  @Text(500, { example: '1 Beacon Street' })
  address?: string;
}

/** One employee that came with the enterprise. */
export class EnterpriseMemberDto {
  memberGlobalId!: string | null;
  memberIdentity!: string | null;
}

/** A new enterprise main account (interface section 2.3). */
export class EnterpriseDto {
  enterpriseGlobalId!: string;
  /** Whether its customer is the default customer. */
  @UpstreamName('defaultType')
  isDefault!: boolean | null;
  members!: EnterpriseMemberDto[];
}

export class EnterpriseParams {
  /** Only enterprises granted to the caller. */
  @PathId({ example: 'ent-harbour' })
  @Names('enterprise')
  enterpriseGlobalId!: string;
}
