import { RequestMapping, RequestMethod } from '@nestjs/common';
import { PATH_METADATA, ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { type OtherBody, otherBodyOf, setOtherBody } from '../validation/other-body.ts';

type Handler = (...parts: unknown[]) => unknown;
type Controller = Record<string, Handler>;
type Args = Readonly<Record<string, { readonly index: number }>>;

/** Two writes with one path. They share the path of their dry runs, where the body tells which write is meant. */
export interface SharedPath {
  /** The method of the controller that declares the other write, above this one. */
  readonly with: string;
  /** The last part of a further path, which belongs to this dry run alone. */
  readonly own: string;
  /** True if a body belongs to this write, and not to the other one. */
  readonly takes: OtherBody['takes'];
}

export function dryRunOf(name: string): string {
  return `dryRun${name.charAt(0).toUpperCase()}${name.slice(1)}`;
}

/**
 * Adds the handler of a write to its controller once more, on `POST <path of the write>/dry-run`, with the same parameters and body. The
 * interceptor ends it where the write would send something. Returns its name and descriptor, for the decorators that make it an operation.
 */
export function addDryRunRoute(
  controller: object,
  write: string,
  handler: Handler,
  shared: SharedPath | undefined,
): { readonly method: string; readonly descriptor: TypedPropertyDescriptor<Handler> } {
  const path = Reflect.getMetadata(PATH_METADATA, handler) as string | undefined;
  if (path === undefined)
    throw new Error(`${write}: @Operation has to stand above the decorator of its path`);
  const args = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller.constructor, write) as Args;
  const method = dryRunOf(write);
  const run = named(method, handler, bodyIndex(args));
  const descriptor = { value: run, writable: true, configurable: true };
  Object.defineProperty(controller, method, descriptor);
  for (const key of Reflect.getMetadataKeys(handler) as string[])
    Reflect.defineMetadata(key, Reflect.getMetadata(key, handler), run);
  // The prototype keeps the types of parameters, and the class keeps their meaning.
  for (const place of [controller, controller.constructor])
    for (const key of Reflect.getMetadataKeys(place, write) as string[])
      Reflect.defineMetadata(key, Reflect.getMetadata(key, place, write), place, method);
  const parts = [path === '/' ? '' : path, 'dry-run', shared?.own ?? ''];
  const own = parts.filter((part) => part !== '').join('/');
  RequestMapping({ path: own, method: RequestMethod.POST })(controller, method, descriptor);
  if (shared) {
    const other = (controller as Controller)[dryRunOf(shared.with)];
    if (!other) throw new Error(`${write}: ${shared.with} has no dry run, or is not declared above`);
    setOtherBody(other, { method, takes: shared.takes });
  }
  return { method, descriptor };
}

/** Returns the named handler. The validation guard has checked the body for the handler to which it belongs. */
function named(method: string, handler: Handler, body: number): Handler {
  const run = {
    [method](this: Controller, ...parts: unknown[]): unknown {
      const other = otherBodyOf(run);
      return other?.takes(parts[body]) ? this[other.method]?.(...parts) : handler.apply(this, parts);
    },
  }[method] as Handler;
  return run;
}

/** Returns the index of the handler's body parameter, or -1 if it has none. */
function bodyIndex(args: Args): number {
  const [, found] = Object.entries(args).find(([key]) => key.startsWith(`${RouteParamtypes.BODY}:`)) ?? [];
  return found?.index ?? -1;
}
