/** The form of an account that `addMembers` accepts (interface section 8). A file can add, rename or delete only such members. */
const ACCOUNT = /^[A-Za-z0-9]+$/;
/**
 * A user name whose account can be read without the code of the enterprise. The interface does not say which text separates the account from
 * the code. If it is `@`, everything before it belongs to the account. Another character may be a part of the code, as in `annaacme-cn`.
 */
const USER_NAME = /^([A-Za-z0-9]+)@/;

/** Returns the account in a user name of the platform. If the account is not certain without the enterprise's code, it returns the whole name. */
export function accountOf(userName: string): string {
  return USER_NAME.exec(userName)?.[1] ?? userName;
}

export function isAccount(name: string): boolean {
  return ACCOUNT.test(name);
}
