import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { BudgetWatch } from './budget-watch.ts';
import { UseStore } from './state/use-store.ts';

/** Limits the use of callers in a month, and shows it. */
@Module({
  imports: [CallerModule],
  providers: [UseStore, BudgetWatch],
  exports: [UseStore, BudgetWatch],
})
export class BudgetsModule {}
