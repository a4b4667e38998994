/** The lines that a failed test shows, see telling.environment.ts, which sets the list for each test. */
export interface Told {
  told?: string[];
}

/** The most that a failed test shows. */
const MAX_LINES = 20;
const MAX_LENGTH = 400;

/** Keeps a line for the case that the test fails. It must not contain a secret. */
export function tell(line: string): void {
  const { told } = globalThis as Told;
  if (told && told.push(line.slice(0, MAX_LENGTH)) > MAX_LINES) told.shift();
}
