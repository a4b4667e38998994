/** An account as `addMembers` takes it (interface section 8). Only such a member can be made, renamed or deleted by a file. */
const ACCOUNT = /^[A-Za-z0-9]+$/;
/** The interface does not say what is between the account and the enterprise's code. If it is `@`, everything before it belongs to the account. */
const USER_NAME = /^([A-Za-z0-9]+)(?:@|[^A-Za-z0-9@][^@]*$|$)/;

/** The account in a user name of the platform; the whole name where it has no account that a file can name. */
export function accountOf(userName: string): string {
  return USER_NAME.exec(userName)?.[1] ?? userName;
}

export function isAccount(name: string): boolean {
  return ACCOUNT.test(name);
}
