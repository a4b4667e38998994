/** The form of an account that `addMembers` accepts (interface section 8). A file can add, rename or delete only such members. */
const ACCOUNT = /^[A-Za-z0-9]+$/;
/**
 * A user name. The interface does not say which text separates the account from the enterprise's code. If it is `@`, everything before it
 * belongs to the account.
 */
const USER_NAME = /^([A-Za-z0-9]+)(?:@|[^A-Za-z0-9@][^@]*$|$)/;

/** Returns the account in a user name of the platform. If the user name has no account that a file can name, it returns the whole name. */
export function accountOf(userName: string): string {
  return USER_NAME.exec(userName)?.[1] ?? userName;
}

export function isAccount(name: string): boolean {
  return ACCOUNT.test(name);
}
