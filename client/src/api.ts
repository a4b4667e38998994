/** Written by `npm run generate` from config/openapi.json: the schemas of the API, and the methods of the client. */
import type { CallOptions, Walk, WalkOptions } from './call-options.ts';

interface components {
    schemas: {
        /** @description Employees to add */
        readonly AddMembers: {
            /** @description The rows, with no account twice. */
            readonly members: readonly components["schemas"]["NewMember"][];
        };
        readonly AddMembersInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
        } & components["schemas"]["AddMembers"];
        /** @description What became of each row of the request */
        readonly AddMembersResult: {
            /** @description The rows that were not added, in the order of the request. */
            readonly failed: readonly components["schemas"]["FailedMember"][];
            /** @description The members that were added. */
            readonly succeeded: readonly components["schemas"]["Member"][];
        };
        /** @description An asset behind the cloud account authorization of an enterprise: a lock, a certificate or a cloud account */
        readonly Asset: {
            /** @description Id of the asset */
            readonly assetId: string;
            /** @description Passed on as it comes, because the platform does not document its shape, but for two things: an integer beyond 2^53 is a string of its digits (another number that no double holds is the nearest one), and members named `__proto__`, `constructor` or `prototype` are left out */
            readonly assetLimits: Json;
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string | null;
            /** @description The member that it is assigned to; null where the platform names none */
            readonly assignment: components["schemas"]["AssetAssignment"] | null;
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string | null;
            /** @description Id of the customer on the platform */
            readonly customerId: string | null;
            /**
             * Format: date-time
             * @description End of validity, where it has one
             */
            readonly endsAt: string | null;
            /** @description Extension properties of the asset */
            readonly extensions: readonly components["schemas"]["Extension"][];
            /** @description Whether it is frozen; meaningful for certificates only */
            readonly frozen: boolean | null;
            /** @description Whether it can be assigned to members */
            readonly grantable: boolean | null;
            /** @description Generation of the lock; null where it is no lock or of another generation */
            readonly keyGeneration: (4 | 5) | null;
            /** @description The digits of an asset number: one for the region, and nine that count up */
            readonly keyShellNumber: string | null;
            /** @description Whether it is a lent lock: a lock made for lending (its kind). `lent` tells whether it is lent out now (its state) */
            readonly lentLock: boolean | null;
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"] | (string & Record<never, never>) | null;
            /** @description Whether the lock is disabled */
            readonly locked: boolean | null;
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             */
            readonly startsAt: string | null;
            /**
             * Format: date-time
             * @description When it was last changed; null where it was not
             */
            readonly updatedAt: string | null;
        };
        /** @description The assignment of an asset; meaningful for large-customer locks */
        readonly AssetAssignment: {
            /**
             * Format: date-time
             * @description When it was assigned
             */
            readonly createdAt: string | null;
            /** @description The member that it is assigned to. */
            readonly memberGlobalId: string | null;
            /** @description Allocation status as the platform sends it: its interface does not list the values. */
            readonly status: string | null;
            /**
             * Format: date-time
             * @description When the assignment was last changed
             */
            readonly updatedAt: string | null;
        };
        /** @description Counts of assets */
        readonly AssetCounts: {
            /**
             * @description Count by licence type; `unknown` where the platform names none
             * @example {
             *       "softkey": 1,
             *       "cloud_account": 3
             *     }
             */
            readonly byLicenseType: {
                readonly [key: string]: number;
            };
            /**
             * Format: int64
             * @description Assets after their `endsAt`
             */
            readonly expired: number;
            /**
             * Format: int64
             * @description Assets whose `endsAt` is within the next 30 days
             */
            readonly expiringSoon: number;
            /**
             * Format: int64
             * @description Frozen assets
             */
            readonly frozen: number;
            /**
             * Format: int64
             * @description Disabled locks
             */
            readonly locked: number;
            /**
             * Format: int64
             * @description Number of assets
             */
            readonly total: number;
        };
        /** @description An asset number of an enterprise, and the member that has it */
        readonly AssetNum: {
            /** @description Id of the asset */
            readonly assetId: string | null;
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string;
            /** @description Whether it is lent to a member now */
            readonly lent: boolean | null;
            /** @description The member that has the number; for a lent lock, the member that it is lent to. */
            readonly memberGlobalId: string | null;
            /** @description Whether it is in use online now */
            readonly online: boolean | null;
        };
        /** @description Counts of asset numbers */
        readonly AssetNumCounts: {
            /**
             * Format: int64
             * @description Numbers of a member; for lent locks, those that are lent to a member
             */
            readonly assigned: number;
            /**
             * Format: int64
             * @description Neither assigned nor lent
             */
            readonly free: number;
            /**
             * Format: int64
             * @description Lent to a member now
             */
            readonly lent: number;
            /**
             * Format: int64
             * @description In use online now
             */
            readonly online: number;
            /**
             * Format: int64
             * @description Number of asset numbers
             */
            readonly total: number;
        };
        /** @description One page of asset numbers */
        readonly AssetNumPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["AssetNum"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /** @description One page of assets */
        readonly AssetPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["Asset"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /** @description What is on an asset */
        readonly AssetProducts: {
            /** @description Packages on the asset, as trees. */
            readonly merchandises: readonly components["schemas"]["MerchandiseInstance"][];
            /** @description Products on the asset that belong to no package. */
            readonly products: readonly components["schemas"]["ProductInstance"][];
        };
        /** @description A customer of a channel, and the enterprise to bind it to */
        readonly BindCustomer: {
            /**
             * Format: text
             * @description Name of the customer's branch
             * @example Coast
             */
            readonly branchName?: string;
            /**
             * Format: id
             * @description Code of the sales channel. Only channels granted to the caller.
             * @example crm
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description The customer's number in the channel
             * @example CH-2001
             */
            readonly channelCustomerId: string;
            /**
             * Format: text
             * @description Name of the customer
             * @example Northwind Survey
             */
            readonly customerName: string;
            /**
             * Format: text
             * @description Name of the enterprise main account that the customer is bound to.
             * @example Northwind Survey
             */
            readonly enterpriseName: string;
            /**
             * Format: text
             * @description Mobile number for the recovery of the password; it cannot be used to log in
             * @example 13800000001
             */
            readonly passwordMobile?: string;
        };
        readonly BindCustomerInput: components["schemas"]["BindCustomer"];
        /** @description What is bought for one asset */
        readonly BoughtAsset: {
            /** @description Existing assets that get the products. Without this field the platform creates a new asset. */
            readonly assetNums?: readonly string[];
            /**
             * Format: date-time
             * @description Later than `startsAt`, where both are there
             * @example 2027-01-01T00:00:00.000Z
             */
            readonly endsAt?: string;
            /** @description Extension properties of the asset */
            readonly extensions?: readonly components["schemas"]["OrderExtension"][];
            /** @description Whether it is a lent lock: a lock made for lending (its kind). `lent` tells whether it is lent out now (its state) */
            readonly lentLock?: boolean;
            /** @description Packages of products */
            readonly merchandises?: readonly components["schemas"]["Merchandise"][];
            /** @description Single products */
            readonly products?: readonly components["schemas"]["OrderProduct"][];
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             * @example 2026-01-01T00:00:00.000Z
             */
            readonly startsAt?: string;
            /** @description Whether the asset number is transferred from another asset */
            readonly transferred?: boolean;
        };
        /** @description What a caller may have in a calendar month (UTC), and has had of it */
        readonly Budget: {
            /**
             * Format: int64
             * @description What it may have
             */
            readonly limit: number;
            /**
             * Format: date-time
             * @description When the next month begins
             */
            readonly resetsAt: string;
            /**
             * Format: int64
             * @description What it has had. What is provably not placed is given back
             */
            readonly used: number;
        };
        /** @description What a caller has had of its budgets */
        readonly BudgetMonths: {
            /** @description The present month and the twelve before it, the present one first; empty where nothing is limited. */
            readonly months: readonly components["schemas"]["MonthlyUse"][];
        };
        /** @description The caller of a key or token, as the callers file has it. `*` stands for all */
        readonly Caller: {
            /**
             * @description What is limited in a month, by `orders`, `licences` or `deletions`; empty where nothing is
             * @example {}
             */
            readonly budgets: {
                readonly [key: string]: components["schemas"]["Budget"];
            };
            /** @description Codes of the channels whose orders and customers the caller reaches. */
            readonly channels: readonly string[];
            /** @description Global ids of the enterprises that the caller reaches. */
            readonly enterprises: readonly string[];
            /** @description What an operator has stopped, or will stop. */
            readonly maintenance: components["schemas"]["Maintenance"];
            /** @description Name of the caller in the callers file. */
            readonly name: string;
            /** @description The limit of the caller's requests; null where there is none. */
            readonly rateLimit: components["schemas"]["RateLimit"] | null;
            /** @description The scopes that it has */
            readonly scopes: readonly (components["schemas"]["Scope"] | string)[];
            /** @description Aliases that the caller may name in `X-Acting-User`. */
            readonly users: readonly string[];
        };
        readonly CancelJobInput: {
            /**
             * Format: id
             * @description Id of the job
             */
            readonly jobId: string;
        };
        readonly CancelOrderInput: {
            /**
             * Format: id
             * @description Code of the sales channel that the customer or order came by, such as `crm`
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description The order's number in the channel. With `channelCode` it identifies an order for good
             */
            readonly channelOrderId: string;
        };
        /**
         * @description How cells of CSV are written: `exact`, or `text` for a spreadsheet, with `'` before a `=`, `+`, `-`, `@`, tab or line end where a spreadsheet may begin a formula. Only `exact` may be imported again: an import keeps each `'`
         * @enum {string}
         */
        readonly CellForm: "exact" | "text";
        /** @description A change of the asset numbers of a member */
        readonly ChangeAssetNums: {
            /** @description Asset numbers that the member gets.. By default `[]` */
            readonly assign?: readonly string[];
            /** @description Asset numbers that are taken from the member.. By default `[]` */
            readonly withdraw?: readonly string[];
        };
        readonly ChangeMemberAssetNumsInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        } & components["schemas"]["ChangeAssetNums"];
        /** @description An asset number that another member has */
        readonly Conflict: {
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string;
            /** @description Global id of the member that has the asset number. */
            readonly memberGlobalId: string;
        };
        /** @description A new enterprise and its first customer */
        readonly CreateEnterprise: {
            /**
             * Format: text
             * @description The customer's postal address, as one text
             * @example 1 Beacon Street
             */
            readonly address?: string;
            /**
             * Format: text
             * @description Name of the customer's branch
             * @example Coast
             */
            readonly branchName?: string;
            /**
             * Format: id
             * @description The customer's number in the CRM
             * @example CRM-3001
             */
            readonly crmCustomerId: string;
            /**
             * Format: text
             * @description Name of the customer
             * @example Lighthouse Design
             */
            readonly customerName: string;
        };
        readonly CreateEnterpriseInput: components["schemas"]["CreateEnterprise"];
        /** @description A login of a user of the platform */
        readonly CreateSession: {
            /**
             * Format: password
             * @description The user's password. The gateway sends it to the platform's user center and does not keep it.
             */
            readonly password: string;
            /**
             * Format: id
             * @description The user's login name on the platform, with the enterprise's suffix
             * @example admin@harbour
             */
            readonly username: string;
        };
        readonly CreateSessionInput: components["schemas"]["CreateSession"];
        /** @description A receiver of events */
        readonly CreateWebhook: {
            /**
             * Format: text
             * @description A text for people.
             * @example billing
             */
            readonly description?: string;
            /**
             * @description Only events of orders, jobs and the estate of these enterprises; `["*"]`, or left out of `createWebhook`: of all that are granted
             * @example [
             *       "ent-harbour"
             *     ]
             */
            readonly enterprises?: readonly string[];
            /**
             * @description Types of events; `["*"]` stands for all of them, also for those to come
             * @example [
             *       "license-order.succeeded"
             *     ]
             */
            readonly types: readonly components["schemas"]["WantedEventType"][];
            /**
             * Format: text
             * @description Where the events are sent: https, or a loopback address, and a host that `WEBHOOK_HOSTS` of the gateway lists
             * @example http://127.0.0.1:8080/hook
             */
            readonly url: string;
        };
        readonly CreateWebhookInput: components["schemas"]["CreateWebhook"];
        /** @description A customer of the platform, bound to an enterprise main account */
        readonly Customer: {
            /** @description Code of the sales channel that the customer or order came by, such as `crm` */
            readonly channelCode: string | null;
            /** @description The customer's number in the channel */
            readonly channelCustomerId: string | null;
            /** @description Id of the customer on the platform */
            readonly customerId: string;
            /** @description Global id of the enterprise's main account */
            readonly enterpriseGlobalId: string | null;
            /** @description Name of the enterprise's main account */
            readonly enterpriseName: string | null;
            /** @description Whether the customer is the default customer of its enterprise */
            readonly isDefault: boolean | null;
        };
        /** @description One page of customers */
        readonly CustomerPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["Customer"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /**
         * @description A person or a company
         * @enum {string}
         */
        readonly CustomerType: "personal" | "company";
        /** @description Item of an order that revokes whole assets */
        readonly DeleteAsset: {
            /** @description The customer's administrator */
            readonly admin?: components["schemas"]["OrderAdmin"];
            /** @description Deletes from **all** orders of the customer. Not for cloud licence types. */
            readonly allOrders?: boolean;
            /** @description The assets of the item */
            readonly assets: readonly components["schemas"]["RevokedAsset"][];
            /** @description The customer's branch */
            readonly branch?: components["schemas"]["OrderBranch"];
            /** @description For whom the item is */
            readonly customer: components["schemas"]["OrderCustomer"];
            /** @description Whether the customer is a person or a company */
            readonly customerType?: components["schemas"]["CustomerType"];
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"];
            /**
             * @description What the item does: buy, revoke assets, or revoke products (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            readonly orderType: "delete_asset";
            /**
             * Format: int32
             * @description Number of the item in the order; by default its place, counted from 1.
             * @example 1
             */
            readonly sequence?: number;
            /**
             * Format: id
             * @description The licence order whose products are deleted.
             * @example lic-1009
             */
            readonly srcLicenseOrderId?: string;
        };
        readonly DeleteMemberInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        };
        /** @description Item of an order that revokes products of assets */
        readonly DeleteProduct: {
            /** @description The customer's administrator */
            readonly admin?: components["schemas"]["OrderAdmin"];
            /** @description Deletes from **all** orders of the customer. Not for cloud licence types. */
            readonly allOrders?: boolean;
            /** @description The assets of the item */
            readonly assets: readonly components["schemas"]["ReducedAsset"][];
            /** @description The customer's branch */
            readonly branch?: components["schemas"]["OrderBranch"];
            /** @description For whom the item is */
            readonly customer: components["schemas"]["OrderCustomer"];
            /** @description Whether the customer is a person or a company */
            readonly customerType?: components["schemas"]["CustomerType"];
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"];
            /**
             * @description What the item does: buy, revoke assets, or revoke products (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            readonly orderType: "delete_product";
            /**
             * Format: int32
             * @description Number of the item in the order; by default its place, counted from 1.
             * @example 1
             */
            readonly sequence?: number;
            /**
             * Format: id
             * @description The licence order whose products are deleted.
             * @example lic-1009
             */
            readonly srcLicenseOrderId?: string;
        };
        readonly DeleteSessionInput: Record<string, never>;
        readonly DeleteWebhookInput: {
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        };
        /** @description One event for one webhook */
        readonly Delivery: {
            /**
             * Format: int64
             * @description How often it was sent since it was made or, after `redeliver`, begun anew
             */
            readonly attempts: number;
            /** @description Id of the event, which is its cursor */
            readonly eventId: string;
            /**
             * Format: date-time
             * @description When it was sent last; null where it was not sent yet
             */
            readonly lastAttemptAt: string | null;
            /** @description Why the receiver did not accept the event; null where it did, or where the event was not sent yet. */
            readonly lastError: string | null;
            /**
             * Format: int32
             * @description The HTTP status of the receiver; null where it did not answer.
             */
            readonly lastStatus: number | null;
            /**
             * Format: date-time
             * @description When it is sent next, once the earlier events of its subject were taken; null where it is not sent any more, and while the webhook is off
             */
            readonly nextAttemptAt: string | null;
            /** @description What became of it */
            readonly state: components["schemas"]["DeliveryState"] | (string & Record<never, never>);
            /** @description The subject of the event; null where the event is not kept any more. */
            readonly subject: string | null;
            /** @description The type of the event */
            readonly type: components["schemas"]["EventType"] | (string & Record<never, never>);
        };
        /** @description One page of deliveries, newest events first */
        readonly DeliveryPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["Delivery"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /**
         * @description `delivered`: the receiver took it (2xx); `pending`: it is, or waits, to be sent; `failed`: it was tried as often as events are tried
         * @enum {string}
         */
        readonly DeliveryState: "delivered" | "pending" | "failed";
        readonly DisableLocksInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
        } & components["schemas"]["Locks"];
        /** @description What a write would do. Nothing was sent, and nothing recorded */
        readonly DryRun: {
            /** @description As far as the platform shows it */
            readonly effects: readonly components["schemas"]["Effect"][];
            /** @description Of an import; null for other writes */
            readonly plan: components["schemas"]["ImportPlan"] | null;
            /** @description Calls of the platform; none where it would not be called */
            readonly wouldSend: readonly components["schemas"]["WouldSend"][];
        };
        /** @description What a write would take away or change, as it is now. A field is null where it does not apply, or is not known */
        readonly Effect: {
            /** @description The account of a member who would be removed, without the enterprise's code; null where it cannot be told from the code. */
            readonly account: string | null;
            /** @description Id of the asset */
            readonly assetId: string | null;
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string | null;
            /** @description Global id of the enterprise's main account */
            readonly enterpriseGlobalId: string | null;
            /** @description What would happen */
            readonly kind: components["schemas"]["EffectKind"] | (string & Record<never, never>);
            /** @description Global id of the member, which operations on a member use */
            readonly memberGlobalId: string | null;
            /** @description The product: a `gmsPid` or an `appKey` */
            readonly productUri: string | null;
            /** @description false: the platform does not show the effect here, so there may be more. */
            readonly readable: boolean;
        };
        /**
         * @description What a write would take away or change
         * @enum {string}
         */
        readonly EffectKind: "asset-removed" | "product-removed" | "number-assigned" | "number-withdrawn" | "number-kept" | "lock-disabled" | "lock-enabled" | "loan-made" | "member-removed" | "budget-used";
        readonly EnableLocksInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
        } & components["schemas"]["Locks"];
        /** @description What ends in a month */
        readonly EndingMonth: {
            /**
             * Format: int64
             * @description The nodes of these products; one where a product has no number of them
             */
            readonly licences: number;
            /** @description Year and month in UTC */
            readonly month: string;
            /**
             * Format: int64
             * @description Products on assets that end in it
             */
            readonly products: number;
        };
        readonly EndMaintenanceInput: Record<string, never>;
        /** @description A new enterprise main account */
        readonly Enterprise: {
            /** @description Global id of the enterprise's main account */
            readonly enterpriseGlobalId: string;
            /** @description Whether its customer is the default customer. */
            readonly isDefault: boolean | null;
            /** @description The employees that came with it: its administrator, and the employee of the default customer. */
            readonly members: readonly components["schemas"]["EnterpriseMember"][];
        };
        /** @description An employee that came with the enterprise */
        readonly EnterpriseMember: {
            /** @description Global id of the member, which operations on a member use */
            readonly memberGlobalId: string;
            /** @description The employee's identity, as the platform gives it */
            readonly memberIdentity: string | null;
        };
        /** @description An enterprise of the estate, and how its last reading ended */
        readonly EstateEnterprise: {
            /** @description Global id of the enterprise's main account */
            readonly enterpriseGlobalId: string;
            /** @description Why the copy is not whole; null where it is, and before the first reading. */
            readonly reason: string | null;
            /**
             * Format: date-time
             * @description When it was last read to its end; null: never
             */
            readonly seenAt: string | null;
            /** @description How much of it the copy has */
            readonly state: components["schemas"]["EstateState"] | (string & Record<never, never>);
        };
        /**
         * @description The order of the rows; with `-` before it the other way. By `endsAt` what has no end comes last
         * @enum {string}
         */
        readonly EstateOrder: "endsAt" | "-endsAt" | "enterpriseGlobalId" | "-enterpriseGlobalId" | "productUri" | "-productUri" | "seenAt" | "-seenAt";
        /** @description One page of the estate */
        readonly EstatePage: {
            /** @description Rows in the wanted order. */
            readonly items: readonly components["schemas"]["EstateRow"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /** @description A product on an asset, or an asset without products, as the copy has it */
        readonly EstateRow: {
            /** @description Id of the asset */
            readonly assetId: string;
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string | null;
            /** @description The order's number in the channel. With `channelCode` it identifies an order for good */
            readonly channelOrderId: string | null;
            /** @description The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check */
            readonly crmProductId: string | null;
            /**
             * Format: date-time
             * @description The earlier end of the product and the asset; null where neither ends
             */
            readonly endsAt: string | null;
            /** @description Global id of the enterprise's main account */
            readonly enterpriseGlobalId: string;
            /** @description Whether it is frozen; meaningful for certificates only */
            readonly frozen: boolean | null;
            /**
             * Format: date-time
             * @description The last time at which the copy saw the asset in use; null where it never did
             */
            readonly lastOnlineAt: string | null;
            /** @description Whether it is lent to a member now */
            readonly lent: boolean | null;
            /** @description The platform's id of the licence order */
            readonly licenseOrderId: string | null;
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"] | (string & Record<never, never>) | null;
            /**
             * Format: int32
             * @description Number of nodes that may use the product at the same time
             */
            readonly limitConcurrent: number | null;
            /** @description Whether the lock is disabled */
            readonly locked: boolean | null;
            /** @description Global id of the member, which operations on a member use */
            readonly memberGlobalId: string | null;
            /** @description Whether it is in use online now */
            readonly online: boolean | null;
            /** @description The innermost package that the product is in. */
            readonly packageNum: string | null;
            /** @description The platform's id of the product on the asset; null for an asset without products. */
            readonly productId: string | null;
            /** @description Name of the product */
            readonly productName: string | null;
            /** @description The product: a `gmsPid` or an `appKey` */
            readonly productUri: string | null;
            /**
             * Format: date-time
             * @description When the platform showed this: the time of the oldest part of it
             */
            readonly seenAt: string;
            /**
             * Format: date-time
             * @description When the product begins, or the asset where it has no time of its own
             */
            readonly startsAt: string | null;
            /** @description Whether it is a trial */
            readonly trial: boolean | null;
        };
        /**
         * @description `whole`: everything was read; `assets-only`: the platform shows products to users only, and none of the users file serves the enterprise; `stale`: the last reading failed, and what is shown is of `seenAt`; `unread`: it was not read to its end yet
         * @enum {string}
         */
        readonly EstateState: "whole" | "assets-only" | "stale" | "unread";
        /** @description The estate in sums */
        readonly EstateSummary: {
            /**
             * Format: int64
             * @description Assets
             */
            readonly assets: number;
            /** @description Products, those with most licences first. */
            readonly byProduct: readonly components["schemas"]["ProductSum"][];
            /** @description Months in which something ends, the earliest first. */
            readonly endingByMonth: readonly components["schemas"]["EndingMonth"][];
            /** @description The enterprises that the caller may see. */
            readonly enterprises: readonly components["schemas"]["EstateEnterprise"][];
            /**
             * Format: int64
             * @description Products on assets
             */
            readonly products: number;
            /**
             * Format: date-time
             * @description The oldest `seenAt` of the enterprises; null where one was never read to its end, or further ones may be unknown
             */
            readonly seenAt: string | null;
            /**
             * Format: int64
             * @description Assets that can be given to a member and have none
             */
            readonly unassigned: number;
        };
        /** @description What became of an order, a job or a row of the estate: CloudEvents 1.0, structured JSON */
        readonly Event: {
            /** @description The order as `getOrder` shows it, the job as `getJob` does, or the row as `listEstate` does, as it was then. */
            readonly data: components["schemas"]["OrderRecord"] | components["schemas"]["Job"] | components["schemas"]["EstateRow"];
            /**
             * @description The media type of `data`.
             * @enum {string}
             */
            readonly datacontenttype: "application/json";
            /** @description Its cursor: later events have greater ids, compared as text. */
            readonly id: string;
            /** @description The path of the records that the subject is one of. */
            readonly source: string;
            /**
             * @description The version of CloudEvents.
             * @enum {string}
             */
            readonly specversion: "1.0";
            /** @description The channel and the number of the order, each percent-encoded, such as `crm/SO-2001`; the id of the job; or the enterprise and the asset, each percent-encoded, such as `ent-harbour/ast-1002`. */
            readonly subject: string;
            /**
             * Format: date-time
             * @description When it was recorded
             */
            readonly time: string;
            /** @description What became of the subject */
            readonly type: components["schemas"]["EventType"] | (string & Record<never, never>);
        };
        /** @description Events, oldest first */
        readonly EventPage: {
            /** @description May be fewer than asked for, also none, where `next` is not `after`: the rest may be large, or be seen by others only. */
            readonly items: readonly components["schemas"]["Event"][];
            /** @description The cursor for the next call. */
            readonly next: string;
        };
        /**
         * @description What became of an order (`license-order`) or a job: the state that it moved to; or of a row of the estate: it ends in 60, 30, 7 or 1 days and is assigned or lent (`ending`), or the platform changed it without the gateway
         * @enum {string}
         */
        readonly EventType: "license-order.scheduled" | "license-order.accepted" | "license-order.succeeded" | "license-order.incomplete" | "license-order.rejected" | "license-order.in-doubt" | "license-order.not-sent" | "license-order.not-placed" | "license-order.cancelled" | "job.succeeded" | "job.completed" | "job.failed" | "job.cancelled" | "estate.ending" | "estate.added" | "estate.removed" | "estate.changed";
        readonly ExportMembersInput: {
            /** @description Without effect on NDJSON. `text` is not for programs, nor to import again */
            readonly cells?: components["schemas"]["CellForm"];
            /**
             * Format: int64
             * @description Only members of this department
             */
            readonly departmentId?: string;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: text
             * @description A part of the name or account.
             */
            readonly keyword?: string;
        };
        /** @description An extension property of an asset */
        readonly Extension: {
            /** @description Code of the property. */
            readonly code: string | null;
            /** @description Value of the property. */
            readonly value: string | null;
        };
        /** @description A row of the request that was not added */
        readonly FailedMember: {
            /** @description The account as the caller sent it. */
            readonly account: string;
            /** @description A problem's code: `upstream-rejected` where the platform refused this row, `upstream-contract-violation` where its answer contradicts itself or leaves the row out, otherwise the code of the call that had the row */
            readonly code: components["schemas"]["ProblemCode"] | (string & Record<never, never>);
            /**
             * Format: int64
             * @description Position of the row in the request, from 0
             */
            readonly index: number;
            /** @description The reason, in the platform's words where it gave one. */
            readonly message: string;
            /** @description `unknown`: check whether the member exists before you send the row again */
            readonly outcome: components["schemas"]["Outcome"] | (string & Record<never, never>);
            /** @description Whether the same row may be sent again unchanged. */
            readonly retryable: boolean;
        };
        readonly FindCustomersInput: {
            /**
             * Format: id
             * @description Code of the sales channel. Only channels granted to the caller.
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description A customer's number in the channel. The platform's interface does not say whether it then lists this customer only, or all customers of the
             *     enterprise to which the number belongs, so a customer in the response may have another number.
             */
            readonly channelCustomerId?: string;
            /** @description `true`: only the default customer. */
            readonly defaultOnly?: boolean;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        /** @description A departure of the platform's answers from its interface, for the platform's owner */
        readonly Gap: {
            /**
             * Format: int64
             * @description Number of answers that had it
             */
            readonly count: number;
            /**
             * Format: date-time
             * @description When it was first seen
             */
            readonly firstSeenAt: string;
            /** @description In which way the field departs from the interface */
            readonly kind: components["schemas"]["GapKind"] | (string & Record<never, never>);
            /**
             * Format: date-time
             * @description When it was last seen
             */
            readonly lastSeenAt: string;
            /**
             * @description The operation of the gateway in which it occurs
             * @example listAssets
             */
            readonly operation: string;
            /**
             * @description Its location in the platform's answer; `[]` stands for every item of a list. Of `unknown-code` the code, as `code=13017`: neither the interface nor the platform's profile has it
             * @example data[].keyChipType
             */
            readonly path: string;
        };
        /**
         * @description In which way an answer of the platform departs from its interface
         * @enum {string}
         */
        readonly GapKind: "unknown-field" | "unknown-word" | "wrong-type" | "null" | "empty" | "missing" | "time-unit" | "limit" | "unknown-code";
        /** @description One page of departures */
        readonly GapPage: {
            /** @description The departures of the page, by operation and path. */
            readonly items: readonly components["schemas"]["Gap"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        readonly GetAssetInput: {
            /**
             * Format: id
             * @description Id of the asset
             */
            readonly assetId: string;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
        };
        readonly GetAssetProductsInput: {
            /**
             * Format: id
             * @description Id of the asset
             */
            readonly assetId: string;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
        };
        readonly GetBudgetsInput: Record<string, never>;
        readonly GetCallerInput: Record<string, never>;
        readonly GetEstateSummaryInput: {
            /**
             * Format: id
             * @description Only of this enterprise
             */
            readonly enterpriseGlobalId?: string;
        };
        readonly GetJobInput: {
            /**
             * Format: id
             * @description Id of the job
             */
            readonly jobId: string;
        };
        readonly GetJobRowsInput: {
            /** @description Without effect on NDJSON. `text` is not for programs, nor to import again */
            readonly cells?: components["schemas"]["CellForm"];
            /**
             * Format: id
             * @description Id of the job
             */
            readonly jobId: string;
            /** @description Only rows with this status */
            readonly status?: components["schemas"]["RowStatus"];
        };
        readonly GetMaintenanceInput: Record<string, never>;
        readonly GetMemberInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        };
        readonly GetOrderAssetsInput: {
            /**
             * Format: id
             * @description Code of the sales channel that the customer or order came by, such as `crm`
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description The order's number in the channel. With `channelCode` it identifies an order for good
             */
            readonly channelOrderId: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly GetOrderInput: {
            /**
             * Format: id
             * @description Code of the sales channel that the customer or order came by, such as `crm`
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description The order's number in the channel. With `channelCode` it identifies an order for good
             */
            readonly channelOrderId: string;
        };
        readonly GetOverviewInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
        };
        readonly GetProblemInput: {
            /**
             * Format: id
             * @description The `code` of the problem.
             */
            readonly slug: string;
        };
        readonly GetSessionInput: Record<string, never>;
        readonly GetWebhookInput: {
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        };
        /**
         * @description `down` has the status 503: send no requests
         * @enum {string}
         */
        readonly HealthStatus: "ok" | "degraded" | "down";
        /**
         * @description What becomes of a deletion that would take away something else at its time than at its acceptance
         * @enum {string}
         */
        readonly IfEffectsChanged: "reject" | "send";
        /** @description A row of a file of members. It needs `account` or `userName`, and for a new member also `name` and `password`. Null or an empty text is a field that is left out; only an empty `remark` says something. The other columns of `exportMembers` are passed over */
        readonly ImportedMember: {
            /**
             * @description Account name without the enterprise code.
             * @example evan
             */
            readonly account?: string;
            /**
             * @description Id of the department: a whole number of 64 bits, as digits in a string or as an integer
             * @example 10
             */
            readonly departmentId?: string | number;
            /**
             * Format: text
             * @description The member's own name.
             * @example Evan Moss
             */
            readonly name?: string;
            /**
             * Format: password
             * @description Passed on unchanged. It must not begin or end with a blank
             */
            readonly password?: string;
            /**
             * Format: text
             * @description The mobile number for the recovery of the password. A number with masked digits, such as `138****0001`, is refused.
             * @example 13800000001
             */
            readonly passwordMobile?: string;
            /**
             * Format: text
             * @description Remark on the member. An empty text is sent as it is: the platform's interface does not say whether that removes the current remark, so
             *     read the member afterwards.
             * @example Second floor
             */
            readonly remark?: string;
            /**
             * Format: text
             * @description Account name with the enterprise code; used where there is no `account`. If both are given, they must be of one member.
             * @example anna@harbour
             */
            readonly userName?: string;
        };
        readonly ImportMembersInput: {
            /** @description Whether members who are not in the file are deleted; with `mode=upsert` only. */
            readonly deleteMissing?: boolean;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /** @description Accounts or user names that are never deleted, separated by commas; with `deleteMissing` only */
            readonly keep?: string;
            /**
             * Format: int32
             * @description The most members to delete, required with `deleteMissing`: more is 422, and nothing is sent
             */
            readonly maxDeletes?: number;
            /** @description How rows are handled whose account exists. */
            readonly mode?: components["schemas"]["ImportMode"];
        };
        /**
         * @description `add`: rows of members who exist fail; `upsert`: those members are updated
         * @enum {string}
         */
        readonly ImportMode: "add" | "upsert";
        /** @description What an import would do with its rows */
        readonly ImportPlan: {
            /**
             * Format: int64
             * @description Members to add
             */
            readonly add: number;
            /** @description Accounts of the members to delete. */
            readonly delete: readonly string[];
            /** @description Rows that would fail, or whose outcome cannot be told */
            readonly impossible: readonly components["schemas"]["ImpossibleRow"][];
            /**
             * Format: int64
             * @description Rows without a difference
             */
            readonly unchanged: number;
            /**
             * Format: int64
             * @description Members to update
             */
            readonly update: number;
        };
        /** @description A row of a file that would fail, or whose outcome cannot be told */
        readonly ImpossibleRow: {
            /** @description Login name without the enterprise's suffix */
            readonly account: string;
            /** @description Why the row would fail, or why its outcome cannot be told. */
            readonly reason: string;
            /**
             * Format: int32
             * @description 1 for the first row below the header
             */
            readonly row: number;
        };
        /** @description An import: how far it is, and what became of its rows */
        readonly Job: {
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string;
            /**
             * Format: int64
             * @description Members that were deleted because the file does not have them
             */
            readonly deleted: number;
            /**
             * Format: int64
             * @description Rows that have a result: the sum of the next six. It never falls
             */
            readonly done: number;
            /** @description Global id of the enterprise whose members the job changes. */
            readonly enterpriseGlobalId: string;
            /**
             * Format: date-time
             * @description When the job and its rows are deleted
             */
            readonly expiresAt: string;
            /**
             * Format: int64
             * @description Rows that had no effect
             */
            readonly failed: number;
            /**
             * Format: date-time
             * @description When it ended; null before
             */
            readonly finishedAt: string | null;
            /** @description Id of the job */
            readonly jobId: string;
            /** @description What the job does */
            readonly kind: components["schemas"]["JobKind"] | (string & Record<never, never>);
            /** @description What becomes of rows whose account exists */
            readonly mode: components["schemas"]["ImportMode"] | (string & Record<never, never>);
            /** @description Why the job failed as a whole; null where it did not. */
            readonly problem: components["schemas"]["JobProblem"] | null;
            /**
             * Format: date-time
             * @description When the work on it began; null before
             */
            readonly startedAt: string | null;
            /** @description How far the job is */
            readonly state: components["schemas"]["JobState"] | (string & Record<never, never>);
            /**
             * Format: int64
             * @description Rows whose members were added
             */
            readonly succeeded: number;
            /**
             * Format: int64
             * @description Rows of the file and, once they are known, members to delete
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Rows whose members were the same already
             */
            readonly unchanged: number;
            /**
             * Format: int64
             * @description Rows that may have had an effect, or whose member may have been there before: their `code` and `message` say why
             */
            readonly unknown: number;
            /**
             * Format: int64
             * @description Rows whose members were updated
             */
            readonly updated: number;
        };
        /**
         * @description What a job does
         * @enum {string}
         */
        readonly JobKind: "import";
        /** @description One page of jobs */
        readonly JobPage: {
            /** @description The jobs, newest first. */
            readonly items: readonly components["schemas"]["Job"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /** @description Why a job failed as a whole: a problem (RFC 9457) without what depends on a request */
        readonly JobProblem: {
            /** @description The code for programs to decide on */
            readonly code: components["schemas"]["ProblemCode"] | (string & Record<never, never>);
            /** @description What happened this time. */
            readonly detail: string;
            /** @description What is known about the effect on the platform; `not_processed` means that provably nothing happened */
            readonly outcome: components["schemas"]["Outcome"] | (string & Record<never, never>);
            /** @description The id of the request that made the job. */
            readonly requestId: string;
            /** @description Whether the same request may be sent again as it is */
            readonly retryable: boolean;
            /**
             * Format: int32
             * @description The HTTP status that a request would have got
             */
            readonly status: number;
            /** @description The problem in a few words, the same for every occurrence */
            readonly title: string;
            /**
             * Format: uri-reference
             * @description The page that explains the problem
             */
            readonly type: string;
        };
        /** @description What became of a row of the file, or of a member that the file does not have */
        readonly JobRow: {
            /** @description Login name without the enterprise's suffix */
            readonly account: string;
            /** @description A problem's code, of a row that is `failed` or `unknown`; null otherwise */
            readonly code: string | null;
            /** @description Global id of the member; null where the row has none. */
            readonly memberGlobalId: string | null;
            /** @description Why the row is `failed` or `unknown`, in the words of the platform where it gave some, or what was not compared in one that is `unchanged`; null otherwise */
            readonly message: string | null;
            /**
             * Format: int32
             * @description 1 for the first row below the header; null for a member that was to be deleted
             */
            readonly row: number | null;
            /** @description What became of the row */
            readonly status: components["schemas"]["RowStatus"] | (string & Record<never, never>);
        };
        /**
         * @description How far a job is: `succeeded` (every row), `completed` (some rows failed or are unknown), `cancelled` and `failed` (nothing more can be done; `problem` says why) are ends
         * @enum {string}
         */
        readonly JobState: "queued" | "running" | "succeeded" | "completed" | "cancelled" | "failed";
        /** @description The assets whose rights move, and the lock that takes them */
        readonly LendAssets: {
            /**
             * @description Ids of assets that are assigned to the member.
             * @example [
             *       "ast-1002"
             *     ]
             */
            readonly assetIds: readonly string[];
            /**
             * Format: id
             * @description Number of the lent lock to which the rights move.
             * @example 8000001006
             */
            readonly lentLockNum: string;
        };
        readonly LendAssetsInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        } & components["schemas"]["LendAssets"];
        /** @description A lent lock of an enterprise, and the member that has it */
        readonly LentLock: {
            /** @description Id of the physical lock. */
            readonly assetId: string;
            /** @description Number of the lent lock. */
            readonly assetNum: string | null;
            /** @description Whether it is lent to a member now */
            readonly lent: boolean | null;
            /** @description The member to which it is lent. */
            readonly memberGlobalId: string | null;
        };
        /** @description Counts of lent locks */
        readonly LentLockCounts: {
            /**
             * Format: int64
             * @description Number of lent locks
             */
            readonly total: number;
        };
        /** @description One page of lent locks */
        readonly LentLockPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["LentLock"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /**
         * @description Kinds of licences: locks, certificates and cloud accounts
         * @enum {string}
         */
        readonly LicenseType: "normal_unrecover_usbkey" | "normal_recover_usbkey" | "normal_unrecover_lan_usbkey" | "normal_recover_lan_usbkey" | "identity_usbkey" | "identity_lan_usbkey" | "softkey" | "lan_softkey" | "product_entity" | "cloud_account" | "cloud_customer" | "cloud_personal" | "lk_product_usbkey" | "lk_auth_usbkey";
        /**
         * @description `basic`: limit of the product; `feature`: extended limit of a feature point
         * @enum {string}
         */
        readonly LimitType: "basic" | "feature";
        readonly ListAssetNumsInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /** @description `true`: only numbers that no member has and that are not lent; `false`: all others */
            readonly free?: boolean;
            /** @description `true`: only those that are lent now; `false`: only those that are not */
            readonly lent?: boolean;
            /**
             * Format: id
             * @description Only asset numbers of this member.
             */
            readonly memberGlobalId?: string;
            /** @description `true`: only those that are in use online now; `false`: only those that are not */
            readonly online?: boolean;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly ListAssetsInput: {
            /**
             * Format: id
             * @description Only the asset of this number.
             */
            readonly assetNum?: string;
            /** @description Only assets that end before this time; those without an end are left out. A date stands for the beginning of that day in UTC */
            readonly endsBefore?: string;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Only assets that carry this extension property, such as `site`.
             */
            readonly extendCode?: string;
            /** @description `true`: only lent locks; `false`: all others */
            readonly lentLock?: boolean;
            /** @description Only assets of this licence type */
            readonly licenseType?: components["schemas"]["LicenseType"];
            /**
             * Format: id
             * @description Only assets that are assigned to this member.
             */
            readonly memberGlobalId?: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly ListDeliveriesInput: {
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
            /** @description Only deliveries in this state */
            readonly state?: components["schemas"]["DeliveryState"];
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        };
        readonly ListEstateInput: {
            /** @description Only what ends at this time or later; what has no end is left out. A date stands for the beginning of that day in UTC */
            readonly endsAfter?: string;
            /** @description Only what ends before this time; what has no end is left out. A date stands for the beginning of that day in UTC */
            readonly endsBefore?: string;
            /**
             * Format: id
             * @description Only what this enterprise has
             */
            readonly enterpriseGlobalId?: string;
            /**
             * Format: text
             * @description Exactly an asset number, asset id, account (with or without what the platform appends), order number, licence order id, `crmProductId` or `customerId`, in any case of letters
             */
            readonly find?: string;
            /** @description Only assets of this licence type */
            readonly licenseType?: components["schemas"]["LicenseType"];
            /**
             * Format: id
             * @description Only what this member has.
             */
            readonly memberGlobalId?: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
            /**
             * Format: id
             * @description Only products of this URI.
             */
            readonly productUri?: string;
            /** @description The order of the rows */
            readonly sort?: components["schemas"]["EstateOrder"];
            /** @description `true`: only assets that can be given to a member and have none; `false`: all others */
            readonly unassigned?: boolean;
        };
        readonly ListEventsInput: {
            /** @description Only events after this one: its id, or `next` of a page */
            readonly after?: string;
            /**
             * Format: id
             * @description Only events of orders, jobs and the estate of this enterprise
             */
            readonly enterpriseGlobalId?: string;
            /**
             * Format: int32
             * @description How many events a page has at most.
             */
            readonly limit?: number;
            /** @description Only events of these types, separated by commas */
            readonly type?: readonly components["schemas"]["EventType"][];
        };
        readonly ListGapsInput: {
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly ListJobsInput: {
            /**
             * Format: id
             * @description Only jobs of this enterprise
             */
            readonly enterpriseGlobalId?: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
            /** @description Only jobs in this state */
            readonly state?: components["schemas"]["JobState"];
        };
        readonly ListLentLocksInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /** @description `true`: only those that are lent now; `false`: only those that are not */
            readonly lent?: boolean;
            /**
             * Format: id
             * @description Only lent locks that are lent to this member.
             */
            readonly memberGlobalId?: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly ListMembersInput: {
            /**
             * Format: int64
             * @description Only members of this department
             */
            readonly departmentId?: string;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: text
             * @description A part of the name or account.
             */
            readonly keyword?: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly ListOrdersInput: {
            /**
             * Format: id
             * @description Only orders of this channel
             */
            readonly channelCode?: string;
            /**
             * Format: id
             * @description Only the order of this number; with `channelCode`. For a number with a slash, which some proxies decode in a path
             */
            readonly channelOrderId?: string;
            /**
             * Format: id
             * @description Only orders that name this enterprise in an item
             */
            readonly enterpriseGlobalId?: string;
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
            /** @description The order of the items. `notBefore` with `state=scheduled` only */
            readonly sort?: components["schemas"]["OrderSort"];
            /** @description Only orders in this state */
            readonly state?: components["schemas"]["OrderState"];
            /** @description Only orders submitted at this time or later. A date stands for the beginning of that day in UTC */
            readonly submittedAfter?: string;
            /** @description Only orders submitted before this time. A date stands for the beginning of that day in UTC */
            readonly submittedBefore?: string;
        };
        readonly ListProblemsInput: Record<string, never>;
        readonly ListWebhooksInput: {
            /**
             * Format: int32
             * @description Number of the page, counted from 1
             */
            readonly page?: number;
            /**
             * Format: int32
             * @description Items on a full page
             */
            readonly pageSize?: number;
        };
        readonly LiveInput: Record<string, never>;
        /** @description Whether the process works */
        readonly Liveness: {
            /** @description Always `ok`: a process that does not work does not respond */
            readonly status: components["schemas"]["HealthStatus"] | (string & Record<never, never>);
        };
        /**
         * @description `overloaded` while new requests are refused with 503 `overloaded`
         * @enum {string}
         */
        readonly Load: "ok" | "overloaded";
        /** @description What became of one lock */
        readonly LockResult: {
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string;
            /** @description What became of the lock */
            readonly status: components["schemas"]["LockStatus"] | (string & Record<never, never>);
        };
        /** @description What became of each lock, in the order of the request */
        readonly LockResults: {
            /**
             * Format: int64
             * @description Number of items that did not succeed
             */
            readonly failed: number;
            /** @description One result for each number, in the order of the request. */
            readonly items: readonly components["schemas"]["LockResult"][];
            /**
             * Format: int64
             * @description Number of items that succeeded
             */
            readonly succeeded: number;
        };
        /** @description The locks to disable or enable */
        readonly Locks: {
            /**
             * @description Numbers of the locks.
             * @example [
             *       "8000001003"
             *     ]
             */
            readonly assetNums: readonly string[];
            /**
             * Format: text
             * @description Name, mobile number or e-mail of the operator; by default the caller's name.
             * @example ops@example.com
             */
            readonly operatorIdentity?: string;
        };
        /**
         * @description `not_found`: no such lock; `wrong_type`: such a lock cannot be disabled or enabled; `unknown`: the platform did not report this number
         * @enum {string}
         */
        readonly LockStatus: "succeeded" | "not_found" | "failed" | "wrong_type" | "unknown";
        /** @description What an operator has stopped, and until when; without one everything but `active` is null */
        readonly Maintenance: {
            /** @description Whether something is stopped now. A later stop is announced by `from`. */
            readonly active: boolean;
            /** @description The caller who set the maintenance. */
            readonly by: string | null;
            /**
             * Format: date-time
             * @description When it begins
             */
            readonly from: string | null;
            /** @description The reason that callers read. */
            readonly reason: string | null;
            /** @description What is stopped */
            readonly stops: components["schemas"]["MaintenanceStops"] | (string & Record<never, never>) | null;
            /**
             * Format: date-time
             * @description When it ends by itself
             */
            readonly until: string | null;
        };
        /**
         * @description `orders`: no order is placed; `writes`: nothing is changed at the platform, and imports wait; `all`: the platform is not called
         * @enum {string}
         */
        readonly MaintenanceStops: "orders" | "writes" | "all";
        /** @description An employee of an enterprise. Fields that the platform does not return for a new member are null */
        readonly Member: {
            /** @description Asset numbers assigned to the member. */
            readonly assetNums: readonly string[];
            /** @description Passed on as it comes, because the platform does not document its shape, but for two things: an integer beyond 2^53 is a string of its digits (another number that no double holds is the nearest one), and members named `__proto__`, `constructor` or `prototype` are left out */
            readonly boundUserInfo: Json;
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string | null;
            /** @description Whether the member is deleted */
            readonly deleted: boolean | null;
            /**
             * Format: int64
             * @description Id of the department: a whole number of 64 bits, as digits in a string
             */
            readonly departmentId: string | null;
            /** @description Name of the department */
            readonly departmentName: string | null;
            /** @description The platform's internal id of the enterprise; operations use `enterpriseGlobalId` */
            readonly enterpriseId: string | null;
            /** @description The lent lock that is lent to the member. */
            readonly lentLockNum: string | null;
            /** @description Global id of the member, which operations on a member use */
            readonly memberGlobalId: string;
            /** @description The platform's internal id of the member's record; operations use `memberGlobalId` */
            readonly memberId: string | null;
            /** @description The member's own name. */
            readonly name: string | null;
            /** @description Whether the member is online now. */
            readonly online: boolean | null;
            /** @description Mobile number for the recovery of the password; it cannot be used to log in */
            readonly passwordMobile: string | null;
            /** @description Remark on the member */
            readonly remark: string | null;
            /**
             * Format: date-time
             * @description When it was last changed; null where it was not
             */
            readonly updatedAt: string | null;
            /** @description The platform's internal id of the user behind the member */
            readonly userId: string | null;
            /** @description Login name with the enterprise's suffix, which the platform appends */
            readonly userName: string | null;
        };
        /** @description Counts of members */
        readonly MemberCounts: {
            /**
             * Format: int64
             * @description Number of members
             */
            readonly total: number;
        };
        /** @description One page of members */
        readonly MemberPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["Member"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of members that match, on all pages; null where the platform does not count them, and the end of the list was not seen
             */
            readonly total: number | null;
            /**
             * Format: int64
             * @description Number of pages; null where `total` is
             */
            readonly totalPages: number | null;
        };
        /** @description A package of products */
        readonly Merchandise: {
            /**
             * @description Lower-level packages.
             * @example []
             */
            readonly children?: readonly components["schemas"]["Merchandise"][];
            /**
             * Format: id
             * @description The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check
             * @example CRM-M-1
             */
            readonly crmProductId?: string;
            /**
             * Format: text
             * @description Name of the package
             * @example Draft package
             */
            readonly merchandiseName?: string;
            /**
             * Format: id
             * @description Number of the package
             * @example PKG-1
             */
            readonly merchandiseNum?: string;
            /**
             * Format: id
             * @description Id in the CRM of the asset or package above: a label of the caller's own, which the gateway does not check
             */
            readonly parentCrmProductId?: string;
            /**
             * Format: id
             * @description Number of the package above
             */
            readonly parentMerchandiseNum?: string;
            /** @description Single products */
            readonly products?: readonly components["schemas"]["OrderProduct"][];
            /**
             * @description A length of time as years-months-days: `1-0-0` is one year
             * @example 1-0-0
             */
            readonly timeDurationExpression?: string;
        };
        /** @description A package on an asset */
        readonly MerchandiseInstance: {
            /** @description Code of the sales channel that the customer or order came by, such as `crm` */
            readonly channelCode: string | null;
            /** @description The order's number in the channel. With `channelCode` it identifies an order for good */
            readonly channelOrderId: string | null;
            /**
             * @description Lower-level packages.
             * @example []
             */
            readonly children: readonly components["schemas"]["MerchandiseInstance"][];
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string | null;
            /** @description Id of the customer on the platform */
            readonly customerId: string | null;
            /** @description Id of the record on the platform */
            readonly id: string;
            /** @description The platform's id of the licence order */
            readonly licenseOrderId: string | null;
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"] | (string & Record<never, never>) | null;
            /** @description Name of the package */
            readonly merchandiseName: string | null;
            /** @description Number of the package */
            readonly merchandiseNum: string | null;
            /** @description Id of the package above; null at the top */
            readonly parentId: string | null;
            /** @description Number of the package above */
            readonly parentMerchandiseNum: string | null;
            /** @description Products in the package itself, not in its lower levels. */
            readonly products: readonly components["schemas"]["ProductInstance"][];
            /** @description The licence order that it was transferred from, where it was */
            readonly srcLicenseOrderId: string | null;
            /** @description A length of time as years-months-days: `1-0-0` is one year */
            readonly timeDurationExpression: string | null;
            /**
             * Format: date-time
             * @description When it was last changed; null where it was not
             */
            readonly updatedAt: string | null;
        };
        /** @description What a caller has had in a calendar month (UTC) of what is limited now */
        readonly MonthlyUse: {
            /**
             * @description Year and month
             * @example 2026-11
             */
            readonly month: string;
            /**
             * @description By `orders`, `licences` or `deletions`. It counts from when the callers file has the limit
             * @example {
             *       "orders": 12
             *     }
             */
            readonly used: {
                readonly [key: string]: number;
            };
        };
        /** @description Item of an order that buys products or packages */
        readonly NewBuy: {
            /** @description The customer's administrator */
            readonly admin?: components["schemas"]["OrderAdmin"];
            /** @description The assets of the item */
            readonly assets: readonly components["schemas"]["BoughtAsset"][];
            /** @description The customer's branch */
            readonly branch?: components["schemas"]["OrderBranch"];
            /** @description For whom the item is */
            readonly customer: components["schemas"]["OrderCustomer"];
            /** @description Whether the customer is a person or a company */
            readonly customerType?: components["schemas"]["CustomerType"];
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"];
            /**
             * @description What the item does: buy, revoke assets, or revoke products (enum property replaced by openapi-typescript)
             * @enum {string}
             */
            readonly orderType: "new_buy";
            /**
             * Format: int32
             * @description Number of the item in the order; by default its place, counted from 1.
             * @example 1
             */
            readonly sequence?: number;
            /**
             * Format: id
             * @description The original licence order, if any.
             */
            readonly srcLicenseOrderId?: string;
        };
        /** @description An employee to add */
        readonly NewMember: {
            /**
             * @description Account name without the enterprise code, which the platform appends.
             * @example evan
             */
            readonly account: string;
            /**
             * @description Id of the department: a whole number of 64 bits, as digits in a string or as an integer
             * @example 10
             */
            readonly departmentId?: string | number;
            /**
             * Format: text
             * @description The member's own name.
             * @example Anna Berg
             */
            readonly name: string;
            /**
             * Format: password
             * @description Passed on unchanged. It must not begin or end with a blank
             */
            readonly password: string;
            /**
             * Format: text
             * @description The mobile number for the recovery of the password. A number with masked digits, such as `138****0001`, is refused.
             * @example 13800000001
             */
            readonly passwordMobile?: string;
            /**
             * Format: text
             * @description Remark on the member. An empty text is sent as it is: the platform's interface does not say whether that removes the current remark, so
             *     read the member afterwards.
             * @example Second floor
             */
            readonly remark?: string;
        };
        /** @description The customer's administrator */
        readonly OrderAdmin: {
            /**
             * Format: text
             * @description The administrator's login name.
             */
            readonly account?: string;
            /**
             * Format: text
             * @description The administrator's mobile number.
             */
            readonly cellNumber?: string;
            /**
             * Format: text
             * @description The administrator's e-mail address.
             */
            readonly email?: string;
            /**
             * Format: text
             * @description The administrator's own name.
             */
            readonly name?: string;
        };
        /** @description An asset on which something of an order stands */
        readonly OrderAsset: {
            /** @description Id of the asset */
            readonly assetId: string;
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string | null;
            /** @description The platform's id of the licence order */
            readonly licenseOrderId: string;
            /** @description The products of the order on this asset, each once. */
            readonly productUris: readonly string[];
            /**
             * Format: int32
             * @description The item of the order; null where the record does not tell which of several it came of
             */
            readonly sequence: number | null;
        };
        /** @description One page of the assets of an order */
        readonly OrderAssetPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["OrderAsset"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /** @description The customer's branch */
        readonly OrderBranch: {
            /**
             * Format: id
             * @description Code of the branch.
             */
            readonly code?: string;
            /**
             * Format: text
             * @description Name of the branch.
             */
            readonly name?: string;
        };
        /** @description The customer of an item of an order. Any of the ids is enough, unless the caller is bound to enterprises: then `customerId` and `enterpriseGlobalId` are required, and `crmCustomerId` is 403 `forbidden` */
        readonly OrderCustomer: {
            /**
             * Format: text
             * @description The customer's postal address, as one text
             */
            readonly address?: string;
            /**
             * Format: id
             * @description The customer's number in the channel
             * @example CH-1001
             */
            readonly channelCustomerId?: string;
            /**
             * Format: id
             * @description The customer's number in the CRM
             * @example CRM-1001
             */
            readonly crmCustomerId?: string;
            /**
             * Format: id
             * @description Id of the customer on the platform
             * @example cus-harbour-default
             */
            readonly customerId?: string;
            /**
             * Format: text
             * @description Name of the customer
             * @example Harbour Engineering
             */
            readonly customerName?: string;
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller; a bound caller must name one.
             * @example ent-harbour
             */
            readonly enterpriseGlobalId?: string;
            /**
             * Format: text
             * @description The purchaser's mobile number.
             */
            readonly passwordMobile?: string;
        };
        /** @description An extension property of an asset */
        readonly OrderExtension: {
            /**
             * Format: id
             * @description Code of the property.
             * @example site
             */
            readonly code: string;
            /**
             * Format: text
             * @description Passed on unchanged
             * @example pier-1
             */
            readonly value: string;
        };
        /** @description What an item of an order buys or revokes */
        readonly OrderItem: components["schemas"]["NewBuy"] | components["schemas"]["DeleteAsset"] | components["schemas"]["DeleteProduct"];
        /** @description One page of records of orders */
        readonly OrderPage: {
            /** @description The records in the order of `sort`. */
            readonly items: readonly components["schemas"]["OrderRecord"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /** @description A product of an order */
        readonly OrderProduct: {
            /**
             * Format: id
             * @description Id of a web application, kept for older systems
             */
            readonly appKey?: string;
            /**
             * Format: id
             * @description The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check
             * @example CRM-P-1
             */
            readonly crmProductId?: string;
            /**
             * Format: date-time
             * @description Later than `startsAt`, where both are there
             * @example 2027-01-01T00:00:00.000Z
             */
            readonly endsAt?: string;
            /** @description Features of the product */
            readonly features?: readonly components["schemas"]["ProductFeature"][];
            /**
             * Format: id
             * @description Id of a tool product, kept for older systems
             */
            readonly gmsPid?: string;
            /**
             * Format: int32
             * @description Number of nodes that may use the product at the same time
             * @example 5
             */
            readonly limitConcurrent?: number;
            /**
             * Format: int64
             * @description Time of use that may add up; digits in a string, in a unit that the platform does not document
             * @example 86400
             */
            readonly limitTimeDuration?: string;
            /**
             * Format: id
             * @description Id in the CRM of the asset or package above: a label of the caller's own, which the gateway does not check
             */
            readonly parentCrmProductId?: string;
            /** @description Licence passwords held in the lock. They are secret: no response, log or preview shows them */
            readonly passwords?: readonly string[];
            /**
             * Format: text
             * @description Name of the product
             * @example Draft Pro
             */
            readonly productName?: string;
            /**
             * Format: text
             * @description Type of the product; the platform does not document the words
             */
            readonly productType?: string;
            /**
             * Format: id
             * @description The product: a `gmsPid` or an `appKey`
             * @example draft.pro
             */
            readonly productUri?: string;
            /**
             * Format: id
             * @description On a purchase: the order from which this product is transferred.
             */
            readonly srcLicenseOrderId?: string;
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             * @example 2026-01-01T00:00:00.000Z
             */
            readonly startsAt?: string;
            /**
             * @description Of a deletion: `true` matches `startsAt`, `endsAt` and `limitConcurrent` exactly; `false`, the default, matches the product only
             * @example false
             */
            readonly strictMatchWhenDelete?: boolean;
            /**
             * @description A length of time as years-months-days: `1-0-0` is one year
             * @example 1-0-0
             */
            readonly timeDurationExpression?: string;
            /**
             * Format: text
             * @description Unit of `timeUnitQuantity`, in a word of the platform. Prefer `timeDurationExpression`
             */
            readonly timeUnit?: string;
            /**
             * Format: int32
             * @description Number of `timeUnit`s
             */
            readonly timeUnitQuantity?: number;
            /**
             * @description Whether it is a trial
             * @example false
             */
            readonly trial?: boolean;
            /**
             * Format: date-time
             * @description End of the trial, later than `startsAt` where both are there
             */
            readonly trialEndsAt?: string;
        };
        /** @description The gateway's record of an order: what was sent, and what became of it */
        readonly OrderRecord: {
            /** @description Code of the sales channel that the customer or order came by, such as `crm` */
            readonly channelCode: string;
            /** @description The order's number in the channel. With `channelCode` it identifies an order for good */
            readonly channelOrderId: string;
            /** @description Every item of the order, with its licence order where it is known; empty where the state is `rejected`, `not_sent` or `cancelled`. */
            readonly items: readonly components["schemas"]["OrderRecordItem"][];
            /**
             * Format: date-time
             * @description The time before which the order is not sent; null where it was placed at once
             */
            readonly notBefore: string | null;
            /** @description Why the order was settled: the reason of the operator, what was found at the platform, or what the profile teaches of its code */
            readonly reason: string | null;
            /**
             * Format: date-time
             * @description null while the order is open
             */
            readonly settledAt: string | null;
            /** @description What became of the order */
            readonly state: components["schemas"]["OrderState"] | (string & Record<never, never>);
            /**
             * Format: date-time
             * @description Time of the record, right before the order was sent; while it is `scheduled`, the time of its acceptance, or of the last attempt to send it
             */
            readonly submittedAt: string;
            /** @description Whether the platform places the order at once (`sync`) or later (`async`) */
            readonly syncMode: components["schemas"]["SyncMode"] | (string & Record<never, never>);
        };
        /** @description An item of the gateway's record of an order; the ids are of the platform's result */
        readonly OrderRecordItem: {
            /** @description Id of the customer on the platform */
            readonly customerId: string | null;
            /** @description The enterprise that the item names. */
            readonly enterpriseGlobalId: string | null;
            /** @description null where the item was not placed, or its licence order is not known yet. */
            readonly licenseOrderId: string | null;
            /** @description What the item does: buy, revoke assets, or revoke products */
            readonly orderType: components["schemas"]["OrderType"] | (string & Record<never, never>);
            /**
             * Format: int32
             * @description Number of the item in the order
             */
            readonly sequence: number;
        };
        /**
         * @description `-submittedAt`, as without it: the newest comes first; `notBefore`: what is due first comes first
         * @enum {string}
         */
        readonly OrderSort: "-submittedAt" | "notBefore";
        /**
         * @description `scheduled`: placed at its time (`notBefore`). `sending`: in progress. `succeeded`: placed. `accepted`: the platform places it later (`syncMode` async). `incomplete`: placed, but the platform did not confirm every item. `rejected`: the platform refused it; a corrected order may use the number. `not_sent`: nothing left the gateway, or the platform did not look at it, because it was too busy or refused the credentials of the gateway. `in_doubt`: sent, and its outcome is not known. `not_placed`: an operator settled it so; the number is free. `cancelled`: ended while it was scheduled; the number is free
         * @enum {string}
         */
        readonly OrderState: "scheduled" | "sending" | "succeeded" | "accepted" | "incomplete" | "rejected" | "not_sent" | "in_doubt" | "not_placed" | "cancelled";
        /**
         * @description `new_buy` buys, `delete_asset` revokes whole assets, `delete_product` revokes products of assets
         * @enum {string}
         */
        readonly OrderType: "new_buy" | "delete_asset" | "delete_product";
        /**
         * @description What is known about the effect on the platform: provably none, there was one, or it is not known
         * @enum {string}
         */
        readonly Outcome: "not_processed" | "processed" | "unknown";
        /** @description Counts of an enterprise. A section that could not be read is null and named in `unreachable` */
        readonly Overview: {
            /** @description The counts of asset numbers; null where they could not be read. */
            readonly assetNums: components["schemas"]["AssetNumCounts"] | null;
            /** @description The counts of assets; null where they could not be read. */
            readonly assets: components["schemas"]["AssetCounts"] | null;
            /** @description Global id of the enterprise's main account */
            readonly enterpriseGlobalId: string;
            /** @description The counts of lent locks; null where they could not be read. */
            readonly lentLocks: components["schemas"]["LentLockCounts"] | null;
            /** @description The counts of members; null where they could not be read. */
            readonly members: components["schemas"]["MemberCounts"] | null;
            /** @description The sections that could not be read. */
            readonly unreachable: readonly components["schemas"]["UnreachableSection"][];
        };
        /**
         * @description A section of the overview
         * @enum {string}
         */
        readonly OverviewSection: "members" | "assetNums" | "lentLocks" | "assets";
        /**
         * @description State of a part; `slow` where it does not respond in time, `off` where it is not configured
         * @enum {string}
         */
        readonly PartStatus: "up" | "slow" | "degraded" | "down" | "off";
        /** @description A batch of licence orders: one call to the platform */
        readonly PlaceOrder: {
            /**
             * Format: id
             * @description Code of the sales channel. Only channels granted to the caller.
             * @example crm
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description The order's number in the channel. With `channelCode` it identifies an order for good
             * @example SO-2001
             */
            readonly channelOrderId: string;
            /** @description With `notBefore`; absent: `reject` */
            readonly ifEffectsChanged?: components["schemas"]["IfEffectsChanged"];
            /** @description What to buy and to revoke; `orderType` tells which. */
            readonly items: readonly components["schemas"]["OrderItem"][];
            /**
             * Format: date-time
             * @description The time before which the order is not sent, at most 400 days away. Until then its state is `scheduled`; absent: now
             */
            readonly notBefore?: string;
            /**
             * @description Whether the platform places the order at once (`sync`) or later (`async`). By default `sync`
             * @example sync
             */
            readonly syncMode?: components["schemas"]["SyncMode"];
        };
        readonly PlaceOrderInput: components["schemas"]["PlaceOrder"];
        /** @description A code of the platform's interface, and what the gateway makes of it */
        readonly PlatformCode: {
            /** @description The code, as the platform sends it. */
            readonly code: string;
            /** @description What the gateway does, and what it answers. */
            readonly handling: string;
            /** @description The meaning of the code in the platform's interface. */
            readonly meaning: string;
            /** @description Ids of the operations for which the interface has the code; empty if any operation that calls the platform may meet it. */
            readonly operations: readonly string[];
            /** @description The problem that a caller gets for it; null where it is no failure */
            readonly problem: components["schemas"]["ProblemCode"] | (string & Record<never, never>) | null;
            /**
             * Format: int32
             * @description The HTTP status of the response to the caller
             */
            readonly status: number;
        };
        /** @description RFC 9457 problem details: the body of every error */
        readonly Problem: {
            /** @description The code for programs to decide on; it never changes once published */
            readonly code: components["schemas"]["ProblemCode"] | (string & Record<never, never>);
            /** @description Of `asset-assigned-twice`: the asset numbers that other members have */
            readonly conflicts?: readonly components["schemas"]["Conflict"][];
            /** @description What happened this time. */
            readonly detail?: string;
            /** @description One entry for each fault of the request; the first 100 where there are more */
            readonly errors?: readonly components["schemas"]["RequestFault"][];
            /** @description Of `edit-would-lose`: the fields whose values the edit would lose */
            readonly fields?: readonly string[];
            /** @description Of `events-expired`: the cursor from which nothing is missed */
            readonly oldest?: string;
            /** @description What is known about the effect on the platform; `not_processed` means that provably nothing happened */
            readonly outcome: components["schemas"]["Outcome"] | (string & Record<never, never>);
            /** @description The `X-Request-Id` of the request, by which the operator finds it in the log */
            readonly requestId: string;
            /**
             * Format: date-time
             * @description Of `budget-exhausted`: when the next month begins, and with it the next budget
             */
            readonly resetsAt?: string;
            /** @description Whether the same request may be sent again as it is */
            readonly retryable: boolean;
            /**
             * Format: int32
             * @description The HTTP status of the response
             */
            readonly status: number;
            /** @description The problem in a few words, the same for every occurrence */
            readonly title: string;
            /**
             * Format: uri-reference
             * @description The page that explains the problem
             */
            readonly type: string;
            /** @description Present when the platform answered. */
            readonly upstream?: components["schemas"]["UpstreamAnswer"];
            /**
             * @description The platform's code, where the operator of the gateway has taught it what this code means; `upstream` has it too
             * @example 13017
             */
            readonly upstreamCode?: string;
        };
        /**
         * @description Codes of problems; each has a page, `/problems/{code}`
         * @enum {string}
         */
        readonly ProblemCode: "validation-failed" | "unauthenticated" | "user-required" | "session-expired" | "login-failed" | "forbidden" | "budget-exhausted" | "not-found" | "order-not-found" | "customer-not-found" | "job-not-found" | "events-expired" | "maintenance" | "webhooks-off" | "estate-off" | "too-many-webhooks" | "webhook-not-found" | "precondition-failed" | "method-not-allowed" | "not-acceptable" | "edit-would-lose" | "suffix-unknown" | "order-not-settleable" | "order-not-cancellable" | "effects-changed" | "import-in-progress" | "too-many-deletes" | "request-in-progress" | "idempotency-key-reused" | "too-many-requests" | "payload-too-large" | "uri-too-long" | "unsupported-media-type" | "headers-too-large" | "internal-error" | "dependency-unavailable" | "overloaded" | "upstream-rejected" | "trial-member-limit" | "member-not-found" | "member-ambiguous" | "asset-not-found" | "asset-of-other-customer" | "asset-assigned-twice" | "account-not-bound" | "member-permission-insufficient" | "not-enough-nodes" | "already-lent" | "lent-lock-abnormal" | "lent-to-other-member" | "upstream-credential-rejected" | "upstream-unmapped-error" | "upstream-contract-violation" | "upstream-unavailable" | "upstream-timeout" | "outcome-unknown";
        /** @description What a problem means, and what to do */
        readonly ProblemDescription: {
            /** @description The code for programs to decide on; it never changes once published */
            readonly code: components["schemas"]["ProblemCode"] | (string & Record<never, never>);
            /** @description When it is sent. */
            readonly meaning: string;
            /**
             * @description Ids of the operations that have this problem as their own. Empty if operations of many kinds have it (its page says which), or if the
             *     request matches no operation.
             */
            readonly operations: readonly string[];
            /** @description The usual outcome: what is known about the effect on the platform */
            readonly outcome: components["schemas"]["Outcome"] | (string & Record<never, never>);
            /** @description Whether one occurrence may have another outcome: `unknown` after a write, or `processed` where `unknown` is usual. */
            readonly outcomeVaries: boolean;
            /** @description What the caller can do. */
            readonly remedy: string;
            /** @description Whether the same request may usually be sent again unchanged. */
            readonly retryable: boolean;
            /** @description HTTP statuses of the problem; the first is the usual one */
            readonly statuses: readonly number[];
            /** @description The problem in a few words, the same for every occurrence */
            readonly title: string;
            /** @description The `type` of such problems. */
            readonly type: string;
        };
        /** @description The catalogue of problems */
        readonly ProblemList: {
            /** @description The codes of the platform. Any other code is `upstream-unmapped-error`, unless the gateway's operator has taught its meaning. */
            readonly codes: readonly components["schemas"]["PlatformCode"][];
            /** @description All problems that the gateway sends. */
            readonly items: readonly components["schemas"]["ProblemDescription"][];
        };
        /** @description A feature of a product */
        readonly ProductFeature: {
            /**
             * Format: id
             * @description Code of the feature.
             * @example export
             */
            readonly code?: string;
            /**
             * Format: text
             * @description Name of the feature.
             * @example Export
             */
            readonly name?: string;
            /**
             * @description Whether it is a trial
             * @example false
             */
            readonly trial?: boolean;
            /**
             * Format: date-time
             * @description End of the trial. Where the platform takes a date (`featureTrialEnd` of its profile), it gets the day of this time in UTC, without the time of day
             */
            readonly trialEndsAt?: string;
            /**
             * Format: text
             * @description Passed on unchanged
             * @example on
             */
            readonly value?: string;
            /**
             * Format: text
             * @description Type of the value; the platform does not document the words.
             * @example string
             */
            readonly valueType?: string;
        };
        /** @description A product on an asset */
        readonly ProductInstance: {
            /** @description Whether the product is activated */
            readonly active: boolean | null;
            /** @description Id of a web application, kept for older systems */
            readonly appKey: string | null;
            /** @description Id of the asset */
            readonly assetId: string | null;
            /** @description Id of the instance of the asset, where there is one */
            readonly assetInsId: string | null;
            /** @description Number of the asset, such as the number of a lock */
            readonly assetNum: string | null;
            /** @description Code of the sales channel that the customer or order came by, such as `crm` */
            readonly channelCode: string | null;
            /** @description The order's number in the channel. With `channelCode` it identifies an order for good */
            readonly channelOrderId: string | null;
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string | null;
            /** @description The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check */
            readonly crmProductId: string | null;
            /** @description Id of the customer on the platform */
            readonly customerId: string | null;
            /**
             * Format: date-time
             * @description End of validity, where it has one
             */
            readonly endsAt: string | null;
            /** @description Id of a tool product, kept for older systems */
            readonly gmsPid: string | null;
            /** @description Id of the record on the platform */
            readonly id: string;
            /** @description The platform's id of the licence order */
            readonly licenseOrderId: string | null;
            /** @description Kind of the licence */
            readonly licenseType: components["schemas"]["LicenseType"] | (string & Record<never, never>) | null;
            /**
             * Format: int32
             * @description Amount that may be consumed, counted in units of the product
             */
            readonly limitAmount: number | null;
            /**
             * Format: int32
             * @description Number of nodes that may use the product at the same time
             */
            readonly limitConcurrent: number | null;
            /**
             * Format: int64
             * @description Time of use that may add up; digits in a string, in a unit that the platform does not document
             */
            readonly limitTimeDuration: string | null;
            /** @description Whether the limit is of the product itself or of a feature point */
            readonly limitType: components["schemas"]["LimitType"] | (string & Record<never, never>) | null;
            /** @description Id of the package that the product belongs to; null where it belongs to none */
            readonly merchandiseInsId: string | null;
            /** @description Whether the definition of the product has an extension */
            readonly prodDefExtend: boolean | null;
            /** @description Passed on as it comes, because the platform does not document its shape, but for two things: an integer beyond 2^53 is a string of its digits (another number that no double holds is the nearest one), and members named `__proto__`, `constructor` or `prototype` are left out */
            readonly productExtendInstanceList: Json;
            /** @description Name of the product */
            readonly productName: string | null;
            /** @description The product: a `gmsPid` or an `appKey` */
            readonly productUri: string | null;
            /** @description The licence order that it was transferred from, where it was */
            readonly srcLicenseOrderId: string | null;
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             */
            readonly startsAt: string | null;
            /** @description A length of time as years-months-days: `1-0-0` is one year */
            readonly timeDurationExpression: string | null;
            /** @description Whether it is a trial */
            readonly trial: boolean | null;
            /**
             * Format: date-time
             * @description End of the trial, where it has one
             */
            readonly trialEndsAt: string | null;
            /**
             * Format: date-time
             * @description When it was last changed; null where it was not
             */
            readonly updatedAt: string | null;
        };
        /** @description What all enterprises have of a product */
        readonly ProductSum: {
            /**
             * Format: int64
             * @description Assets that have it
             */
            readonly assets: number;
            /**
             * Format: int64
             * @description Nodes of it; one where it has no number of them
             */
            readonly licences: number;
            /**
             * Format: date-time
             * @description The next time from now at which one of them ends; null where none does
             */
            readonly nextEndsAt: string | null;
            /** @description Name of the product */
            readonly productName: string | null;
            /** @description The product: a `gmsPid` or an `appKey` */
            readonly productUri: string;
            /**
             * Format: int64
             * @description Assets with it that can be given to a member and have none
             */
            readonly unassigned: number;
        };
        /** @description So many requests in a window of so many seconds */
        readonly RateLimit: {
            /**
             * Format: int64
             * @description Length of the window in seconds; it begins with its first request
             */
            readonly perSeconds: number;
            /**
             * Format: int64
             * @description Number of requests in a window
             */
            readonly requests: number;
        };
        /** @description Whether the gateway admits requests, and the states of its parts */
        readonly Readiness: {
            /** @description Whether new requests are refused */
            readonly load: components["schemas"]["Load"] | (string & Record<never, never>);
            /** @description Whether the database can be used: without it the gateway places no order */
            readonly orders: components["schemas"]["PartStatus"] | (string & Record<never, never>);
            /** @description The Redis that replicas share */
            readonly redis: components["schemas"]["PartStatus"] | (string & Record<never, never>);
            /** @description Whether the gateway admits requests */
            readonly status: components["schemas"]["HealthStatus"] | (string & Record<never, never>);
            /** @description Whether the last token request to the platform succeeded */
            readonly tokens: components["schemas"]["PartStatus"] | (string & Record<never, never>);
            /** @description The platform, by groups of operations: `slow` where the latest calls of a group (three or more) got no response in time; `degraded` where they failed in another way, or where the circuit of a group is open; `down` where the circuits of all groups in use are open */
            readonly upstream: components["schemas"]["PartStatus"] | (string & Record<never, never>);
        };
        readonly ReadyInput: Record<string, never>;
        readonly RedeliverInput: {
            /** @description Id of the event, which is its cursor */
            readonly eventId: string;
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        };
        /** @description Assets whose products are revoked */
        readonly ReducedAsset: {
            /**
             * @description Numbers of assets
             * @example [
             *       "8000001009"
             *     ]
             */
            readonly assetNums: readonly string[];
            /**
             * Format: date-time
             * @description Later than `startsAt`, where both are there
             * @example 2027-01-01T00:00:00.000Z
             */
            readonly endsAt?: string;
            /** @description Extension properties of the asset */
            readonly extensions?: readonly components["schemas"]["OrderExtension"][];
            /** @description Whether it is a lent lock: a lock made for lending (its kind). `lent` tells whether it is lent out now (its state) */
            readonly lentLock?: boolean;
            /** @description Packages of products */
            readonly merchandises?: readonly components["schemas"]["RevokedMerchandise"][];
            /** @description Single products */
            readonly products?: readonly components["schemas"]["RevokedProduct"][];
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             * @example 2026-01-01T00:00:00.000Z
             */
            readonly startsAt?: string;
            /** @description Whether the asset number is transferred from another asset */
            readonly transferred?: boolean;
        };
        /** @description The enterprise that is to be read next */
        readonly RefreshEstate: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account
             * @example ent-harbour
             */
            readonly enterpriseGlobalId: string;
        };
        readonly RefreshEstateInput: components["schemas"]["RefreshEstate"];
        /**
         * @description The region in the first digit of an asset number: 8 is domestic, 6 Singapore
         * @enum {string}
         */
        readonly Region: "domestic" | "singapore" | "unknown";
        /** @description A fault of the request: where it is, and what is allowed there */
        readonly RequestFault: {
            /** @description Column of an imported file; absent where it does not apply */
            readonly column?: string;
            /** @description What is allowed at this location. */
            readonly detail: string;
            /**
             * Format: int32
             * @description Line of an imported file in which the row begins, as an editor counts: 1 is the first, and a cell in quotes may have several; absent where it does not apply
             */
            readonly line?: number;
            /** @description Query parameter, path parameter or header; absent where it does not apply */
            readonly parameter?: string;
            /** @description JSON pointer (RFC 6901) into the body; absent where it does not apply */
            readonly pointer?: string;
            /**
             * Format: int64
             * @description Row of an imported file: 1 is the first below the header, 0 the header; absent where it does not apply
             */
            readonly row?: number;
        };
        /** @description How many asset numbers to reserve */
        readonly ReserveAssetNums: {
            /**
             * Format: int32
             * @description Number of asset numbers to reserve.
             * @example 2
             */
            readonly size: number;
        };
        readonly ReserveAssetNumsInput: components["schemas"]["ReserveAssetNums"];
        /** @description A reserved asset number */
        readonly ReservedAssetNum: {
            /** @description The digits of an asset number: one for the region, and nine that count up */
            readonly keyShellNumber: string;
            /** @description Region of an asset number, by its first digit */
            readonly region: components["schemas"]["Region"] | (string & Record<never, never>);
        };
        /** @description The asset numbers that the platform reserved */
        readonly ReservedAssetNums: {
            /** @description The reserved numbers. They may be fewer than requested. */
            readonly items: readonly components["schemas"]["ReservedAssetNum"][];
            /**
             * Format: int64
             * @description Number of requested asset numbers
             */
            readonly requested: number;
        };
        readonly ResetMemberPasswordInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        } & components["schemas"]["ResetPassword"];
        /** @description A member's new password */
        readonly ResetPassword: {
            /**
             * Format: password
             * @description Passed on unchanged. It must not begin or end with a blank
             */
            readonly password: string;
        };
        readonly RetryJobInput: {
            /**
             * Format: id
             * @description Id of the job
             */
            readonly jobId: string;
        };
        /** @description Assets that are revoked. With `srcLicenseOrderId` a platform may end only the products of that order, and the asset if nothing else is on it; its interface does not say. Other fields do not matter. To revoke products of an asset, use `delete_product` */
        readonly RevokedAsset: {
            /**
             * @description Numbers of assets
             * @example [
             *       "8000001009"
             *     ]
             */
            readonly assetNums: readonly string[];
            /**
             * Format: date-time
             * @description Later than `startsAt`, where both are there
             * @example 2027-01-01T00:00:00.000Z
             */
            readonly endsAt?: string;
            /** @description Extension properties of the asset */
            readonly extensions?: readonly components["schemas"]["OrderExtension"][];
            /** @description Whether it is a lent lock: a lock made for lending (its kind). `lent` tells whether it is lent out now (its state) */
            readonly lentLock?: boolean;
            /** @description Packages of products */
            readonly merchandises?: readonly components["schemas"]["Merchandise"][];
            /** @description Single products */
            readonly products?: readonly components["schemas"]["OrderProduct"][];
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             * @example 2026-01-01T00:00:00.000Z
             */
            readonly startsAt?: string;
            /** @description Whether the asset number is transferred from another asset */
            readonly transferred?: boolean;
        };
        /** @description A package whose products are to be revoked. A deletion with packages is 400 unless the operator knows that the platform takes them */
        readonly RevokedMerchandise: {
            /**
             * @description Lower-level packages.
             * @example []
             */
            readonly children?: readonly components["schemas"]["RevokedMerchandise"][];
            /**
             * Format: id
             * @description The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check
             * @example CRM-M-1
             */
            readonly crmProductId?: string;
            /**
             * Format: text
             * @description Name of the package
             * @example Draft package
             */
            readonly merchandiseName?: string;
            /**
             * Format: id
             * @description Number of the package
             * @example PKG-1
             */
            readonly merchandiseNum?: string;
            /**
             * Format: id
             * @description Id in the CRM of the asset or package above: a label of the caller's own, which the gateway does not check
             */
            readonly parentCrmProductId?: string;
            /**
             * Format: id
             * @description Number of the package above
             */
            readonly parentMerchandiseNum?: string;
            /** @description Single products */
            readonly products?: readonly components["schemas"]["RevokedProduct"][];
            /**
             * @description A length of time as years-months-days: `1-0-0` is one year
             * @example 1-0-0
             */
            readonly timeDurationExpression?: string;
        };
        /** @description A product to be revoked */
        readonly RevokedProduct: {
            /**
             * Format: id
             * @description Id of a web application, kept for older systems
             */
            readonly appKey?: string;
            /**
             * Format: id
             * @description The product's or package's id in the CRM: a label of the caller's own, which the gateway does not check
             * @example CRM-P-1
             */
            readonly crmProductId?: string;
            /**
             * Format: date-time
             * @description Later than `startsAt`, where both are there
             * @example 2027-01-01T00:00:00.000Z
             */
            readonly endsAt?: string;
            /** @description Features of the product */
            readonly features?: readonly components["schemas"]["ProductFeature"][];
            /**
             * Format: id
             * @description Id of a tool product, kept for older systems
             */
            readonly gmsPid?: string;
            /**
             * Format: int32
             * @description Number of nodes that may use the product at the same time
             * @example 5
             */
            readonly limitConcurrent?: number;
            /**
             * Format: int64
             * @description Time of use that may add up; digits in a string, in a unit that the platform does not document
             * @example 86400
             */
            readonly limitTimeDuration?: string;
            /**
             * Format: id
             * @description Id in the CRM of the asset or package above: a label of the caller's own, which the gateway does not check
             */
            readonly parentCrmProductId?: string;
            /** @description Licence passwords held in the lock. They are secret: no response, log or preview shows them */
            readonly passwords?: readonly string[];
            /**
             * Format: text
             * @description Name of the product
             * @example Draft Pro
             */
            readonly productName?: string;
            /**
             * Format: text
             * @description Type of the product; the platform does not document the words
             */
            readonly productType?: string;
            /**
             * Format: id
             * @description The product: a `gmsPid` or an `appKey`
             * @example draft.pro
             */
            readonly productUri: string;
            /**
             * Format: id
             * @description On a purchase: the order from which this product is transferred.
             */
            readonly srcLicenseOrderId?: string;
            /**
             * Format: date-time
             * @description Start of validity, where it has one
             * @example 2026-01-01T00:00:00.000Z
             */
            readonly startsAt?: string;
            /**
             * @description Of a deletion: `true` matches `startsAt`, `endsAt` and `limitConcurrent` exactly; `false`, the default, matches the product only
             * @example false
             */
            readonly strictMatchWhenDelete?: boolean;
            /**
             * @description A length of time as years-months-days: `1-0-0` is one year
             * @example 1-0-0
             */
            readonly timeDurationExpression?: string;
            /**
             * Format: text
             * @description Unit of `timeUnitQuantity`, in a word of the platform. Prefer `timeDurationExpression`
             */
            readonly timeUnit?: string;
            /**
             * Format: int32
             * @description Number of `timeUnit`s
             */
            readonly timeUnitQuantity?: number;
            /**
             * @description Whether it is a trial
             * @example false
             */
            readonly trial?: boolean;
            /**
             * Format: date-time
             * @description End of the trial, later than `startsAt` where both are there
             */
            readonly trialEndsAt?: string;
        };
        /** @description What changed */
        readonly RightsChange: {
            /** @description Numbers that were assigned to the member. */
            readonly assigned: readonly string[];
            /** @description Requested numbers that the member already had. A lent lock that `setMemberAssetNums` does not name stays with the member, and is in none of these lists. */
            readonly kept: readonly string[];
            /** @description Numbers that were taken from the member. */
            readonly withdrawn: readonly string[];
        };
        readonly RotateWebhookSecretInput: {
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        };
        /**
         * @description What became of a row: `pending` was not sent (yet), `unknown` may have been carried out
         * @enum {string}
         */
        readonly RowStatus: "pending" | "added" | "updated" | "unchanged" | "deleted" | "failed" | "unknown";
        /**
         * @description What a caller may do; each operation names the scope that it needs
         * @enum {string}
         */
        readonly Scope: "orders:read" | "orders:write" | "orders:revoke" | "orders:settle" | "customers:write" | "locks:write" | "members:read" | "members:write" | "sessions:write" | "gaps:read" | "events:read" | "webhooks:write" | "estate:read" | "operate";
        /** @description A session */
        readonly Session: {
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string;
            /**
             * Format: date-time
             * @description When the session ends
             */
            readonly expiresAt: string;
            /** @description The user's login name on the platform, with the enterprise's suffix */
            readonly username: string;
        };
        /** @description A new session */
        readonly SessionCreated: {
            /**
             * Format: date-time
             * @description When the session ends
             */
            readonly expiresAt: string;
            /** @description For the header `X-Session-Id`. No other operation shows it, and the gateway keeps only its hash, unless the request has an `Idempotency-Key`: then the gateway keeps this response for 7 days, encrypted, for a repeat of the request. */
            readonly sessionId: string;
        };
        /** @description The wanted asset numbers of a member */
        readonly SetAssetNums: {
            /**
             * @description All asset numbers that the member has afterwards.
             * @example [
             *       "8000001002",
             *       "8000001004"
             *     ]
             */
            readonly assetNums: readonly string[];
        };
        /** @description What is stopped, and until when */
        readonly SetMaintenance: {
            /**
             * Format: date-time
             * @description When it begins; left out: now
             */
            readonly from?: string;
            /**
             * Format: text
             * @description What callers are told
             * @example the platform is updated
             */
            readonly reason: string;
            /** @description What is stopped */
            readonly stops: components["schemas"]["MaintenanceStops"];
            /**
             * Format: date-time
             * @description When it ends by itself: at most 7 days from now
             */
            readonly until: string;
        };
        readonly SetMaintenanceInput: components["schemas"]["SetMaintenance"];
        readonly SetMemberAssetNumsInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        } & components["schemas"]["SetAssetNums"];
        /** @description An item that the platform placed, as the operator found it */
        readonly SettledItem: {
            /**
             * Format: id
             * @description Id of the customer on the platform
             */
            readonly customerId?: string;
            /**
             * Format: id
             * @description The platform's id of the licence order
             * @example 9007199254740993
             */
            readonly licenseOrderId: string;
            /**
             * Format: int32
             * @description Number of the item in the order
             * @example 1
             */
            readonly sequence: number;
        };
        /**
         * @description What an operator found out: the platform placed the order, or it did not
         * @enum {string}
         */
        readonly Settlement: "succeeded" | "not_placed";
        /** @description What an operator found out about an order whose end is not known */
        readonly SettleOrder: {
            /** @description What became of the order. */
            readonly as: components["schemas"]["Settlement"];
            /** @description The placed items, where they are known. */
            readonly items?: readonly components["schemas"]["SettledItem"][];
            /**
             * Format: text
             * @description How the operator found out; the record keeps it.
             */
            readonly reason: string;
        };
        readonly SettleOrderInput: {
            /**
             * Format: id
             * @description Code of the sales channel that the customer or order came by, such as `crm`
             */
            readonly channelCode: string;
            /**
             * Format: id
             * @description The order's number in the channel. With `channelCode` it identifies an order for good
             */
            readonly channelOrderId: string;
        } & components["schemas"]["SettleOrder"];
        /**
         * @description `sync`: the response has the result; `async`: the platform places the order later
         * @enum {string}
         */
        readonly SyncMode: "sync" | "async";
        /** @description What became of one delivery */
        readonly TestDelivery: {
            /**
             * Format: int64
             * @description From the beginning to the end of the answer, in ms
             */
            readonly durationMs: number;
            /** @description Why the receiver did not accept the event; null where it did. */
            readonly error: string | null;
            /**
             * Format: int32
             * @description The HTTP status of the receiver; null where it did not answer.
             */
            readonly status: number | null;
        };
        /** @description What `testWebhook` sends to a receiver: CloudEvents 1.0, structured JSON */
        readonly TestEvent: {
            /** @description An empty object. */
            readonly data: Record<string, never>;
            /**
             * @description The media type of `data`.
             * @enum {string}
             */
            readonly datacontenttype: "application/json";
            /** @description The id of this event alone. */
            readonly id: string;
            /** @description The path of webhooks. */
            readonly source: string;
            /**
             * @description The version of CloudEvents.
             * @enum {string}
             */
            readonly specversion: "1.0";
            /** @description The id of the webhook. */
            readonly subject: string;
            /**
             * Format: date-time
             * @description When it was sent
             */
            readonly time: string;
            /**
             * @description The type of this event, which no other event has.
             * @enum {string}
             */
            readonly type: "webhook.test";
        };
        readonly TestWebhookInput: {
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        };
        /** @description A section of the overview whose read failed */
        readonly UnreachableSection: {
            /** @description The code of the problem of the failed read */
            readonly code: components["schemas"]["ProblemCode"] | (string & Record<never, never>);
            /** @description The section that is null */
            readonly section: components["schemas"]["OverviewSection"] | (string & Record<never, never>);
        };
        /** @description What changes; the rest stays as it is, unless the platform clears what an edit leaves out (`customerEdit` of its profile): it shows neither name, branch nor address, so the gateway cannot send them again, and a caller should give all three. `null` clears one where the profile says that the platform can, else it is 400 */
        readonly UpdateCustomer: {
            /**
             * Format: text
             * @description The customer's postal address, as one text
             * @example 2 Harbour Road
             */
            readonly address?: string | null;
            /**
             * Format: text
             * @description Name of the customer's branch
             * @example Coast
             */
            readonly branchName?: string | null;
            /**
             * Format: text
             * @description Name of the customer
             * @example Harbour Engineering Ltd
             */
            readonly customerName?: string;
        };
        readonly UpdateCustomerInput: {
            /**
             * Format: id
             * @description The customer's number in the CRM. The gateway sends it to the platform in a body, so any id is possible.
             */
            readonly crmCustomerId: string;
        } & components["schemas"]["UpdateCustomer"];
        /** @description New data of a member; optional fields that are left out stay as they are, or the edit is 409 `edit-would-lose`. `null` clears one, where the profile of the platform says that it can (`memberEdit`), else it is 400 */
        readonly UpdateMember: {
            /**
             * @description Account name without the enterprise code; a new name renames the account.
             * @example anna
             */
            readonly account: string;
            /**
             * @description Id of the department: a whole number of 64 bits, as digits in a string or as an integer
             * @example 10
             */
            readonly departmentId?: (string | number) | null;
            /**
             * Format: text
             * @description The member's own name.
             * @example Anna Berg
             */
            readonly name: string;
            /**
             * Format: text
             * @description The mobile number for the recovery of the password. A number with masked digits, such as `138****0001`, is refused.
             * @example 13800000001
             */
            readonly passwordMobile?: string | null;
            /**
             * Format: text
             * @description Remark on the member. An empty text is sent as it is: the platform's interface does not say whether that removes the current remark, so
             *     read the member afterwards.
             * @example Second floor
             */
            readonly remark?: string | null;
        };
        readonly UpdateMemberInput: {
            /**
             * Format: id
             * @description Global id of the enterprise's main account. Only enterprises granted to the caller.
             */
            readonly enterpriseGlobalId: string;
            /**
             * Format: id
             * @description Global id of the member, which operations on a member use
             */
            readonly memberGlobalId: string;
        } & components["schemas"]["UpdateMember"];
        /** @description What changes; fields that are left out stay as they are */
        readonly UpdateWebhook: {
            /**
             * Format: text
             * @description A text for people.
             * @example billing
             */
            readonly description?: string;
            /** @description Whether events are sent. A webhook that is switched on gets what it missed in the last 7 days. */
            readonly enabled?: boolean;
            /**
             * @description Only events of orders, jobs and the estate of these enterprises; `["*"]`, or left out of `createWebhook`: of all that are granted
             * @example [
             *       "ent-harbour"
             *     ]
             */
            readonly enterprises?: readonly string[];
            /**
             * @description Types of events; `["*"]` stands for all of them, also for those to come
             * @example [
             *       "license-order.succeeded"
             *     ]
             */
            readonly types?: readonly components["schemas"]["WantedEventType"][];
            /**
             * Format: text
             * @description Where the events are sent: https, or a loopback address, and a host that `WEBHOOK_HOSTS` of the gateway lists
             * @example http://127.0.0.1:8080/hook
             */
            readonly url?: string;
        };
        readonly UpdateWebhookInput: {
            /**
             * Format: id
             * @description Id of the webhook
             */
            readonly webhookId: string;
        } & components["schemas"]["UpdateWebhook"];
        /** @description What the platform answered */
        readonly UpstreamAnswer: {
            /** @description The platform's business code, where its answer had one. */
            readonly code?: string;
            /** @description The platform's operation that answered. */
            readonly operation: string;
            /**
             * Format: int32
             * @description The HTTP status of the platform's answer
             */
            readonly status: number;
        };
        /**
         * @description A type of events, or `*` for all of them
         * @enum {string}
         */
        readonly WantedEventType: "license-order.scheduled" | "license-order.accepted" | "license-order.succeeded" | "license-order.incomplete" | "license-order.rejected" | "license-order.in-doubt" | "license-order.not-sent" | "license-order.not-placed" | "license-order.cancelled" | "job.succeeded" | "job.completed" | "job.failed" | "job.cancelled" | "estate.ending" | "estate.added" | "estate.removed" | "estate.changed" | "*";
        readonly WatchEventsInput: {
            /** @description Only events after this one: its id, or `next` of a page */
            readonly after?: string;
            /**
             * Format: id
             * @description Only events of orders, jobs and the estate of this enterprise
             */
            readonly enterpriseGlobalId?: string;
            /** @description Only events of these types, separated by commas */
            readonly type?: readonly components["schemas"]["EventType"][];
        };
        readonly WatchJobInput: {
            /**
             * Format: id
             * @description Id of the job
             */
            readonly jobId: string;
        };
        /** @description A receiver of events, and how its deliveries go */
        readonly Webhook: {
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string;
            /** @description A text for people; null where its owner gave none. */
            readonly description: string | null;
            /** @description Whether events are sent. */
            readonly enabled: boolean;
            /** @description Null: all enterprises that are granted. */
            readonly enterprises: readonly string[] | null;
            /**
             * Format: date-time
             * @description Since when no delivery was taken; null where the last one was, or where none waits
             */
            readonly failingSince: string | null;
            /**
             * Format: date-time
             * @description When a delivery was taken last
             */
            readonly lastDeliveredAt: string | null;
            /** @description Why it is off; null while it is on */
            readonly offReason: components["schemas"]["WebhookOffReason"] | (string & Record<never, never>) | null;
            /**
             * Format: int64
             * @description Deliveries that wait
             */
            readonly pending: number;
            /** @description How the deliveries go */
            readonly state: components["schemas"]["WebhookState"] | (string & Record<never, never>);
            /** @description Types of events; `*` stands for all of them. */
            readonly types: readonly string[];
            /** @description The URL to which the events are sent. */
            readonly url: string;
            /** @description Id of the webhook */
            readonly webhookId: string;
        };
        /**
         * @description `by-request`: `updateWebhook` did it; `gone`: the receiver answered 410; `failing`: no delivery was taken for 3 days; `address-refused`: the same, and at the end the host or the address of the receiver was one that may not be called
         * @enum {string}
         */
        readonly WebhookOffReason: "by-request" | "gone" | "failing" | "address-refused";
        /** @description One page of webhooks */
        readonly WebhookPage: {
            /** @description The items of the page, in the order of the platform */
            readonly items: readonly components["schemas"]["Webhook"][];
            /**
             * Format: int64
             * @description Number of the page, counted from 1
             */
            readonly page: number;
            /**
             * Format: int64
             * @description Items on a full page
             */
            readonly pageSize: number;
            /**
             * Format: int64
             * @description Number of items that match, on all pages
             */
            readonly total: number;
            /**
             * Format: int64
             * @description Number of pages
             */
            readonly totalPages: number;
        };
        /**
         * @description `ok`: the last delivery was taken, or none waits; `failing`: no delivery was taken since the first that was not; `off`: nothing is delivered
         * @enum {string}
         */
        readonly WebhookState: "ok" | "failing" | "off";
        /** @description A webhook with its secret */
        readonly WebhookWithSecret: {
            /**
             * Format: date-time
             * @description When it was created
             */
            readonly createdAt: string;
            /** @description A text for people; null where its owner gave none. */
            readonly description: string | null;
            /** @description Whether events are sent. */
            readonly enabled: boolean;
            /** @description Null: all enterprises that are granted. */
            readonly enterprises: readonly string[] | null;
            /**
             * Format: date-time
             * @description Since when no delivery was taken; null where the last one was, or where none waits
             */
            readonly failingSince: string | null;
            /**
             * Format: date-time
             * @description When a delivery was taken last
             */
            readonly lastDeliveredAt: string | null;
            /** @description Why it is off; null while it is on */
            readonly offReason: components["schemas"]["WebhookOffReason"] | (string & Record<never, never>) | null;
            /**
             * Format: int64
             * @description Deliveries that wait
             */
            readonly pending: number;
            /**
             * @description The secret that signs deliveries (Standard Webhooks). It is shown once: a repeated request has null.
             * @example whsec_bm90IGEgc2VjcmV0LCBvbmx5IGFuIGV4YW1wbGU=
             */
            readonly secret: string | null;
            /** @description How the deliveries go */
            readonly state: components["schemas"]["WebhookState"] | (string & Record<never, never>);
            /** @description Types of events; `*` stands for all of them. */
            readonly types: readonly string[];
            /** @description The URL to which the events are sent. */
            readonly url: string;
            /** @description Id of the webhook */
            readonly webhookId: string;
        };
        /** @description A call of the platform that a write would make */
        readonly WouldSend: {
            /** @description The body, with its secrets masked, and whole numbers beyond 2^53 as text; null where it has none, and for an import, whose `plan` has what would be done */
            readonly body: {
                readonly [key: string]: Json;
            } | null;
            /**
             * @description The platform's operation, as in `x-upstream`
             * @example deleteMember
             */
            readonly operation: string;
        };
    };
}

/** What the platform does not document. */
export type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

export type AddMembers = components['schemas']['AddMembers'];
export type AddMembersInput = components['schemas']['AddMembersInput'];
export type AddMembersResult = components['schemas']['AddMembersResult'];
export type Asset = components['schemas']['Asset'];
export type AssetAssignment = components['schemas']['AssetAssignment'];
export type AssetCounts = components['schemas']['AssetCounts'];
export type AssetNum = components['schemas']['AssetNum'];
export type AssetNumCounts = components['schemas']['AssetNumCounts'];
export type AssetNumPage = components['schemas']['AssetNumPage'];
export type AssetPage = components['schemas']['AssetPage'];
export type AssetProducts = components['schemas']['AssetProducts'];
export type BindCustomer = components['schemas']['BindCustomer'];
export type BindCustomerInput = components['schemas']['BindCustomerInput'];
export type BoughtAsset = components['schemas']['BoughtAsset'];
export type Budget = components['schemas']['Budget'];
export type BudgetMonths = components['schemas']['BudgetMonths'];
export type Caller = components['schemas']['Caller'];
export type CancelJobInput = components['schemas']['CancelJobInput'];
export type CancelOrderInput = components['schemas']['CancelOrderInput'];
export type CellForm = components['schemas']['CellForm'];
export type ChangeAssetNums = components['schemas']['ChangeAssetNums'];
export type ChangeMemberAssetNumsInput = components['schemas']['ChangeMemberAssetNumsInput'];
export type Conflict = components['schemas']['Conflict'];
export type CreateEnterprise = components['schemas']['CreateEnterprise'];
export type CreateEnterpriseInput = components['schemas']['CreateEnterpriseInput'];
export type CreateSession = components['schemas']['CreateSession'];
export type CreateSessionInput = components['schemas']['CreateSessionInput'];
export type CreateWebhook = components['schemas']['CreateWebhook'];
export type CreateWebhookInput = components['schemas']['CreateWebhookInput'];
export type Customer = components['schemas']['Customer'];
export type CustomerPage = components['schemas']['CustomerPage'];
export type CustomerType = components['schemas']['CustomerType'];
export type DeleteAsset = components['schemas']['DeleteAsset'];
export type DeleteMemberInput = components['schemas']['DeleteMemberInput'];
export type DeleteProduct = components['schemas']['DeleteProduct'];
export type DeleteSessionInput = components['schemas']['DeleteSessionInput'];
export type DeleteWebhookInput = components['schemas']['DeleteWebhookInput'];
export type Delivery = components['schemas']['Delivery'];
export type DeliveryPage = components['schemas']['DeliveryPage'];
export type DeliveryState = components['schemas']['DeliveryState'];
export type DisableLocksInput = components['schemas']['DisableLocksInput'];
export type DryRun = components['schemas']['DryRun'];
export type Effect = components['schemas']['Effect'];
export type EffectKind = components['schemas']['EffectKind'];
export type EnableLocksInput = components['schemas']['EnableLocksInput'];
export type EndMaintenanceInput = components['schemas']['EndMaintenanceInput'];
export type EndingMonth = components['schemas']['EndingMonth'];
export type Enterprise = components['schemas']['Enterprise'];
export type EnterpriseMember = components['schemas']['EnterpriseMember'];
export type EstateEnterprise = components['schemas']['EstateEnterprise'];
export type EstateOrder = components['schemas']['EstateOrder'];
export type EstatePage = components['schemas']['EstatePage'];
export type EstateRow = components['schemas']['EstateRow'];
export type EstateState = components['schemas']['EstateState'];
export type EstateSummary = components['schemas']['EstateSummary'];
export type Event = components['schemas']['Event'];
export type EventPage = components['schemas']['EventPage'];
export type EventType = components['schemas']['EventType'];
export type ExportMembersInput = components['schemas']['ExportMembersInput'];
export type Extension = components['schemas']['Extension'];
export type FailedMember = components['schemas']['FailedMember'];
export type FindCustomersInput = components['schemas']['FindCustomersInput'];
export type Gap = components['schemas']['Gap'];
export type GapKind = components['schemas']['GapKind'];
export type GapPage = components['schemas']['GapPage'];
export type GetAssetInput = components['schemas']['GetAssetInput'];
export type GetAssetProductsInput = components['schemas']['GetAssetProductsInput'];
export type GetBudgetsInput = components['schemas']['GetBudgetsInput'];
export type GetCallerInput = components['schemas']['GetCallerInput'];
export type GetEstateSummaryInput = components['schemas']['GetEstateSummaryInput'];
export type GetJobInput = components['schemas']['GetJobInput'];
export type GetJobRowsInput = components['schemas']['GetJobRowsInput'];
export type GetMaintenanceInput = components['schemas']['GetMaintenanceInput'];
export type GetMemberInput = components['schemas']['GetMemberInput'];
export type GetOrderAssetsInput = components['schemas']['GetOrderAssetsInput'];
export type GetOrderInput = components['schemas']['GetOrderInput'];
export type GetOverviewInput = components['schemas']['GetOverviewInput'];
export type GetProblemInput = components['schemas']['GetProblemInput'];
export type GetSessionInput = components['schemas']['GetSessionInput'];
export type GetWebhookInput = components['schemas']['GetWebhookInput'];
export type HealthStatus = components['schemas']['HealthStatus'];
export type IfEffectsChanged = components['schemas']['IfEffectsChanged'];
export type ImportMembersInput = components['schemas']['ImportMembersInput'];
export type ImportMode = components['schemas']['ImportMode'];
export type ImportPlan = components['schemas']['ImportPlan'];
export type ImportedMember = components['schemas']['ImportedMember'];
export type ImpossibleRow = components['schemas']['ImpossibleRow'];
export type Job = components['schemas']['Job'];
export type JobKind = components['schemas']['JobKind'];
export type JobPage = components['schemas']['JobPage'];
export type JobProblem = components['schemas']['JobProblem'];
export type JobRow = components['schemas']['JobRow'];
export type JobState = components['schemas']['JobState'];
export type LendAssets = components['schemas']['LendAssets'];
export type LendAssetsInput = components['schemas']['LendAssetsInput'];
export type LentLock = components['schemas']['LentLock'];
export type LentLockCounts = components['schemas']['LentLockCounts'];
export type LentLockPage = components['schemas']['LentLockPage'];
export type LicenseType = components['schemas']['LicenseType'];
export type LimitType = components['schemas']['LimitType'];
export type ListAssetNumsInput = components['schemas']['ListAssetNumsInput'];
export type ListAssetsInput = components['schemas']['ListAssetsInput'];
export type ListDeliveriesInput = components['schemas']['ListDeliveriesInput'];
export type ListEstateInput = components['schemas']['ListEstateInput'];
export type ListEventsInput = components['schemas']['ListEventsInput'];
export type ListGapsInput = components['schemas']['ListGapsInput'];
export type ListJobsInput = components['schemas']['ListJobsInput'];
export type ListLentLocksInput = components['schemas']['ListLentLocksInput'];
export type ListMembersInput = components['schemas']['ListMembersInput'];
export type ListOrdersInput = components['schemas']['ListOrdersInput'];
export type ListProblemsInput = components['schemas']['ListProblemsInput'];
export type ListWebhooksInput = components['schemas']['ListWebhooksInput'];
export type LiveInput = components['schemas']['LiveInput'];
export type Liveness = components['schemas']['Liveness'];
export type Load = components['schemas']['Load'];
export type LockResult = components['schemas']['LockResult'];
export type LockResults = components['schemas']['LockResults'];
export type LockStatus = components['schemas']['LockStatus'];
export type Locks = components['schemas']['Locks'];
export type Maintenance = components['schemas']['Maintenance'];
export type MaintenanceStops = components['schemas']['MaintenanceStops'];
export type Member = components['schemas']['Member'];
export type MemberCounts = components['schemas']['MemberCounts'];
export type MemberPage = components['schemas']['MemberPage'];
export type Merchandise = components['schemas']['Merchandise'];
export type MerchandiseInstance = components['schemas']['MerchandiseInstance'];
export type MonthlyUse = components['schemas']['MonthlyUse'];
export type NewBuy = components['schemas']['NewBuy'];
export type NewMember = components['schemas']['NewMember'];
export type OrderAdmin = components['schemas']['OrderAdmin'];
export type OrderAsset = components['schemas']['OrderAsset'];
export type OrderAssetPage = components['schemas']['OrderAssetPage'];
export type OrderBranch = components['schemas']['OrderBranch'];
export type OrderCustomer = components['schemas']['OrderCustomer'];
export type OrderExtension = components['schemas']['OrderExtension'];
export type OrderItem = components['schemas']['OrderItem'];
export type OrderPage = components['schemas']['OrderPage'];
export type OrderProduct = components['schemas']['OrderProduct'];
export type OrderRecord = components['schemas']['OrderRecord'];
export type OrderRecordItem = components['schemas']['OrderRecordItem'];
export type OrderSort = components['schemas']['OrderSort'];
export type OrderState = components['schemas']['OrderState'];
export type OrderType = components['schemas']['OrderType'];
export type Outcome = components['schemas']['Outcome'];
export type Overview = components['schemas']['Overview'];
export type OverviewSection = components['schemas']['OverviewSection'];
export type PartStatus = components['schemas']['PartStatus'];
export type PlaceOrder = components['schemas']['PlaceOrder'];
export type PlaceOrderInput = components['schemas']['PlaceOrderInput'];
export type PlatformCode = components['schemas']['PlatformCode'];
export type Problem = components['schemas']['Problem'];
export type ProblemCode = components['schemas']['ProblemCode'];
export type ProblemDescription = components['schemas']['ProblemDescription'];
export type ProblemList = components['schemas']['ProblemList'];
export type ProductFeature = components['schemas']['ProductFeature'];
export type ProductInstance = components['schemas']['ProductInstance'];
export type ProductSum = components['schemas']['ProductSum'];
export type RateLimit = components['schemas']['RateLimit'];
export type Readiness = components['schemas']['Readiness'];
export type ReadyInput = components['schemas']['ReadyInput'];
export type RedeliverInput = components['schemas']['RedeliverInput'];
export type ReducedAsset = components['schemas']['ReducedAsset'];
export type RefreshEstate = components['schemas']['RefreshEstate'];
export type RefreshEstateInput = components['schemas']['RefreshEstateInput'];
export type Region = components['schemas']['Region'];
export type RequestFault = components['schemas']['RequestFault'];
export type ReserveAssetNums = components['schemas']['ReserveAssetNums'];
export type ReserveAssetNumsInput = components['schemas']['ReserveAssetNumsInput'];
export type ReservedAssetNum = components['schemas']['ReservedAssetNum'];
export type ReservedAssetNums = components['schemas']['ReservedAssetNums'];
export type ResetMemberPasswordInput = components['schemas']['ResetMemberPasswordInput'];
export type ResetPassword = components['schemas']['ResetPassword'];
export type RetryJobInput = components['schemas']['RetryJobInput'];
export type RevokedAsset = components['schemas']['RevokedAsset'];
export type RevokedMerchandise = components['schemas']['RevokedMerchandise'];
export type RevokedProduct = components['schemas']['RevokedProduct'];
export type RightsChange = components['schemas']['RightsChange'];
export type RotateWebhookSecretInput = components['schemas']['RotateWebhookSecretInput'];
export type RowStatus = components['schemas']['RowStatus'];
export type Scope = components['schemas']['Scope'];
export type Session = components['schemas']['Session'];
export type SessionCreated = components['schemas']['SessionCreated'];
export type SetAssetNums = components['schemas']['SetAssetNums'];
export type SetMaintenance = components['schemas']['SetMaintenance'];
export type SetMaintenanceInput = components['schemas']['SetMaintenanceInput'];
export type SetMemberAssetNumsInput = components['schemas']['SetMemberAssetNumsInput'];
export type SettleOrder = components['schemas']['SettleOrder'];
export type SettleOrderInput = components['schemas']['SettleOrderInput'];
export type SettledItem = components['schemas']['SettledItem'];
export type Settlement = components['schemas']['Settlement'];
export type SyncMode = components['schemas']['SyncMode'];
export type TestDelivery = components['schemas']['TestDelivery'];
export type TestEvent = components['schemas']['TestEvent'];
export type TestWebhookInput = components['schemas']['TestWebhookInput'];
export type UnreachableSection = components['schemas']['UnreachableSection'];
export type UpdateCustomer = components['schemas']['UpdateCustomer'];
export type UpdateCustomerInput = components['schemas']['UpdateCustomerInput'];
export type UpdateMember = components['schemas']['UpdateMember'];
export type UpdateMemberInput = components['schemas']['UpdateMemberInput'];
export type UpdateWebhook = components['schemas']['UpdateWebhook'];
export type UpdateWebhookInput = components['schemas']['UpdateWebhookInput'];
export type UpstreamAnswer = components['schemas']['UpstreamAnswer'];
export type WantedEventType = components['schemas']['WantedEventType'];
export type WatchEventsInput = components['schemas']['WatchEventsInput'];
export type WatchJobInput = components['schemas']['WatchJobInput'];
export type Webhook = components['schemas']['Webhook'];
export type WebhookOffReason = components['schemas']['WebhookOffReason'];
export type WebhookPage = components['schemas']['WebhookPage'];
export type WebhookState = components['schemas']['WebhookState'];
export type WebhookWithSecret = components['schemas']['WebhookWithSecret'];
export type WouldSend = components['schemas']['WouldSend'];

export interface CallersMethods {
  /** What this key or token may do (`getCaller`, GET /v1/callers/me) */
  me(input?: GetCallerInput, options?: CallOptions): Promise<Caller>;
  /** What this caller has had of its budgets, month by month (`getBudgets`, GET /v1/callers/me/budgets) */
  budgets(input?: GetBudgetsInput, options?: CallOptions): Promise<BudgetMonths>;
}

export interface GapsMethods {
  /** Where the platform's answers depart from its interface (`listGaps`, GET /v1/gaps) */
  list(input?: ListGapsInput, options?: CallOptions): Promise<GapPage>;
  /** Every item of `list`, page after page */
  each(input?: ListGapsInput, options?: WalkOptions): Walk<Gap>;
}

export interface HealthMethods {
  /** Whether the process works (`live`, GET /health/live) */
  live(input?: LiveInput, options?: CallOptions): Promise<Liveness>;
  /** Whether the gateway admits requests (`ready`, GET /health/ready) */
  ready(input?: ReadyInput, options?: CallOptions): Promise<Readiness>;
}

export interface MaintenanceMethods {
  /** What an operator has stopped, and until when (`getMaintenance`, GET /v1/maintenance) */
  get(input?: GetMaintenanceInput, options?: CallOptions): Promise<Maintenance>;
  /** Stop orders, writes or all calls of the platform for a while (`setMaintenance`, PUT /v1/maintenance) */
  set(input: SetMaintenanceInput, options?: CallOptions): Promise<Maintenance>;
  /** End the maintenance, also one that is to come (`endMaintenance`, DELETE /v1/maintenance) */
  end(input?: EndMaintenanceInput, options?: CallOptions): Promise<undefined>;
}

export interface ProblemsMethods {
  /** All problems that this gateway sends (`listProblems`, GET /problems) */
  list(input?: ListProblemsInput, options?: CallOptions): Promise<ProblemList>;
  /** One problem: what it means and what to do (`getProblem`, GET /problems/{slug}) */
  get(input: GetProblemInput, options?: CallOptions): Promise<ProblemDescription>;
}

export interface SessionsMethods {
  /** Log in a user of the platform (`createSession`, POST /v1/sessions) */
  create(input: CreateSessionInput, options?: CallOptions): Promise<SessionCreated>;
  /** Read the user and the end of the session (`getSession`, GET /v1/sessions/current) */
  get(input?: GetSessionInput, options?: CallOptions): Promise<Session>;
  /** Log out: the session ends at once on every replica (`deleteSession`, DELETE /v1/sessions/current) */
  delete(input?: DeleteSessionInput, options?: CallOptions): Promise<undefined>;
}

export interface CustomersMethods {
  /** Bind a channel customer to an enterprise main account (`bindCustomer`, POST /v1/customers) */
  bind(input: BindCustomerInput, options?: CallOptions): Promise<Customer>;
  /** Every check of `bind`, and what it would send and change; nothing is sent */
  previewBind(input: BindCustomerInput, options?: CallOptions): Promise<DryRun>;
  /** Page through the customers of a channel (`findCustomers`, GET /v1/customers) */
  find(input: FindCustomersInput, options?: CallOptions): Promise<CustomerPage>;
  /** Every item of `find`, page after page */
  each(input: FindCustomersInput, options?: WalkOptions): Walk<Customer>;
  /** Change name, branch or address of the customer of a CRM number (`updateCustomer`, PATCH /v1/crm-customers/{crmCustomerId}) */
  update(input: UpdateCustomerInput, options?: CallOptions): Promise<undefined>;
  /** Every check of `update`, and what it would send and change; nothing is sent */
  previewUpdate(input: UpdateCustomerInput, options?: CallOptions): Promise<DryRun>;
}

export interface EnterprisesMethods {
  /** Create an enterprise main account with its default customer and administrator (`createEnterprise`, POST /v1/enterprises) */
  create(input: CreateEnterpriseInput, options?: CallOptions): Promise<Enterprise>;
  /** Every check of `create`, and what it would send and change; nothing is sent */
  previewCreate(input: CreateEnterpriseInput, options?: CallOptions): Promise<DryRun>;
  /** Count the members, asset numbers, lent locks and assets of an enterprise (`getOverview`, GET /v1/enterprises/{enterpriseGlobalId}/overview) */
  overview(input: GetOverviewInput, options?: CallOptions): Promise<Overview>;
}

export interface AssetsMethods {
  /** Page through the assets of an enterprise (`listAssets`, GET /v1/enterprises/{enterpriseGlobalId}/assets) */
  list(input: ListAssetsInput, options?: CallOptions): Promise<AssetPage>;
  /** Every item of `list`, page after page */
  each(input: ListAssetsInput, options?: WalkOptions): Walk<Asset>;
  /** One asset of an enterprise (`getAsset`, GET /v1/enterprises/{enterpriseGlobalId}/assets/{assetId}) */
  get(input: GetAssetInput, options?: CallOptions): Promise<Asset>;
  /** List the products and packages on an asset (`getAssetProducts`, GET /v1/enterprises/{enterpriseGlobalId}/assets/{assetId}/products) */
  products(input: GetAssetProductsInput, options?: CallOptions): Promise<AssetProducts>;
}

export interface OrdersMethods {
  /** Place a batch of licence orders: buy, revoke assets, revoke products (`placeOrder`, POST /v1/license-orders) */
  place(input: PlaceOrderInput, options?: CallOptions): Promise<OrderRecord>;
  /** Every check of `place`, and what it would send and change; nothing is sent */
  preview(input: PlaceOrderInput, options?: CallOptions): Promise<DryRun>;
  /** Page through the orders that were placed through the gateway, newest first (`listOrders`, GET /v1/license-orders) */
  list(input?: ListOrdersInput, options?: CallOptions): Promise<OrderPage>;
  /** Every item of `list`, page after page */
  each(input?: ListOrdersInput, options?: WalkOptions): Walk<OrderRecord>;
  /** Read the record of an order (`getOrder`, GET /v1/license-orders/{channelCode}/{channelOrderId}) */
  get(input: GetOrderInput, options?: CallOptions): Promise<OrderRecord>;
  /** Cancel an order that waits for its time (`cancelOrder`, DELETE /v1/license-orders/{channelCode}/{channelOrderId}) */
  cancel(input: CancelOrderInput, options?: CallOptions): Promise<undefined>;
  /** Page through the assets that an order made or added to (`getOrderAssets`, GET /v1/license-orders/{channelCode}/{channelOrderId}/assets) */
  assets(input: GetOrderAssetsInput, options?: CallOptions): Promise<OrderAssetPage>;
  /** Every item of `assets`, page after page */
  eachAsset(input: GetOrderAssetsInput, options?: WalkOptions): Walk<OrderAsset>;
  /** Settle an order whose end is not known with the result that an operator found (`settleOrder`, POST /v1/license-orders/{channelCode}/{channelOrderId}/settlement) */
  settle(input: SettleOrderInput, options?: CallOptions): Promise<OrderRecord>;
}

export interface LocksMethods {
  /** Disable physical locks (`disableLocks`, POST /v1/enterprises/{enterpriseGlobalId}/locks/disable) */
  disable(input: DisableLocksInput, options?: CallOptions): Promise<LockResults>;
  /** Every check of `disable`, and what it would send and change; nothing is sent */
  previewDisable(input: DisableLocksInput, options?: CallOptions): Promise<DryRun>;
  /** Enable physical locks (`enableLocks`, POST /v1/enterprises/{enterpriseGlobalId}/locks/enable) */
  enable(input: EnableLocksInput, options?: CallOptions): Promise<LockResults>;
  /** Every check of `enable`, and what it would send and change; nothing is sent */
  previewEnable(input: EnableLocksInput, options?: CallOptions): Promise<DryRun>;
}

export interface AssetNumsMethods {
  /** Reserve asset numbers (`reserveAssetNums`, POST /v1/asset-num-reservations) */
  reserve(input: ReserveAssetNumsInput, options?: CallOptions): Promise<ReservedAssetNums>;
  /** Every check of `reserve`, and what it would send and change; nothing is sent */
  previewReserve(input: ReserveAssetNumsInput, options?: CallOptions): Promise<DryRun>;
  /** Page through the asset numbers of an enterprise and the members that have them (`listAssetNums`, GET /v1/enterprises/{enterpriseGlobalId}/asset-nums) */
  list(input: ListAssetNumsInput, options?: CallOptions): Promise<AssetNumPage>;
  /** Every item of `list`, page after page */
  each(input: ListAssetNumsInput, options?: WalkOptions): Walk<AssetNum>;
}

export interface JobsMethods {
  /** Page through the jobs of the caller's enterprises, newest first (`listJobs`, GET /v1/jobs) */
  list(input?: ListJobsInput, options?: CallOptions): Promise<JobPage>;
  /** Every item of `list`, page after page */
  each(input?: ListJobsInput, options?: WalkOptions): Walk<Job>;
  /** How far a job is (`getJob`, GET /v1/jobs/{jobId}) */
  get(input: GetJobInput, options?: CallOptions): Promise<Job>;
  /** Cancel a job: what was sent is finished, and nothing further is sent (`cancelJob`, DELETE /v1/jobs/{jobId}) */
  cancel(input: CancelJobInput, options?: CallOptions): Promise<Job>;
}

export interface MembersMethods {
  /** Add members to an enterprise, up to 1,000 at once (`addMembers`, POST /v1/enterprises/{enterpriseGlobalId}/members) */
  add(input: AddMembersInput, options?: CallOptions): Promise<AddMembersResult>;
  /** Every check of `add`, and what it would send and change; nothing is sent */
  previewAdd(input: AddMembersInput, options?: CallOptions): Promise<DryRun>;
  /** Page through the members of an enterprise (`listMembers`, GET /v1/enterprises/{enterpriseGlobalId}/members) */
  list(input: ListMembersInput, options?: CallOptions): Promise<MemberPage>;
  /** Every item of `list`, page after page */
  each(input: ListMembersInput, options?: WalkOptions): Walk<Member>;
  /** One member of an enterprise (`getMember`, GET /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}) */
  get(input: GetMemberInput, options?: CallOptions): Promise<Member>;
  /** Change the account, name and other data of a member (`updateMember`, PATCH /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}) */
  update(input: UpdateMemberInput, options?: CallOptions): Promise<undefined>;
  /** Every check of `update`, and what it would send and change; nothing is sent */
  previewUpdate(input: UpdateMemberInput, options?: CallOptions): Promise<DryRun>;
  /** Delete a member (`deleteMember`, DELETE /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}) */
  delete(input: DeleteMemberInput, options?: CallOptions): Promise<undefined>;
  /** Every check of `delete`, and what it would send and change; nothing is sent */
  previewDelete(input: DeleteMemberInput, options?: CallOptions): Promise<DryRun>;
  /** Set a new password of a member (`resetMemberPassword`, PUT /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/password) */
  resetPassword(input: ResetMemberPasswordInput, options?: CallOptions): Promise<undefined>;
  /** Every check of `resetPassword`, and what it would send and change; nothing is sent */
  previewResetPassword(input: ResetMemberPasswordInput, options?: CallOptions): Promise<DryRun>;
  /** Replace the asset numbers of a member (`setMemberAssetNums`, PUT /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/asset-nums) */
  setAssetNums(input: SetMemberAssetNumsInput, options?: CallOptions): Promise<RightsChange>;
  /** Every check of `setAssetNums`, and what it would send and change; nothing is sent */
  previewSetAssetNums(input: SetMemberAssetNumsInput, options?: CallOptions): Promise<DryRun>;
  /** Assign asset numbers to a member, and withdraw others (`changeMemberAssetNums`, PATCH /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/asset-nums) */
  changeAssetNums(input: ChangeMemberAssetNumsInput, options?: CallOptions): Promise<RightsChange>;
  /** Every check of `changeAssetNums`, and what it would send and change; nothing is sent */
  previewChangeAssetNums(input: ChangeMemberAssetNumsInput, options?: CallOptions): Promise<DryRun>;
  /** Move the product rights of a member's assets into a lent lock (`lendAssets`, POST /v1/enterprises/{enterpriseGlobalId}/members/{memberGlobalId}/loans) */
  lend(input: LendAssetsInput, options?: CallOptions): Promise<undefined>;
  /** Every check of `lend`, and what it would send and change; nothing is sent */
  previewLend(input: LendAssetsInput, options?: CallOptions): Promise<DryRun>;
}

export interface LentLocksMethods {
  /** Page through the lent locks of an enterprise and the members that have them (`listLentLocks`, GET /v1/enterprises/{enterpriseGlobalId}/lent-locks) */
  list(input: ListLentLocksInput, options?: CallOptions): Promise<LentLockPage>;
  /** Every item of `list`, page after page */
  each(input: ListLentLocksInput, options?: WalkOptions): Walk<LentLock>;
}

export interface EstateMethods {
  /** What all enterprises of the caller have: what ends when, what lies unused, and where it is (`listEstate`, GET /v1/estate) */
  list(input?: ListEstateInput, options?: CallOptions): Promise<EstatePage>;
  /** Every item of `list`, page after page */
  each(input?: ListEstateInput, options?: WalkOptions): Walk<EstateRow>;
  /** The estate in sums: what ends in which month, what each product has, and how old it is (`getEstateSummary`, GET /v1/estate/summary) */
  summary(input?: GetEstateSummaryInput, options?: CallOptions): Promise<EstateSummary>;
  /** Read an enterprise into the estate next (`refreshEstate`, POST /v1/estate/refreshes) */
  refresh(input: RefreshEstateInput, options?: CallOptions): Promise<undefined>;
}

export interface EventsMethods {
  /** What became of orders and jobs, oldest first (`listEvents`, GET /v1/events) */
  list(input?: ListEventsInput, options?: CallOptions): Promise<EventPage>;
}

export interface WebhooksMethods {
  /** Have events sent to a URL, from now on (`createWebhook`, POST /v1/webhooks) */
  create(input: CreateWebhookInput, options?: CallOptions): Promise<WebhookWithSecret>;
  /** Page through the caller's webhooks, newest first (`listWebhooks`, GET /v1/webhooks) */
  list(input?: ListWebhooksInput, options?: CallOptions): Promise<WebhookPage>;
  /** Every item of `list`, page after page */
  each(input?: ListWebhooksInput, options?: WalkOptions): Walk<Webhook>;
  /** How the deliveries of a webhook go (`getWebhook`, GET /v1/webhooks/{webhookId}) */
  get(input: GetWebhookInput, options?: CallOptions): Promise<Webhook>;
  /** Change a webhook, or switch it off or on (`updateWebhook`, PATCH /v1/webhooks/{webhookId}) */
  update(input: UpdateWebhookInput, options?: CallOptions): Promise<Webhook>;
  /** Remove a webhook, with what waits for it (`deleteWebhook`, DELETE /v1/webhooks/{webhookId}) */
  delete(input: DeleteWebhookInput, options?: CallOptions): Promise<undefined>;
  /** Give a webhook another secret (`rotateWebhookSecret`, POST /v1/webhooks/{webhookId}/secret) */
  rotateSecret(input: RotateWebhookSecretInput, options?: CallOptions): Promise<WebhookWithSecret>;
  /** Send one event of the type `webhook.test` now (`testWebhook`, POST /v1/webhooks/{webhookId}/test) */
  test(input: TestWebhookInput, options?: CallOptions): Promise<TestDelivery>;
  /** Page through the deliveries of a webhook, newest events first (`listDeliveries`, GET /v1/webhooks/{webhookId}/deliveries) */
  deliveries(input: ListDeliveriesInput, options?: CallOptions): Promise<DeliveryPage>;
  /** Every item of `deliveries`, page after page */
  eachDelivery(input: ListDeliveriesInput, options?: WalkOptions): Walk<Delivery>;
  /** Send an event once more (`redeliver`, POST /v1/webhooks/{webhookId}/deliveries/{eventId}) */
  redeliver(input: RedeliverInput, options?: CallOptions): Promise<undefined>;
}

/** The methods of the client, by what they are about. */
export interface Groups {
  readonly callers: CallersMethods;
  readonly gaps: GapsMethods;
  readonly health: HealthMethods;
  readonly maintenance: MaintenanceMethods;
  readonly problems: ProblemsMethods;
  readonly sessions: SessionsMethods;
  readonly customers: CustomersMethods;
  readonly enterprises: EnterprisesMethods;
  readonly assets: AssetsMethods;
  readonly orders: OrdersMethods;
  readonly locks: LocksMethods;
  readonly assetNums: AssetNumsMethods;
  readonly jobs: JobsMethods;
  readonly members: MembersMethods;
  readonly lentLocks: LentLocksMethods;
  readonly estate: EstateMethods;
  readonly events: EventsMethods;
  readonly webhooks: WebhooksMethods;
}
