/** The whole state as JSON: shown, replaced, and changed row by row. The whole input is checked before any of it takes effect. */
import type { World } from '../call.ts';
import { isObject } from '../json.ts';
import { type CollectionName, type Field, ROW_FIELDS } from '../state/row-fields.ts';
import { State } from '../state/state.ts';
import { ControlError, Unknown, unknownField } from './checks.ts';

type Row = Readonly<Record<string, unknown>>;
type Fields = Readonly<Record<string, Field<unknown>>>;

/** A table as this file uses it: rows of any kind. */
interface AnyTable {
  get(key: string): Row | undefined;
  all(): Row[];
  put(row: Row): Row;
  keyOf(row: Row): string;
}

const NAMES = Object.keys(ROW_FIELDS) as CollectionName[];

/** Fields that name a row of another collection by its key. */
const REFERENCES: Readonly<Record<CollectionName, Readonly<Record<string, CollectionName>>>> = {
  enterprises: {},
  customers: { enterpriseGlobalId: 'enterprises' },
  employees: { enterpriseGlobalId: 'enterprises' },
  assets: { customerId: 'customers', lentInto: 'assets' },
  orders: { customerId: 'customers' },
  products: {
    customerId: 'customers',
    assetId: 'assets',
    licenseOrderId: 'orders',
    merchandiseInsId: 'merchandises',
  },
  merchandises: {
    customerId: 'customers',
    assetId: 'assets',
    licenseOrderId: 'orders',
    parentId: 'merchandises',
  },
};

/** Returns every collection, without passwords. */
export function showState(state: State): Record<CollectionName, unknown> {
  return Object.fromEntries(
    NAMES.map((name) => [name, tableOf(state, name).all().map(withoutPassword)]),
  ) as Record<CollectionName, unknown>;
}

/**
 * Replaces the whole present state, and with it the orders in progress. `given` has the form of {@link showState}; a collection that is
 * left out is empty.
 * @throws ControlError without a change
 */
export function replaceState(world: World, given: unknown, field: string): void {
  if (!isObject(given)) throw new ControlError(field, 'must be an object');
  for (const name of Object.keys(given)) {
    if (!Object.hasOwn(ROW_FIELDS, name)) throw unknownField(`${field}.${name}`, NAMES);
  }
  const next = new State();
  for (const name of NAMES) {
    const rows = given[name] ?? [];
    const path = `${field}.${name}`;
    if (!Array.isArray(rows)) throw new ControlError(path, 'must be an array');
    const table = tableOf(next, name);
    for (const [place, item] of rows.entries()) {
      const row = readRow(world, name, item, `${path}[${place}]`);
      const key = table.keyOf(row);
      if (table.get(key) !== undefined) {
        throw new ControlError(`${path}[${place}]`, `has the key of an earlier row, ${key}`);
      }
      table.put(row);
    }
  }
  checkWhole(next, (name, _key, place) => `${field}.${name}[${place}]`);
  world.state.restore(next.copy());
}

/**
 * Changes fields of one row, and keeps the other fields.
 * @returns the changed row
 * @throws ControlError or Unknown without a change
 */
export function patchRow({ state }: World, collection: string, key: string, given: unknown): Row {
  if (!isCollection(collection)) {
    throw new Unknown(`no collection ${collection}; known: ${NAMES.join(', ')}`);
  }
  const table = tableOf(state, collection);
  const before = table.get(key);
  if (before === undefined) throw new Unknown(`no row ${key} in ${collection}`);
  if (!isObject(given)) throw new ControlError('body', 'must be an object of the fields to change');
  const fields: Fields = ROW_FIELDS[collection];
  const changes = Object.fromEntries(
    Object.entries(given).map(([name, value]) => {
      const field = Object.hasOwn(fields, name) ? fields[name] : undefined;
      if (field === undefined) throw unknownField(`body.${name}`, Object.keys(fields));
      return [name, field.read(value, `body.${name}`)];
    }),
  );
  const row: Row = { ...before, ...changes };
  if (table.keyOf(row) !== key) {
    const name = Object.keys(changes).find((field) => before[field] === key) ?? '';
    throw new ControlError(`body.${name}`, 'is the key of the row and cannot be changed');
  }
  if (before['state'] === 'waiting' && changes['state'] === 'done') {
    throw new ControlError('body.state', 'must be failed: only its time makes an order done that waits');
  }
  state.transaction(() => {
    table.put(row);
    checkRow(state, collection, row, 'body');
    // A row that refers to this one may have become invalid.
    checkWhole(state, (name, rowKey) => `${name}/${rowKey}`);
  });
  return withoutPassword(row);
}

