/**
 * The trace of the caller, if its process has OpenTelemetry. `@opentelemetry/api` keeps the registered parts under a global symbol of its
 * major version, for all its copies in a process. Read from there, they need no import that a bundler would have to resolve.
 */
interface Registered {
  readonly context?: { active(): unknown };
  readonly propagation?: { inject(context: unknown, carrier: object, setter: object): void };
}
const REGISTERED = Symbol.for('opentelemetry.js.api.1');
const setter = {
  set: (carrier: Record<string, string>, key: string, value: string) => {
    carrier[key] = value;
  },
};

/** Adds `traceparent` and the other headers that the process propagates. */
export function addTrace(headers: Record<string, string>): void {
  const registered = (globalThis as Record<symbol, unknown>)[REGISTERED] as Registered | undefined;
  if (!registered?.propagation || !registered.context) return;
  registered.propagation.inject(registered.context.active(), headers, setter);
}
