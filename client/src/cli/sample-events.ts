import { Argument } from '@commander-js/extra-typings';
import type { Event, EventType, Job, JobState, OrderRecord, OrderState, TestEvent } from '../licensing.ts';
import { meant, UsageError } from './command.ts';

const TEST = 'webhook.test' satisfies TestEvent['type'];
const ORDER_STATES: Readonly<Record<Extract<EventType, `license-order.${string}`>, OrderState>> = {
  'license-order.scheduled': 'scheduled',
  'license-order.accepted': 'accepted',
  'license-order.succeeded': 'succeeded',
  'license-order.incomplete': 'incomplete',
  'license-order.rejected': 'rejected',
  'license-order.in-doubt': 'in_doubt',
  'license-order.not-sent': 'not_sent',
  'license-order.not-placed': 'not_placed',
  'license-order.cancelled': 'cancelled',
};
const JOB_STATES: Readonly<Record<Extract<EventType, `job.${string}`>, JobState>> = {
  'job.succeeded': 'succeeded',
  'job.completed': 'completed',
  'job.failed': 'failed',
  'job.cancelled': 'cancelled',
};
const TYPES = [...Object.keys(ORDER_STATES), ...Object.keys(JOB_STATES), TEST];

export const eventTypes = new Argument('<event-type>').choices(TYPES).argParser((type: string) => {
  if (!TYPES.includes(type))
    throw new UsageError(`No event type ${type}${meant(type, TYPES) || `; there are ${TYPES.join(', ')}`}`);
  return type;
});

/** Makes an event of this type as the gateway would send it, about an order or a job that does not exist. */
export function sampleOf(type: string): Event | TestEvent {
  const time = new Date().toISOString();
  const common = { specversion: '1.0', time, datacontenttype: 'application/json' } as const;
  // Each sample has its own id, because a receiver ignores an id that it has seen.
  const id = String(Date.now()).padStart(15, '0');
  const orderState = Object.entries(ORDER_STATES).find(([each]) => each === type)?.[1];
  const jobState = Object.entries(JOB_STATES).find(([each]) => each === type)?.[1];
  if (orderState) {
    const data = orderIn(orderState, time);
    const subject = `${data.channelCode}/${data.channelOrderId}`;
    return { ...common, id, type, source: '/v1/license-orders', subject, data };
  }
  if (jobState) {
    const data = jobIn(jobState, time);
    return { ...common, id, type, source: '/v1/jobs', subject: data.jobId, data };
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
  const isSettled = !['scheduled', 'accepted', 'in_doubt'].includes(state);
  const isRefused = ['rejected', 'not_sent', 'cancelled'].includes(state);
  const item = {
    sequence: 1,
    orderType: 'new_buy',
    enterpriseGlobalId: 'ent-sample',
    licenseOrderId: state === 'succeeded' ? '9007199254740993' : null,
    customerId: 'cus-sample',
  };
  return {
    channelCode: 'crm',
    channelOrderId: 'SAMPLE-1',
    state,
    syncMode: 'sync',
    items: isRefused ? [] : [item],
    notBefore: isLater ? at : null,
    submittedAt: at,
    settledAt: isSettled ? at : null,
    reason: null,
  };
}

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
    problem: null,
  };
}
