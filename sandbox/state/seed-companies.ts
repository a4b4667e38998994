/** Further companies, as many as are asked for: each has assets with products that end in the three years from now. */
import type { World } from '../call.ts';
import { newAsset, newCustomer, newEmployee, newEnterprise } from './creation.ts';
import type { Companies } from '../options.ts';
import type { LicenseType } from './records.ts';
import { seedOrder } from './seed-orders.ts';

const DAY_MS = 86_400_000;
/** Ends spread over so many days from the start: the first have ended, so that a list shows that, too. */
const SPREAD_DAYS = 1_100;
const ENDED_DAYS = 20;
const NAMES = ['Aldgate', 'Brook', 'Cedar', 'Dunmore', 'Eastlake', 'Fairfield', 'Granite', 'Hillcrest'];
const TRADES = ['Architects', 'Bridges', 'Surveying', 'Structures', 'Design', 'Construction'];
const TYPES: readonly LicenseType[] = ['cloud_account', 'softkey', 'normal_recover_usbkey', 'lan_softkey'];
const PRODUCTS = ['draft.pro', 'cloud.model', 'draft.view', 'survey.field', 'cloud.render', 'cloud.share'];

/** The ids are `ent-0001`, `cus-0001`, `mem-0001-1` and `ast-0001-0001`, and so on. */
export function seedCompanies(world: World, { enterprises, assets, products }: Companies): void {
  const now = world.clock.now();
  for (let company = 1; company <= enterprises; company++) {
    const code = String(company).padStart(4, '0');
    const name = `${NAMES[company % NAMES.length]} ${TRADES[company % TRADES.length]} ${code}`;
    const enterprise = newEnterprise(world, {
      ...{ globalId: `ent-${code}`, enterpriseId: `70${code}`, name, suffix: `@c${code}` },
    });
    newCustomer(world, {
      ...{ customerId: `cus-${code}`, channelCode: 'crm', channelCustomerId: `CH-7${code}`, isDefault: true },
      ...{ crmCustomerId: `CRM-7${code}`, customerName: name, enterpriseGlobalId: enterprise.globalId },
    });
    const members = Math.max(1, Math.ceil(assets / 2));
    for (let at = 1; at <= members; at++)
      newEmployee(world, enterprise, {
        ...{
          account: `user${at}`,
          globalId: `mem-${code}-${at}`,
          id: `7${code}${at}`,
          userId: `8${code}${at}`,
        },
        ...{ name: `User ${at} of ${name}`, administrator: at === 1 },
      });
    for (let at = 1; at <= assets; at++) {
      const number = `${code}-${String(at).padStart(4, '0')}`;
      const id = `ast-${number}`;
      const licenseType = TYPES[at % TYPES.length] ?? 'softkey';
      const isTaken = at % 3 !== 0;
      newAsset(world, {
        ...{
          id,
          assetNum: `87${code}${String(at).padStart(4, '0')}`,
          licenseType,
          customerId: `cus-${code}`,
        },
        ...{ grantable: true, memberGlobalId: isTaken ? `mem-${code}-${Math.ceil(at / 2)}` : null },
        ...{ assignTime: isTaken ? now : null, online: isTaken && at % 5 === 0, updateTime: now },
      });
      seedOrder(
        world,
        `lic-${number}`,
        `SO-${number}`,
        id,
        Array.from({ length: products }, (_, place) => ({
          uri: PRODUCTS[(at + place) % PRODUCTS.length] ?? 'draft.pro',
          nodes: 1 + ((at + place) % 4),
          ends: now + (((company * 131 + at * 37 + place * 211) % SPREAD_DAYS) - ENDED_DAYS) * DAY_MS,
        })),
      );
    }
  }
}
