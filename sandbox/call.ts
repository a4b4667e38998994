/** The handler of an operation, and its argument. */
import type { Time } from './clock.ts';
import type { Settings } from './options.ts';
import type { State } from './state/state.ts';

export interface World {
  readonly state: State;
  /** The time of the call. It stands still during a call, so all records of one call have the same time. */
  readonly clock: Time;
  readonly settings: Settings;
}

export interface Call extends World {
  /** Path parameters, decoded. */
  readonly parameters: Readonly<Record<string, string>>;
  readonly query: URLSearchParams;
  /** The parsed JSON body. Undefined if there is none. */
  readonly body: unknown;
  /** The logged-in user of a member call. Null in the order module. */
  readonly username: string | null;
}

/**
 * Carries out one operation on the state and returns the success envelope's `data`. It throws a `Refusal` to undo its changes, or
 * returns one to keep them. It runs inside a transaction and never awaits.
 */
export type Handler = (call: Call) => unknown;

/** Returns a time of the state (ms) as a long in the wire's unit. */
export function wireTime(call: World, time: number): number;
export function wireTime(call: World, time: number | null): number | null;
export function wireTime({ settings }: World, time: number | null): number | null {
  return time === null || settings.profile.timestampUnit === 'ms' ? time : Math.floor(time / 1000);
}
