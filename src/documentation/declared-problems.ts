import { Injectable, type Type } from '@nestjs/common';
import { DiscoveryService, MetadataScanner } from '@nestjs/core';
import { OPERATION_POLICY, type OperationPolicy } from '../request/operation-policy.ts';
import { ownProblemsOf } from '../operation/openapi/problem-responses.ts';
import type { ProblemSlug } from '../problem/catalogue.ts';
import { lazily } from '../shared/lazily.ts';

/** Tells which operations declare which problems. The handlers are read at the first call, when all of them are known. */
@Injectable()
export class DeclaredProblems {
  readonly #byOperation = lazily(() => this.#read());

  constructor(
    private readonly discovery: DiscoveryService,
    private readonly scanner: MetadataScanner,
  ) {}

  get operations(): ReadonlySet<string> {
    return new Set(this.#byOperation().keys());
  }

  /** Returns the operations that declare the problem. */
  by(slug: ProblemSlug): string[] {
    return [...this.#byOperation()].filter(([, slugs]) => slugs.includes(slug)).map(([id]) => id);
  }

  #read(): Map<string, readonly ProblemSlug[]> {
    const found = new Map<string, readonly ProblemSlug[]>();
    for (const { metatype } of this.discovery.getControllers()) {
      const prototype = (metatype as Type).prototype as Readonly<Record<string, object>>;
      for (const name of this.scanner.getAllMethodNames(prototype)) {
        const handler = prototype[name] ?? {};
        const policy = Reflect.getMetadata(OPERATION_POLICY, handler) as OperationPolicy | undefined;
        // A dry run has the problems of its write.
        if (policy && !policy.isDryRun) found.set(policy.operationId, ownProblemsOf(handler));
      }
    }
    return found;
  }
}
