/** The length of a scenario's measurement. */
export interface Extent {
  readonly rounds: number;
  /** Seconds of load in each round. */
  readonly seconds: number;
  /** The least seconds of load before the first round of a task. 0 means none. */
  readonly warmup: number;
  /** The number of processes of each contender. Two of one build may differ by a fifth. */
  readonly processes: number;
  /** The most connections. It is smaller if slow machines must not be overloaded. */
  readonly maxConnections: number;
}
