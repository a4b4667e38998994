/** The lines that a failed test shows, see telling.environment.ts, which sets the list for each test. */
export interface Told {
  told?: string[];
  /** What tests and hooks wait for at this moment. */
  waits?: Set<string>;
  /** The file's last test has ended, so nobody needs the result of a wait any more. */
  areTestsOver?: boolean;
}

/** The most that a failed test shows. */
const MAX_LINES = 20;
const MAX_LENGTH = 400;

/** Keeps a line for the case that the test fails. It must not contain a secret. */
export function tell(line: string): void {
  const { told } = globalThis as Told;
  if (told && told.push(line.slice(0, MAX_LENGTH)) > MAX_LINES) told.shift();
}

/** Names a wait to a test that fails meanwhile. Call what this returns when the wait ends. */
export function beginWait(until: string): () => void {
  const waits = ((globalThis as Told).waits ??= new Set());
  waits.add(until);
  return () => void waits.delete(until);
}

export function areTestsOver(): boolean {
  return (globalThis as Told).areTestsOver === true;
}