function isCollection(name: string): name is CollectionName {
  return Object.hasOwn(ROW_FIELDS, name);
}

/** Returns the table of a collection. Its rows come from that table or were read by its own fields. */
function tableOf(state: State, name: CollectionName): AnyTable {
  return state[name] as unknown as AnyTable;
}

function withoutPassword({ password: _, ...row }: Row): Row {
  return row;
}

function readRow({ clock, settings }: World, name: CollectionName, given: unknown, field: string): Row {
  if (!isObject(given)) throw new ControlError(field, 'must be an object');
  const fields: Fields = ROW_FIELDS[name];
  for (const member of Object.keys(given)) {
    if (!Object.hasOwn(fields, member)) throw unknownField(`${field}.${member}`, Object.keys(fields));
  }
  const unsaid = { now: clock.now(), seedPassword: settings.seedPassword };
  return Object.fromEntries(
    Object.entries(fields).map(([member, { read, unsaid: fallback }]) => {
      const value = given[member];
      if (value !== undefined) return [member, read(value, `${field}.${member}`)];
      if (fallback === undefined) throw new ControlError(`${field}.${member}`, 'is required');
      return [member, fallback(unsaid)];
    }),
  );
}

/** Checks every row. */
function checkWhole(
  state: State,
  placeOf: (name: CollectionName, key: string, place: number) => string,
): void {
  for (const name of NAMES) {
    const table = tableOf(state, name);
    for (const [place, row] of table.all().entries())
      checkRow(state, name, row, placeOf(name, table.keyOf(row), place));
  }
}

/** Checks the rules between rows: every row that one names exists, and live asset numbers and login names are used once. */
function checkRow(state: State, name: CollectionName, row: Row, place: string): void {
  const fail = (field: string, problem: string): never => {
    throw new ControlError(`${place}.${field}`, problem);
  };
  for (const [field, target] of Object.entries(REFERENCES[name])) {
    const key = row[field] as string | null;
    if (key !== null && tableOf(state, target).get(key) === undefined)
      fail(field, `must be the key of a row in ${target}: there is no ${key}`);
  }
  if (name === 'assets') checkAsset(state, row, fail);
  if (name === 'employees' && row['deleted'] === false) {
    const userName = String(row['userName']);
    if (state.employees.by('userName', userName).length > 1)
      fail('userName', `must be used once: ${userName} is the login name of two employees`);
  }
}

function checkAsset(state: State, row: Row, fail: (field: string, problem: string) => never): void {
  if (row['revoked'] === true) return;
  for (const field of ['memberGlobalId', 'lentToMember']) {
    const key = row[field] as string | null;
    if (key !== null && state.employees.by('globalId', key).length === 0)
      fail(field, `must be the globalId of an employee: there is no ${key}`);
  }
  if (row['lentToMember'] !== null && row['lentLock'] !== true)
    fail('lentToMember', 'must be null for an asset that is no lent lock');
  const lentInto = row['lentInto'] as string | null;
  if (lentInto !== null && !state.assets.need(lentInto).lentLock)
    fail('lentInto', `must be a lent lock: ${lentInto} is none`);
  const assetNum = String(row['assetNum']);
  if (state.assets.by('assetNum', assetNum).length > 1)
    fail('assetNum', `must be used once: ${assetNum} is the number of two assets`);
}
