import { Argument } from '@commander-js/extra-typings';
import type { EstateRow, Event, Job, JobState, OrderRecord, OrderState, TestEvent } from '../licensing.ts';
import { meant, UsageError } from './command.ts';

const TEST = 'webhook.test' satisfies TestEvent['type'];
/** The last words of the types, by what the events are about. Orders have states with `_` in place of the hyphen. */
const WORDS = {
  'license-order': [
    ...['scheduled', 'accepted', 'succeeded', 'incomplete', 'rejected'],
    ...['in-doubt', 'not-sent', 'not-placed', 'cancelled'],
  ],
  job: ['succeeded', 'completed', 'failed', 'cancelled'],
  estate: ['ending', 'added', 'removed', 'changed'],
};
const TYPES = [
  ...Object.entries(WORDS).flatMap(([about, words]) => words.map((word) => `${about}.${word}`)),
  TEST,
];

export const eventTypes = new Argument('<event-type>').choices(TYPES).argParser((type: string) => {
  if (!TYPES.includes(type))
    throw new UsageError(`No event type ${type}${meant(type, TYPES) || `; there are ${TYPES.join(', ')}`}`);
  return type;
});

/** Makes an event of this type as the gateway would send it, about an order, a job or an asset that does not exist. */
export function sampleOf(type: string): Event | TestEvent {
  const time = new Date().toISOString();
  const common = { specversion: '1.0', time, datacontenttype: 'application/json' } as const;
  // Each sample has its own id, because a receiver ignores an id that it has seen.
  const id = String(Date.now()).padStart(15, '0');
  const [about, word = ''] = type.split('.');
  if (about === 'license-order') {
    const data = orderIn(word.replace('-', '_') as OrderState, time);
    const subject = `${data.channelCode}/${data.channelOrderId}`;
    return { ...common, id, type, source: '/v1/license-orders', subject, data };
  }
  if (about === 'job') {
    const data = jobIn(word as JobState, time);
    return { ...common, id, type, source: '/v1/jobs', subject: data.jobId, data };
  }
  if (about === 'estate') {
    const data = rowAt(time);
    const subject = `${data.enterpriseGlobalId}/${data.assetId}`;
    return { ...common, id, type, source: '/v1/estate', subject, data };
  }
  return {
    ...common,
    id: `test-${crypto.randomUUID()}`,
    type: TEST,
    source: '/v1/webhooks',
    subject: 'sample-webhook',
    data: {},
  };
}

function orderIn(state: OrderState, at: string): OrderRecord {
  const isLater = state === 'scheduled' || state === 'cancelled';
  const isSettled = !['scheduled', 'accepted', 'incomplete', 'in_doubt'].includes(state);
  const isPlaced = state === 'succeeded' || state === 'accepted';
  const isRefused = ['rejected', 'not_sent', 'cancelled'].includes(state);
  const item = {
    sequence: 1,
    orderType: 'new_buy',
    enterpriseGlobalId: 'ent-sample',
    licenseOrderId: isPlaced ? '9007199254740993' : null,
    customerId: isPlaced ? 'cus-sample' : null,
  };
  return {
    channelCode: 'crm',
    channelOrderId: 'SAMPLE-1',
    state,
    syncMode: state === 'accepted' ? 'async' : 'sync',
    items: isRefused ? [] : [item],
    notBefore: isLater ? at : null,
    submittedAt: at,
    settledAt: isSettled ? at : null,
    reason: null,
  };
}

function rowAt(at: string): EstateRow {
  return {
    enterpriseGlobalId: 'ent-sample',
    assetId: 'ast-sample',
    assetNum: '8000000000',
    licenseType: 'cloud_account',
    productId: '9007199254740993',
    productUri: 'draft.pro',
    productName: 'Draft Pro',
    packageNum: null,
    startsAt: at,
    endsAt: at,
    trial: false,
    limitConcurrent: 5,
    memberGlobalId: 'mem-sample',
    lent: false,
    online: false,
    lastOnlineAt: null,
    locked: false,
    frozen: false,
    licenseOrderId: '9007199254740993',
    channelOrderId: 'SAMPLE-1',
    crmProductId: null,
    seenAt: at,
  };
}

const FAILURE = {
  ...{ type: '/problems/upstream-unavailable', title: 'The platform is not available', status: 503 },
  ...{ detail: 'a made-up failure', code: 'upstream-unavailable', outcome: 'not_processed', retryable: true },
  requestId: 'sample-request',
} satisfies Job['problem'];

function jobIn(state: JobState, at: string): Job {
  const failed = state === 'completed' ? 1 : 0;
  const succeeded = state === 'succeeded' || state === 'completed' ? 2 - failed : 0;
  return {
    jobId: 'sample-job',
    kind: 'member-import',
    enterpriseGlobalId: 'ent-sample',
    mode: 'add',
    state,
    total: 2,
    done: succeeded + failed,
    succeeded,
    failed,
    unknown: 0,
    updated: 0,
    unchanged: 0,
    deleted: 0,
    createdAt: at,
    startedAt: at,
    finishedAt: at,
    expiresAt: at,
    problem: state === 'failed' ? FAILURE : null,
  };
}
