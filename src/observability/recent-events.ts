/** So many different events are kept. */
const MOST = 50;
/** They have lines of their own for each request, which say nothing about the gateway. */
const OF_REQUESTS: ReadonlySet<unknown> = new Set(['request', 'audit']);

/** A warning or an error of the log. Where it was repeated, `line` is the last one. */
export interface RecentEvent {
  readonly line: Readonly<Record<string, unknown>>;
  readonly count: number;
}

/** The last warnings and errors of the log, for the console: as they were logged, with secrets masked. */
export class RecentEvents {
  /** By event and message; the last is the newest. */
  readonly #events = new Map<string, RecentEvent>();

  /** Takes one line of the log. */
  add(text: string): void {
    if (!text.startsWith('{"level":"warn"') && !text.startsWith('{"level":"error"')) return;
    const line = parsed(text);
    if (!line || OF_REQUESTS.has(line['event'])) return;
    const name = `${String(line['event'])} ${String(line['msg'])}`;
    const count = (this.#events.get(name)?.count ?? 0) + 1;
    this.#events.delete(name);
    this.#events.set(name, { line, count });
    const [oldest] = this.#events.keys();
    if (this.#events.size > MOST && oldest !== undefined) this.#events.delete(oldest);
  }

  /** The newest first. */
  list(): RecentEvent[] {
    return [...this.#events.values()].toReversed();
  }
}

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    return JSON.parse(text) as Record<string, unknown>;
  } catch {
    return undefined;
  }
}
