/** The gateway cannot run with this environment. Each line names a variable and what it should be, never its value. */
export class ConfigError extends Error {
  override readonly name = 'ConfigError';

  constructor(readonly faults: readonly string[]) {
    super(`configuration: ${faults.join('; ')}`);
  }
}
