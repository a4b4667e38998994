import { ApiSchema } from '@nestjs/swagger';
import { PageDto, PageQuery } from '../../operation/page.dto.ts';
import { Names } from '../../tenancy/names.ts';
import { FlagParameter } from '../../validation/scalar-rules.ts';
import { Clearable, Identifier, ObjectRule, Optional, Text } from '../../validation/rules.ts';

@ApiSchema({
  description: 'A customer of a channel, and the enterprise to bind it to',
})
export class BindCustomerDto {
  /** Code of the sales channel. Only channels granted to the caller. */
  @Identifier({ example: 'crm' })
  @Names('channel')
  channelCode!: string;

  @Identifier({ example: 'CH-2001' })
  @Names('unbounded')
  channelCustomerId!: string;

  @Text({ example: 'Northwind Survey' })
  customerName!: string;

  /** Name of the enterprise main account that the customer is bound to. */
  @Text({ example: 'Northwind Survey' })
  enterpriseName!: string;

  @Optional()
  @Text({ example: 'Coast' })
  branchName?: string;

  @Optional()
  @Text({ example: '13800000001' })
  passwordMobile?: string;
}

export class FindCustomersQuery extends PageQuery {
  /** Code of the sales channel. Only channels granted to the caller. */
  @Identifier({ example: 'crm' })
  @Names('channel')
  channelCode!: string;

  /**
   * A customer's number in the channel. The platform's interface does not say whether it then lists this customer only, or all customers of the
   * enterprise to which the number belongs, so a customer in the response may have another number.
   */
  @Optional()
  @Identifier({ example: 'CH-1001' })
  @Names('filter')
  channelCustomerId?: string;

  /** `true`: only the default customer. */
  @Optional()
  @FlagParameter({ example: false, 'x-upstream': 'defaultCustomer' })
  defaultOnly: boolean = false;
}

export class CrmCustomerPath {
  /** The customer's number in the CRM. The gateway sends it to the platform in a body, so any id is possible. */
  @Identifier({ example: 'CRM-1001' })
  @Names('unbounded')
  crmCustomerId!: string;
}

@Clearable<UpdateCustomerDto>('branchName', 'address')
@ObjectRule<UpdateCustomerDto>(
  ({ customerName, branchName, address }) =>
    [customerName, branchName, address].some((field) => field !== undefined),
  'must have at least one of customerName, branchName, address',
)
@ApiSchema({
  description:
    'What changes; the rest stays as it is, unless the platform clears what an edit leaves out (`customerEdit` of its profile): it shows neither ' +
    'name, branch nor address, so the gateway cannot send them again, and a caller should give all three. `null` clears one where the profile ' +
    'says that the platform can, else it is 400',
})
export class UpdateCustomerDto {
  @Optional()
  @Text({ example: 'Harbour Engineering Ltd' })
  customerName?: string;

  @Optional()
  @Text({ example: 'Coast' })
  branchName?: string | null;

  @Optional()
  @Text({ example: '2 Harbour Road' })
  address?: string | null;
}

@ApiSchema({
  description: 'A customer of the platform, bound to an enterprise main account',
})
export class CustomerDto {
  customerId!: string;
  channelCode!: string | null;
  channelCustomerId!: string | null;
  enterpriseGlobalId!: string | null;
  enterpriseName!: string | null;
  isDefault!: boolean | null;
}

@ApiSchema({ description: 'One page of customers' })
export class CustomerPageDto extends PageDto {
  items!: CustomerDto[];
}
