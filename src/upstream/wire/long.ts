/** A long that is sent with all its digits, also beyond 2^53. */
export type WireLong = object;

const engine = JSON as unknown as { rawJSON(text: string): object };

/** `digits` must be an integer of JSON: without a leading zero. */
export function wireLong(digits: string | undefined): WireLong | undefined {
  return digits === undefined ? undefined : engine.rawJSON(digits);
}
