import { amongTexts, either, rows, sql, type Sql, type SqlParameters } from '../database/sql.ts';
import { enumeration } from '../shared/enumeration.ts';

/** A row, or with an empty `rowKey` all rows of an asset. */
export interface FoundKey {
  readonly enterprise: string;
  readonly assetId: string;
  readonly rowKey: string;
}

/** The conditions for rows of the copy. All that are given must hold. Times are in ms since the epoch. */
export interface EstateQuery {
  /** The enterprises that the reader may see; undefined: all. */
  readonly granted?: ReadonlySet<string> | undefined;
  readonly enterprise?: string | undefined;
  readonly licenseType?: string | undefined;
  readonly productUri?: string | undefined;
  readonly endsAfter?: number | undefined;
  readonly endsBefore?: number | undefined;
  readonly unassigned?: boolean | undefined;
  readonly member?: string | undefined;
  readonly find?: FindKeys | undefined;
}

/** What a text finds: the rows and assets with these keys, and the rows of the products of a CRM with one of these hashes. */
export interface FindKeys {
  readonly keys: readonly FoundKey[];
  readonly hashes: readonly string[];
}

/**
 * The largest number of granted enterprises that are looked up one by one. With more, all rows are read in order, and those of other
 * enterprises are left out.
 */
const MANY = 50;
/** Each filter, by the name of its parameter. A row without an end matches neither `endsAfter` nor `endsBefore`. */
const FILTERS: Readonly<Record<string, Sql>> = {
  enterprise: sql`enterprise = :enterprise`,
  licenseType: sql`license_type = :licenseType`,
  productUri: sql`product_uri = :productUri`,
  endsAfter: sql`ends_at >= :endsAfter AND ends_at < 8640000000000001`,
  endsBefore: sql`ends_at < :endsBefore`,
  member: sql`member = :member`,
  unassigned: sql`unassigned = :unassigned`,
};
const FEW_GRANTED = amongTexts(sql`enterprise`, sql`:granted`);
const MANY_GRANTED = amongTexts(sql`enterprise || ''`, sql`:granted`);
/** One hash is compared by equality, because only then PostgreSQL can read the rows in their order. */
const OF_CRM = sql`crm_product = :hash`;
const OF_CRM_KEYS = amongTexts(sql`crm_product`, sql`:hashes`);

type Place = readonly [column: Sql, parameter: Sql];
const [END, OWNER]: readonly [Place, Place] = [
  [sql`ends_at`, sql`:ends_at`],
  [sql`enterprise`, sql`:at_enterprise`],
];
const KEY: readonly Place[] = [
  [sql`asset_id`, sql`:asset_id`],
  [sql`row_key`, sql`:row_key`],
];
/** The columns of each sort order, and the parameters of a position in it. The last columns make the order stable. */
const ORDERS: Readonly<Record<Column, readonly Place[]>> = {
  endsAt: [END, OWNER, ...KEY],
  enterpriseGlobalId: [OWNER, END, ...KEY],
  productUri: [[sql`product_uri`, sql`:product_uri`], END, OWNER, ...KEY],
  seenAt: [[sql`seen_at`, sql`:seen_at`], END, OWNER, ...KEY],
};
type Column = 'endsAt' | 'enterpriseGlobalId' | 'productUri' | 'seenAt';
export const estateOrders = enumeration(
  'EstateOrder',
  [
    ...(['endsAt', '-endsAt', 'enterpriseGlobalId', '-enterpriseGlobalId'] as const),
    ...(['productUri', '-productUri', 'seenAt', '-seenAt'] as const),
  ],
  'The order of the rows; with `-` before it the other way. By `endsAt` what has no end comes last',
);
export type EstateOrder = Column | `-${Column}`;

/** Without the limit SQLite moves conditions of the list into the SELECT, and then may look each key up by another index than its own. */
const APART = either(sql``, sql`LIMIT -1`);
/** The keys were looked up before, so that the number of rows is known to be small. SQLite reads tables in the order of a CROSS JOIN. */
const FOUND = sql`
  (SELECT DISTINCT * FROM (
    SELECT own.* FROM ${rows('found', { enterprise: 'text', assetId: 'text', rowKey: 'text' })} CROSS JOIN estate_rows AS own
    WHERE own.platform = :platform AND own.enterprise = found.enterprise AND own.asset_id = found.asset_id
      AND (found.row_key = '' OR own.row_key = found.row_key)
    UNION ALL SELECT * FROM estate_rows WHERE platform = :platform AND ${OF_CRM_KEYS}) AS both_kinds ${APART}) AS estate_rows`;
const ALL = sql`estate_rows`;

/** Statements are kept, so that each is compiled and prepared once. */
const statements = new Map<string, Sql>();
export function statement(key: string, make: () => Sql): Sql {
  const known = statements.get(key) ?? make();
  statements.set(key, known);
  return known;
}

export interface Condition {
  readonly source: Sql;
  readonly where: Sql;
  readonly parameters: SqlParameters;
  /** The names of the parameters. Conditions with the same names have the same statement. */
  readonly names: string;
}

export function conditionOf({ granted, unassigned, find, ...query }: EstateQuery): Condition {
  const given: SqlParameters = {
    ...Object.fromEntries(Object.entries(query).filter(([, value]) => value !== undefined)),
    ...(unassigned !== undefined && { unassigned: Number(unassigned) }),
  };
  const isMany = granted !== undefined && granted.size > MANY;
  const isOneKey = find?.hashes.length === 1;
  const isByKeys = find !== undefined && find.keys.length > 0;
  const where = [
    ...(granted ? [isMany ? MANY_GRANTED : FEW_GRANTED] : []),
    ...Object.keys(given).map((name) => FILTERS[name] ?? sql``),
    ...(find && !isByKeys ? [isOneKey ? OF_CRM : OF_CRM_KEYS] : []),
  ].reduce((all, each) => sql`${all} AND ${each}`, sql`platform = :platform`);
  const parameters: SqlParameters = {
    ...(granted && { granted: [...granted] }),
    ...given,
    ...(isByKeys && { found: find.keys.map((each) => ({ ...each })) }),
    ...(find && (isOneKey && !isByKeys ? { hash: find.hashes[0] ?? '' } : { hashes: find.hashes })),
  };
  const names = [isMany, ...Object.keys(parameters)].join();
  return { source: isByKeys ? FOUND : ALL, where, parameters, names };
}

/** `columns` are those of the sort order. `after` selects the rows after the position that the parameters give. */
export function orderOf(order: EstateOrder): {
  readonly columns: Sql;
  readonly by: Sql;
  readonly after: Sql;
} {
  const isDown = order.startsWith('-');
  const places = ORDERS[(isDown ? order.slice(1) : order) as Column];
  const listed = (part: (place: Place) => Sql) => places.map(part).reduce((all, one) => sql`${all}, ${one}`);
  const columns = listed(([column]) => column);
  const parameters = listed(([, parameter]) => parameter);
  return {
    columns,
    by: isDown ? listed(([column]) => sql`${column} DESC`) : columns,
    after: isDown ? sql`(${columns}) < (${parameters})` : sql`(${columns}) > (${parameters})`,
  };
}
