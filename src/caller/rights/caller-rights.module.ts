import { Module } from '@nestjs/common';
import { BudgetsModule } from '../../budgets/budgets.module.ts';
import { CallersController } from './callers.controller.ts';

@Module({ imports: [BudgetsModule], controllers: [CallersController] })
export class CallerRightsModule {}
