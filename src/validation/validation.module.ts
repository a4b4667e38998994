import { Module, type OnModuleInit, type Type } from '@nestjs/common';
import { DiscoveryModule, DiscoveryService, MetadataScanner } from '@nestjs/core';
import { compile } from './compiled-validation.ts';
import { declaredParts } from './validation.guard.ts';

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
        for (const { type } of declaredParts(controller, method).classes) compile(type);
    }
  }
}
