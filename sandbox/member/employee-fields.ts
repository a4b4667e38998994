/** The fields of an employee as operations 1 to 3 read them, each with its own codes (sections 4.2, 7.2 and 8). */
import { type ErrorCode, Refusal } from '../errors.ts';
import type { Settings } from '../options.ts';
import type { Enterprise } from '../state/records.ts';
import type { Values } from './body.ts';

/** The code for a required field that is missing, empty or no string: operation 1 has one for each field, operation 2 one for all. */
export interface EmptyCodes {
  readonly account: ErrorCode;
  readonly name: ErrorCode;
}

export interface EmployeeTerms {
  /** The account without the enterprise's suffix. */
  readonly account: string;
  readonly name: string;
  /** Digits. Undefined if the field is absent or null. */
  readonly departmentId: string | undefined;
  /** Null for an empty string. Undefined if the field is absent or null. `passwordMobile` follows the same rule. */
  readonly remark: string | null | undefined;
  readonly passwordMobile: string | null | undefined;
}

/** The most characters of an account. Account and suffix together stay under 63 characters (section 8). */
const MAX_USER_NAME = 62;
const MAX_NAME = 30;
const MAX_REMARK = 200;

/** The form of a mobile number. Section 8 defines none; this accepts every E.164 number, with or without the plus. */
const MOBILE = /^\+?\d{6,15}$/;

const MAX_LONG = 2n ** 63n - 1n;

/** @throws Refusal with the code of the first field that is wrong, in the order of the fields. */
export function readTerms(values: Values, enterprise: Enterprise, empty: EmptyCodes): EmployeeTerms {
  return {
    account: readAccount(values['userName'], enterprise, empty.account),
    departmentId: readDepartment(values['departmentId']),
    name: readName(values['name'], empty.name),
    remark: readRemark(values['remark']),
    passwordMobile: readMobile(values['passwordMobile']),
  };
}

export function readPassword(value: unknown, { passwordLength: { min, max } }: Settings): string {
  if (typeof value !== 'string' || value === '') throw new Refusal('40001');
  const length = characters(value);
  if (length < min || length > max) {
    const message = `password length must lie between ${min} and ${max}`;
    throw new Refusal('50003', `password has ${length} characters`, { message });
  }
  return value;
}

/** Returns the enterprise's name for a department. No operation lists departments, so any other id is a department too. */
export function departmentName({ departments }: Enterprise, departmentId: string): string {
  return departments.find(({ id }) => id === departmentId)?.name ?? `Department ${departmentId}`;
}

function readAccount(value: unknown, { suffix }: Enterprise, empty: ErrorCode): string {
  if (value === undefined || value === null || value === '') throw new Refusal(empty, 'userName is empty');
  if (typeof value !== 'string' || !/^[A-Za-z0-9]+$/.test(value)) {
    throw new Refusal('10003', 'userName has other characters than letters and digits');
  }
  // The catalogue has no code for this bound; 30002 is the nearest.
  if (value.length + suffix.length > MAX_USER_NAME) {
    throw new Refusal('30002', `userName and the enterprise code have more than ${MAX_USER_NAME} characters`);
  }
  return value;
}

function readName(value: unknown, empty: ErrorCode): string {
  if (typeof value !== 'string' || value === '') throw new Refusal(empty, 'name is empty');
  if (characters(value) > MAX_NAME) throw new Refusal('30002', `name has more than ${MAX_NAME} characters`);
  return value;
}

function readRemark(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return undefined;
  if (typeof value !== 'string' || characters(value) > MAX_REMARK) {
    throw new Refusal('30003', `remark is no string of at most ${MAX_REMARK} characters`);
  }
  return value === '' ? null : value;
}

function readMobile(value: unknown): string | null | undefined {
  if (value === undefined || value === null) return undefined;
  if (value === '') return null;
  if (typeof value !== 'string' || !MOBILE.test(value)) throw new Refusal('10004', 'passwordMobile');
  return value;
}

/** Reads a JSON integer, exact beyond 2^53 too. */
function readDepartment(value: unknown): string | undefined {
  if (value === undefined || value === null) return undefined;
  const exact = typeof value === 'number' && Number.isSafeInteger(value) ? BigInt(value) : value;
  if (typeof exact !== 'bigint' || exact < 1n || exact > MAX_LONG) {
    throw new Refusal('40009', 'departmentId is given but is no long from 1');
  }
  return exact.toString();
}

function characters(text: string): number {
  return [...text].length;
}
