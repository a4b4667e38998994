/** Order operations 1 to 4: binding, creating, querying and updating customers and their enterprises (section 4.1). */
import type { Call, Handler } from '../call.ts';
import { invalid } from '../errors.ts';
import { CRM_CHANNEL, INDUSTRY_CHANNEL, newCustomer, newEmployee, newEnterprise } from '../state/creation.ts';
import type { Customer } from '../state/records.ts';
import { Fields } from './fields.ts';

const BIND_FIELDS = new Set([
  'channelCode',
  'channelCustomerId',
  'customerName',
  'branchName',
  'enterpriseName',
  'passwordMobile',
]);

const CRM_FIELDS = new Set(['crmCustomerId', 'customerName', 'branchName', 'address']);

/**
 * Operation 1 binds a channel's customer id once. Binding it again under the same names returns the same customer, unchanged, and ignores
 * the rest of the body. Under another name of the customer or the enterprise it is refused. `enterpriseName` selects the enterprise of
 * exactly that name, on any channel. If none exists, one is made with an administrator `admin`, and this customer is its default.
 */
export const bindCustomer: Handler = (call) => {
  const fields = new Fields(call.body, '', BIND_FIELDS, call.settings);
  const channelCode = fields.requiredText('channelCode');
  const channelCustomerId = fields.requiredText('channelCustomerId');
  const customerName = fields.requiredText('customerName');
  const enterpriseName = fields.requiredText('enterpriseName');
  const passwordMobile = fields.text('passwordMobile');
  const branchName = fields.text('branchName');
  const bound = call.state.customerOfChannel(channelCode, channelCustomerId);
  if (bound !== undefined) {
    const view = customerView(call, bound);
    if (bound.customerName !== customerName)
      throw invalid('channelCustomerId is bound already, under another customerName');
    if (view['enterpriseName'] !== enterpriseName)
      throw invalid('channelCustomerId is bound already, to an enterprise of another enterpriseName');
    return view;
  }
  let enterprise = call.state.enterprises.by('name', enterpriseName)[0];
  if (enterprise === undefined) {
    enterprise = newEnterprise(call, { name: enterpriseName });
    newEmployee(call, enterprise, {
      account: 'admin',
      name: customerName,
      administrator: true,
      passwordMobile,
    });
  }
  const customer = newCustomer(call, {
    channelCode,
    channelCustomerId,
    customerName,
    branchName,
    passwordMobile,
    enterpriseGlobalId: enterprise.globalId,
    isDefault: call.state.defaultCustomer(enterprise.globalId) === undefined,
  });
  return customerView(call, customer);
};

/**
 * Operation 2 makes an enterprise named after the customer, its default customer on the channel `crm`, the industry-information customer on
 * the channel `industry` (both under the CRM number), the administrator `admin` and the matching employee `user`. A CRM number that already
 * has a customer is refused.
 */
export const createEnterprise: Handler = (call) => {
  const fields = new Fields(call.body, '', CRM_FIELDS, call.settings);
  const crmCustomerId = fields.requiredText('crmCustomerId');
  const customerName = fields.requiredText('customerName');
  const branchName = fields.text('branchName');
  const address = fields.text('address');
  if (call.state.customers.by('crm', crmCustomerId).length > 0)
    throw invalid('crmCustomerId has a customer already');
  const enterprise = newEnterprise(call, { name: customerName, address });
  for (const channelCode of [CRM_CHANNEL, INDUSTRY_CHANNEL]) {
    newCustomer(call, {
      channelCode,
      channelCustomerId: crmCustomerId,
      crmCustomerId,
      customerName,
      branchName,
      address,
      enterpriseGlobalId: enterprise.globalId,
      isDefault: channelCode === CRM_CHANNEL,
    });
  }
  const members = [
    newEmployee(call, enterprise, { account: 'admin', name: customerName, administrator: true }),
    newEmployee(call, enterprise, { account: 'user', name: customerName }),
  ];
  return {
    enterpriseGlobalId: enterprise.globalId,
    defaultType: true,
    members: members.map(({ globalId, userName }) => ({
      memberGlobalId: globalId,
      memberIdentity: userName,
    })),
  };
};

/**
 * Operation 3 finds customers. The channel's customer with that id leads to its enterprise: `Y` returns the enterprise's default customer,
 * `N` (and an absent value) all of its customers, both only on that channel. Without `channelCustomerId` it returns every customer of the
 * channel. Without a result it returns an empty array.
 */
export const queryCustomers: Handler = (call) => {
  const channelCode = call.query.get('channelCode') ?? '';
  const channelCustomerId = call.query.get('channelCustomerId') ?? '';
  const defaultCustomer = call.query.get('defaultCustomer') ?? '';
  if (channelCode === '') throw invalid('channelCode must not be empty');
  if (!['', 'Y', 'N'].includes(defaultCustomer)) throw invalid('defaultCustomer must be Y or N');
  return customersBeside(call, channelCode, channelCustomerId)
    .filter((customer) => customer.channelCode === channelCode)
    .filter((customer) => defaultCustomer !== 'Y' || customer.isDefault)
    .map((customer) => customerView(call, customer));
};

/**
 * Operation 4 changes name, branch and address for every customer under the CRM number. An absent one is kept or removed, as the profile
 * says. The answer has no `data`.
 */
export const updateCustomer: Handler = (call) => {
  const fields = new Fields(call.body, '', CRM_FIELDS, call.settings);
  const crmCustomerId = fields.requiredText('crmCustomerId');
  const customerName = fields.text('customerName');
  const branchName = fields.text('branchName');
  const address = fields.text('address');
  const customers = call.state.customers.by('crm', crmCustomerId);
  if (customers.length === 0) throw invalid('crmCustomerId is unknown');
  for (const customer of customers) {
    const kept =
      call.settings.profile.customerEdit === 'keeps'
        ? customer
        : { customerName: null, branchName: null, address: null };
    call.state.customers.change(customer.customerId, {
      customerName: customerName ?? kept.customerName,
      branchName: branchName ?? kept.branchName,
      address: address ?? kept.address,
      updateTime: call.clock.now(),
    });
  }
};

function customersBeside({ state }: Call, channelCode: string, channelCustomerId: string): Customer[] {
  if (channelCustomerId === '') return state.customers.all();
  const named = state.customerOfChannel(channelCode, channelCustomerId);
  if (named === undefined) return [];
  return named.enterpriseGlobalId === null ? [named] : state.customersOfEnterprise(named.enterpriseGlobalId);
}

/** Returns a customer in the form of section 2.2. */
function customerView({ state }: Call, customer: Customer): Record<string, unknown> {
  const { enterpriseGlobalId } = customer;
  const enterprise = enterpriseGlobalId === null ? undefined : state.enterprises.need(enterpriseGlobalId);
  return {
    customerId: customer.customerId,
    channelCode: customer.channelCode,
    channelCustomerId: customer.channelCustomerId,
    enterpriseGlobalId,
    enterpriseName: enterprise?.name ?? null,
    isDefault: customer.isDefault,
  };
}
