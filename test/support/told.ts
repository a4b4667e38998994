/** The lines that a failed test shows, see telling.environment.ts, which sets the list for each test. */
export interface Told {
  told?: string[];
}

const MAX_LENGTH = 400;

/** Keeps a line for the case that the test fails. It must not contain a secret. */
export function tell(line: string): void {
  (globalThis as Told).told?.push(line.slice(0, MAX_LENGTH));
}
