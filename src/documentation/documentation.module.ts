import { Module } from '@nestjs/common';
import { DiscoveryModule } from '@nestjs/core';
import { DeclaredProblems } from './declared-problems.ts';
import { ProblemsController } from './problems.controller.ts';

/** The pages of the API and of its problems. `serveDocumentation` serves those that are no operations. */
@Module({ imports: [DiscoveryModule], providers: [DeclaredProblems], controllers: [ProblemsController] })
export class DocumentationModule {}
