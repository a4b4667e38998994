/** The location of a value. It is made a text only when a fault needs it. */
export interface Location {
  /** The location with the indexes of list items: `data.list[3].id`. */
  readonly location: string;
  /** The location without indexes: `data.list[].id`. */
  readonly path: string;
}

export const DATA: Location = { location: 'data', path: 'data' };

export class Field implements Location {
  constructor(
    private readonly outer: Location,
    private readonly name: string,
  ) {}

  get location(): string {
    return `${this.outer.location}.${this.name}`;
  }

  get path(): string {
    return `${this.outer.path}.${this.name}`;
  }
}
