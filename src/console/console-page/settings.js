/** The section "Settings": which variables count as soon as their file changes, and which need a restart. No values. */
import { h, panel } from './dom.js';

export const settings = {
  title: 'Settings',
  path: () => 'settings',
  count: () => 0,
  render: (_, { reread, restart }) => [
    panel(
      'Read again',
      h(
        'p',
        'Within seconds after the file has changed. An invalid file is refused, and the log says why; the last valid one stays.',
      ),
      list(reread),
    ),
    panel(
      'Read at the start',
      h(
        'p',
        'Restart the replicas one after another. A maintenance and what callers own (sessions, webhooks, jobs) are no settings.',
      ),
      list(restart),
    ),
  ],
};

const list = (names) =>
  h(
    'ul',
    names.map((name) => h('li', h('code', name))),
  );
