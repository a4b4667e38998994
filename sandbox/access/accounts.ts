/** The accounts of the user center: the application itself, employees, and users given from outside. */
import type { State } from '../state/state.ts';
import type { Token, TokenUser } from './tokens.ts';

export interface Credentials {
  readonly username: string;
  readonly password: string;
}

export class Accounts {
  readonly appKey: string;
  readonly #state: State;
  readonly #firstSecret: string;
  readonly #givenUsers: readonly Credentials[];
  #secrets: readonly string[];
  #users = new Map<string, string>();

  constructor(state: State, appKey: string, appSecret: string, users: readonly Credentials[]) {
    this.#state = state;
    this.appKey = appKey;
    this.#firstSecret = appSecret;
    this.#secrets = [appSecret];
    this.#givenUsers = users;
    this.reset();
  }

  isApp(key: string, secret: string): boolean {
    return key === this.appKey && this.#secrets.includes(secret);
  }

  /** Rotates the application's secret. Several secrets are valid at the same time. */
  setSecrets(secrets: readonly string[]): void {
    this.#secrets = secrets;
  }

  /** Checks a login. A user given from outside precedes an employee of the same name. */
  isUser(username: string, password: string): boolean {
    const given = this.#users.get(username);
    if (given !== undefined) return given === password;
    const employee = this.#state.employeeByUserName(username);
    return employee !== undefined && employee.password === password;
  }

  /** Returns what the tokens of a user keep about the user. Undefined if there is no such user. */
  tokenUser(username: string): TokenUser | undefined {
    if (this.#users.has(username)) return { username, employeeId: null, passwordVersion: 0 };
    const employee = this.#state.employeeByUserName(username);
    return employee && { username, employeeId: employee.id, passwordVersion: employee.passwordVersion };
  }

  /**
   * True if a token's user is still the same and has had no password reset since. The versions need not be equal: a reset of the sandbox
   * starts the count again, and tokens from before it stay valid.
   */
  stillHolds({ user }: Token): boolean {
    if (user === null) return true;
    const now = this.tokenUser(user.username);
    return now?.employeeId === user.employeeId && now.passwordVersion <= user.passwordVersion;
  }

  /** Adds a user, or changes the password of a user or an employee. Their tokens stay valid. */
  setUser({ username, password }: Credentials): void {
    const employee = this.#state.employeeByUserName(username);
    if (employee === undefined) this.#users.set(username, password);
    else this.#state.employees.change(employee.id, { password });
  }

  reset(): void {
    this.#secrets = [this.#firstSecret];
    this.#users = new Map(this.#givenUsers.map(({ username, password }) => [username, password]));
  }
}
