import { ApiSchema } from '@nestjs/swagger';
import { UpstreamName } from '../../operation/response-fields.ts';
import { Names } from '../../tenancy/names.ts';
import { Identifier, Optional, Text } from '../../validation/rules.ts';

@ApiSchema({
  description: 'A new enterprise and its first customer',
})
export class CreateEnterpriseDto {
  @Identifier({ example: 'CRM-3001' })
  @Names('unbounded')
  crmCustomerId!: string;

  @Text({ example: 'Lighthouse Design' })
  customerName!: string;

  @Optional()
  @Text({ example: 'Coast' })
  branchName?: string;

  @Optional()
  @Text({ example: '1 Beacon Street' })
  address?: string;
}

@ApiSchema({ description: 'An employee that came with the enterprise' })
export class EnterpriseMemberDto {
  memberGlobalId!: string;
  memberIdentity!: string | null;
}

@ApiSchema({ description: 'A new enterprise main account' })
export class EnterpriseDto {
  enterpriseGlobalId!: string;
  /** Whether its customer is the default customer. */
  @UpstreamName('defaultType')
  isDefault!: boolean | null;
  /** The employees that came with it: its administrator, and the employee of the default customer. */
  members!: EnterpriseMemberDto[];
}
