import { Module } from '@nestjs/common';
import { CallerModule } from '../caller/caller.module.ts';
import { BudgetWatch } from './budget-watch.ts';
import { UseStore } from './state/use-store.ts';

/** What callers may have in a month, and have had of it. */
@Module({
  imports: [CallerModule],
  providers: [UseStore, BudgetWatch],
  exports: [UseStore, BudgetWatch],
})
export class BudgetsModule {}
