/** The picture: what ends in which month, what there is of each product, and how much of each enterprise the copy has. */
import { h, panel, word } from './dom.js';
import { ago, count, plural, serverNow } from './format.js';

const MONTHS = 24;
const PRODUCTS = 8;
const ENTERPRISES = 12;
const STATES = { whole: 'good', 'assets-only': 'watch', stale: 'watch', unread: 'off' };

const day = (year, month) => new Date(Date.UTC(year, month, 1)).toISOString().slice(0, 10);

/** How long ago something was read. */
export const age = (seenAt) => h('time', { datetime: seenAt }, ago(Date.parse(seenAt)));

/** The months from this one, also those in which nothing ends. */
function nextMonths(ending) {
  const known = new Map(ending.map((each) => [each.month, each]));
  const now = new Date(serverNow());
  return Array.from({ length: MONTHS }, (_, at) => {
    const [year, month] = [now.getUTCFullYear(), now.getUTCMonth() + at];
    const from = day(year, month);
    const own = known.get(from.slice(0, 7));
    return { from, before: day(year, month + 1), products: own?.products ?? 0, licences: own?.licences ?? 0 };
  });
}

/** A button with a bar of this share of the largest. The policy of the page allows no style but by script. */
function bar(kind, share, press, isPressed, ...children) {
  const fill = h('span.fill', { 'aria-hidden': 'true' });
  fill.style.setProperty('--share', share.toFixed(4));
  const button = h(`button.${kind}`, { type: 'button', 'aria-pressed': String(isPressed) }, fill, children);
  return Object.assign(button, { press });
}

/** The first of a list, beginning with what is chosen, the others, and how many these are. */
function firstOf(all, most, isChosen, one) {
  const sorted = all.toSorted((each, other) => isChosen(other) - isChosen(each));
  const others = sorted.slice(most);
  const more = others.length > 0 && `and ${plural(others.length, `further ${one}`)}: use the filter`;
  return [sorted.slice(0, most), others, more];
}

/** The products that end before or after the months of the picture. */
function otherEnds(ending, months) {
  const [first, last] = [months[0].from, months.at(-1).from].map((from) => from.slice(0, 7));
  const sum = (isOther) => ending.filter(isOther).reduce((all, { products }) => all + products, 0);
  const later = sum(({ month }) => month > last);
  const ended = sum(({ month }) => month < first);
  const parts = [
    later > 0 && `${plural(later, 'product')} that end${later === 1 ? 's' : ''} later`,
    ended > 0 && `${plural(ended, 'product')} that ended before`,
  ];
  return later + ended > 0 && h('p.quiet', `Not in the picture: ${parts.filter(Boolean).join(', ')}`);
}

function monthBars(ending, filters, choose) {
  const months = nextMonths(ending);
  const most = Math.max(1, ...months.map(({ products }) => products));
  const bars = h(
    'div.months',
    months.map(({ from, before, products, licences }, at) => {
      const isPressed = filters.endsAfter === from && filters.endsBefore === before;
      const wanted = isPressed ? { endsAfter: '', endsBefore: '' } : { endsAfter: from, endsBefore: before };
      const [year, month] = from.split('-');
      const name = new Date(from).toLocaleString('en', { month: 'short', timeZone: 'UTC' });
      const button = bar(
        'month',
        products / most,
        () => choose(wanted),
        isPressed,
        h('span.number', { 'aria-hidden': 'true' }, products > 0 ? count(products) : ''),
        h('span', { 'aria-hidden': 'true' }, name),
        h('span.quiet', { 'aria-hidden': 'true' }, at === 0 || month === '01' ? year : ''),
      );
      const ends = products === 1 ? 'product ends' : 'products end';
      const label = `${name} ${year}: ${count(products)} ${ends}, ${plural(licences, 'licence')}`;
      // A name of its own would have to begin with what is seen.
      button.append(h('span.hidden', label));
      button.title = label;
      button.dataset.key = from;
      return button;
    }),
  );
  return [bars, otherEnds(ending, months)];
}

function productBars(products, filters, choose) {
  const most = Math.max(1, ...products.map(({ licences }) => licences));
  const isChosen = ({ productUri }) => filters.productUri === productUri;
  const [shown, , more] = firstOf(products, PRODUCTS, isChosen, 'product');
  const rows = shown.map((product) => {
    const { productUri, productName, assets, licences, unassigned, nextEndsAt } = product;
    const isPressed = isChosen(product);
    const next = nextEndsAt === null ? 'none ends' : `next end ${nextEndsAt.slice(0, 10)}`;
    const row = bar(
      'row',
      licences / most,
      () => choose({ productUri: isPressed ? '' : productUri }),
      isPressed,
      h('span', productName ?? productUri),
      h(
        'span.quiet',
        `${plural(licences, 'licence')}, ${count(unassigned)} of ${plural(assets, 'asset')} unassigned, ${next}`,
      ),
    );
    row.dataset.key = productUri;
    return row;
  });
  return [rows, more && h('p.quiet', more)];
}

function enterpriseRows(enterprises, filters, choose) {
  // What is missing comes first.
  const sorted = enterprises.toSorted((one, other) => (one.state === 'whole') - (other.state === 'whole'));
  const isChosen = ({ enterpriseGlobalId }) => filters.enterpriseGlobalId === enterpriseGlobalId;
  const [shown, others, more] = firstOf(sorted, ENTERPRISES, isChosen, 'enterprise');
  const rowOf = (enterprise) => {
    const { enterpriseGlobalId, state, reason, seenAt } = enterprise;
    const isPressed = isChosen(enterprise);
    const button = h(
      'button.row',
      {
        type: 'button',
        'aria-pressed': String(isPressed),
        'data-key': enterpriseGlobalId,
      },
      h('span', enterpriseGlobalId),
      h(
        'span.quiet',
        word(STATES[state] ?? 'watch', state),
        seenAt === null ? ' not read yet' : [' seen ', age(seenAt)],
      ),
      reason !== null && h('span.quiet.reason', reason),
    );
    return Object.assign(button, {
      press: () => choose({ enterpriseGlobalId: isPressed ? '' : enterpriseGlobalId }),
    });
  };
  // Nothing else names all enterprises that are missing.
  return [shown.map(rowOf), more && h('details', h('summary.quiet', more), others.map(rowOf))];
}

export function overview(summary, filters, choose) {
  const { assets, products, unassigned, enterprises, endingByMonth, byProduct } = summary;
  const fact = (number, one, more = '') =>
    h('p', h('strong', count(number)), ` ${one}${number === 1 ? '' : 's'}${more}`);
  return [
    h(
      'section.facts-bar',
      { 'aria-label': 'In numbers' },
      fact(enterprises.length, 'enterprise'),
      fact(assets, 'asset'),
      fact(products, 'product', assets === 1 ? ' on it' : ' on them'),
      fact(unassigned, 'asset', ' assigned to nobody'),
    ),
    panel('What ends in which month', monthBars(endingByMonth, filters, choose)),
    h(
      'div.halves',
      panel('By product', productBars(byProduct, filters, choose)),
      panel('By enterprise', enterpriseRows(enterprises, filters, choose)),
    ),
  ];
}
