/** The section "Maintenance": what is stopped, and the way to stop it and to end that. */
import { call } from './credential.js';
import { asCaller, done, question, step } from './dialog.js';
import { button, facts, h, panel } from './dom.js';
import { duration, serverNow, time } from './format.js';

const SCOPE = 'operate';
const MEANINGS = {
  orders: 'Orders: no caller can place one.',
  writes: 'Writes: nothing is changed at the platform, and imports wait.',
  all: 'All: the platform is not called. What is cached is still read.',
};
/** The length that ends a maintenance when it would have ended before. */
const UNCHANGED = '';
const HOURS = [1, 2, 4, 8, 24, 72, 168];

export const maintenance = {
  title: 'Maintenance',
  count: ({ maintenance: window }) => Number(window !== null),
  render: ({ at, maintenance: window, isMaintenanceKnown }, _, refresh) =>
    window === null
      ? panel(
          isMaintenanceKnown ? 'Nothing is stopped' : 'It is not known whether anything is stopped',
          h(
            'p',
            'Before the platform is maintained, stop what would call it: an order that is under way at that time ends up in doubt.',
          ),
          h(
            'div.buttons',
            button('Stop…', () => stop(refresh)),
          ),
        )
      : panel(
          window.active ? 'Stopped now' : 'To be stopped',
          facts({
            What: MEANINGS[window.stops] ?? window.stops,
            From: time(window.from, at),
            Until: `${time(window.until, at)}, in ${duration(window.until - at)}`,
            Reason: window.reason,
            By: window.by,
          }),
          h(
            'div.buttons',
            button('Change…', () => stop(refresh, window)),
            button('End…', () => end(window, refresh)),
          ),
        ),
};

/** @param before the maintenance that is changed, if there is one. What the operator leaves as it is does not change. */
function stop(refresh, before) {
  const title = before ? 'Change the maintenance' : 'Stop for a maintenance';
  const fromBefore = before && new Date(before.from).toISOString().slice(0, 16);
  let said = { stops: 'orders', hours: '1', reason: '' };
  if (before) said = { stops: before.stops, hours: UNCHANGED, reason: before.reason, from: fromBefore };

  const choice = ([value, meaning]) =>
    h(
      'label.choice',
      h('input', { type: 'radio', name: 'stops', value, checked: said.stops === value }),
      meaning,
    );

  const ask = () =>
    step(
      title,
      [
        h('fieldset', h('legend', 'What is stopped?'), Object.entries(MEANINGS).map(choice)),
        h('label', { for: 'from' }, 'From (UTC; empty: now)'),
        h('input', { id: 'from', name: 'from', type: 'datetime-local', value: said.from ?? '' }),
        h('label', { for: 'hours' }, 'For'),
        h(
          'select',
          { id: 'hours', name: 'hours' },
          before && h('option', { value: UNCHANGED }, `until ${time(before.until)}, as before`),
          HOURS.map((hours) =>
            h(
              'option',
              { value: hours, selected: said.hours === String(hours) },
              duration(hours * 3_600_000),
            ),
          ),
        ),
        h('label', { for: 'reason' }, 'What are callers told?'),
        h('input', { id: 'reason', name: 'reason', maxlength: 200, autocomplete: 'off', value: said.reason }),
      ],
      button('Go on', null, '.main'),
      async (form) => {
        said = form;
        return said.reason.trim() ? confirm() : 'Say what callers are told.';
      },
    );

  const confirm = () => {
    const given = said.from ? Date.parse(`${said.from}Z`) : undefined;
    const from = said.from && said.from === fromBefore ? before.from : given;
    const begins = Math.max(from ?? 0, serverNow());
    const until = said.hours === UNCHANGED ? before.until : begins + Number(said.hours) * 3_600_000;
    const window = {
      ...{ stops: said.stops, reason: said.reason.trim(), until: new Date(until).toISOString() },
      ...(from !== undefined && { from: new Date(from).toISOString() }),
    };
    const begin = from !== begins ? 'at once, on every replica,' : `at ${time(from)} on every replica`;
    const content = [
      h('p', h('strong', MEANINGS[said.stops])),
      h(
        'p',
        `It begins ${begin} and ends by itself at ${time(until)}. Callers get 503 and are told: ${said.reason}`,
      ),
      h('p.quiet', 'The log records you.'),
    ];
    return step(
      title,
      content,
      button(`Yes, ${before ? 'change' : 'stop'} it`, null, '.danger'),
      () => done(unlessChanged(before, 'PUT', window), refresh),
      button('Back', ask),
    );
  };

  asCaller(title, SCOPE, ask);
}

/** Sends what the operator has confirmed, unless the maintenance is no longer the one that the dialog was opened for. */
async function unlessChanged(before, method, window) {
  const { maintenance: now } = await (await fetch('/console/state')).json();
  const [one, other] = [before, now].map((each) => JSON.stringify({ ...each, active: undefined }));
  if (one === other) return call(method, '/v1/maintenance', window);
  const title =
    'Nothing was changed, because the maintenance is another one by now. Close this, and look at it';
  return { ok: false, body: { title } };
}

function end(before, refresh) {
  const { active, stops } = before;
  const title = 'End the maintenance';
  const meaning = active
    ? `Callers can send ${stops === 'all' ? 'everything' : stops} again at once.`
    : 'What was to be stopped goes on.';
  const yes = button('Yes, end it', null, '.main');
  const send = () => unlessChanged(before, 'DELETE');
  question({ title, scope: SCOPE, meaning: h('p', meaning), yes, send }, refresh);
}
