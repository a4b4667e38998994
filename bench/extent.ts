/** How long a scenario is measured. */
export interface Extent {
  readonly rounds: number;
  /** Seconds of load in each round. */
  readonly seconds: number;
  /** The least seconds of load before the first round of a task; 0: none. */
  readonly warmup: number;
  /** Processes of each contender: two of one build may differ by a fifth. */
  readonly processes: number;
  /** Fewer where slow machines must not be overloaded. */
  readonly maxConnections: number;
}
