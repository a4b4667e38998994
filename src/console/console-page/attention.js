/** The section "Attention": what needs an operator, in words. */
import { h, panel, word } from './dom.js';

export const attention = {
  title: 'Attention',
  count: ({ attention: items }) => items.length,
  render: ({ attention: items }) =>
    items.length === 0
      ? panel(
          word('good', 'All is well'),
          'This replica takes orders and has tokens, every circuit is closed, and no order is in doubt.',
        )
      : h('ul.attention', items.map(item)),
};

function item({ level, title, detail, section, alert }) {
  const runbook = { href: `/console/runbook#${alert?.toLowerCase()}`, target: '_blank' };
  return h(
    `li.panel.${level}`,
    { 'data-key': `${level} ${title}` },
    word(level, level === 'act' ? 'Act' : 'Watch'),
    h('h2', title),
    h('p', detail),
    h(
      'p.buttons',
      section && h('a', { href: `#${section}` }, `Show ${section}`),
      alert && h('span', 'Runbook: ', h('a', runbook, alert)),
    ),
  );
}
