/** Another handler of the same controller, which handles a request instead if the body belongs to it. */
export interface OtherBody {
  readonly method: string;
  /** True if the body belongs to the other handler. It is called before the check of the body, and again with the checked body. */
  readonly takes: (body: unknown) => boolean;
}

const OTHER_BODY = 'other-body';

export function setOtherBody(handler: object, other: OtherBody): void {
  Reflect.defineMetadata(OTHER_BODY, other, handler);
}

export function otherBodyOf(handler: object): OtherBody | undefined {
  return Reflect.getMetadata(OTHER_BODY, handler) as OtherBody | undefined;
}
