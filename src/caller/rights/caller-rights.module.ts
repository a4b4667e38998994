import { Module } from '@nestjs/common';
import { BudgetsModule } from '../../budgets/budgets.module.ts';
import { CallersController } from './callers.controller.ts';

/** Shows callers the rights of their key or token. */
@Module({ imports: [BudgetsModule], controllers: [CallersController] })
export class CallerRightsModule {}
