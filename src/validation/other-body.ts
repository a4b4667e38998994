/** Another handler of the same controller, which handles a request instead where its body is of that one. */
export interface OtherBody {
  readonly method: string;
  /** Asked before the check of the body, and again with the checked one. */
  readonly takes: (body: unknown) => boolean;
}

const OTHER_BODY = 'other-body';

export function setOtherBody(handler: object, other: OtherBody): void {
  Reflect.defineMetadata(OTHER_BODY, other, handler);
}

export function otherBodyOf(handler: object): OtherBody | undefined {
  return Reflect.getMetadata(OTHER_BODY, handler) as OtherBody | undefined;
}
