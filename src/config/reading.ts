interface WholeNumbers {
  readonly least: number;
  readonly most: number;
  /** What the sandbox does unless it is told otherwise. */
  readonly usual: number;
}

export interface Reading {
  readonly question: string;
  readonly values: readonly string[] | WholeNumbers;
  /** What the gateway does, under each value and while it does not know. */
  readonly gateway: string;
  /** How `conformance` asks. `write` and `order` need the option of that name; `never`: every way to ask could do harm. */
  readonly asked: 'reads' | 'write' | 'order' | 'never';
}
