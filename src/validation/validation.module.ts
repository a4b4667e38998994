import { Module, type OnModuleInit, type Type } from '@nestjs/common';
import { ROUTE_ARGS_METADATA } from '@nestjs/common/constants.js';
import { RouteParamtypes } from '@nestjs/common/enums/route-paramtypes.enum.js';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { compile } from './compiled-validation.ts';

const VALIDATED = [RouteParamtypes.BODY, RouteParamtypes.QUERY, RouteParamtypes.PARAM];

/** Compiles the DTO classes of every handler at the start. A class with an unknown decorator stops the start. */
@Module({ imports: [DiscoveryModule] })
export class ValidationModule implements OnModuleInit {
  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  onModuleInit(): void {
    for (const { metatype } of this.discovery.getControllers()) {
      const controller = metatype as Type;
      for (const method of this.scanner.getAllMethodNames(controller.prototype as object))
        for (const type of validatedTypes(controller, method)) compile(type);
    }
  }
}

/** The DTO classes of a handler's whole body, query and path parameters. */
function validatedTypes(controller: Type, method: string): Type[] {
  const declared = Reflect.getMetadata(ROUTE_ARGS_METADATA, controller, method) as
    Readonly<Record<string, { readonly index: number; readonly data?: unknown }>> | undefined;
  const types = Reflect.getMetadata('design:paramtypes', controller.prototype as object, method) as
    Type[] | undefined;
  return Object.entries(declared ?? {})
    .filter(([key, { data }]) => data === undefined && VALIDATED.some((kind) => key.startsWith(`${kind}:`)))
    .flatMap(([, { index }]) => types?.[index] ?? []);
}
