/** The section "Budgets": what callers may have in a month, and what they have had of it. */
import { h, panel, table, word } from './dom.js';
import { count } from './format.js';

const NEARLY = 0.8;
const NAMES = { orders: 'Orders', licences: 'Licences bought', deletions: 'Deletions' };

export const budgets = {
  title: 'Budgets',
  path: () => 'budgets',
  count: () => 0,
  render: (_, { items }) =>
    items.length === 0
      ? panel('None', h('p', 'No entry of the callers file has `budgets`.'))
      : items.map(({ caller, budgets: limits, months }) =>
          panel(
            caller,
            table(
              `Budgets of ${caller}`,
              [
                ['Month (UTC)', ({ month }) => month],
                ...Object.entries(limits).map(([name, limit]) => [
                  NAMES[name] ?? name,
                  ({ used }) => [
                    `${count(used[name])} of ${count(limit)}`,
                    limit > 0 &&
                      used[name] >= limit * NEARLY && [
                        ' ',
                        word(
                          used[name] >= limit ? 'act' : 'watch',
                          used[name] >= limit ? 'used up' : 'nearly',
                        ),
                      ],
                  ],
                ]),
              ],
              months.filter(({ used }, at) => at === 0 || Object.values(used).some((each) => each > 0)),
              ({ month }) => month,
            ),
          ),
        ),
};
