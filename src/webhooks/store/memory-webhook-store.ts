import type { TaskHold } from '../../kit/task-queue/task-queue.ts';
import type { Delivery, WebhookProgress, Webhook } from './webhook-record.ts';
import { type Deliveries, firstProgress, type Place, type WebhookStore } from './webhook-store.ts';

interface Entry {
  webhook: Webhook;
  progress: WebhookProgress;
  isCalled: boolean;
  readonly deliveries: Deliveries;
}

/** Without Redis, for as long as the process lives. */
export class MemoryWebhookStore implements WebhookStore {
  readonly #entries = new Map<string, Entry>();

  async list(): Promise<readonly Webhook[]> {
    return [...this.#entries.values()].map(({ webhook }) => webhook);
  }

  async read(webhookId: string): Promise<Webhook | undefined> {
    return this.#entries.get(webhookId)?.webhook;
  }

  async add(webhook: Webhook, cursor: string, mostOfCaller: number): Promise<boolean> {
    const own = (await this.list()).filter(({ caller }) => caller === webhook.caller);
    if (own.length >= mostOfCaller) return false;
    const progress = firstProgress(webhook.caller, cursor);
    this.#entries.set(webhook.webhookId, { webhook, progress, isCalled: false, deliveries: new Map() });
    return true;
  }

  async change(webhookId: string, changed: (webhook: Webhook) => Webhook): Promise<Webhook | undefined> {
    const entry = this.#entries.get(webhookId);
    if (!entry) return undefined;
    entry.webhook = changed(entry.webhook);
    return entry.webhook;
  }

  async remove(webhookId: string): Promise<void> {
    this.#entries.delete(webhookId);
  }

  async places(): Promise<ReadonlyMap<string, Place>> {
    return new Map(
      [...this.#entries].map(([id, { progress, isCalled }]) => [id, { ...progress, isCalled }] as const),
    );
  }

  async deliveries(webhookId: string): Promise<Deliveries> {
    return new Map(this.#entries.get(webhookId)?.deliveries);
  }

  async put(webhookId: string, eventId: string, delivery: Delivery): Promise<void> {
    this.#entries.get(webhookId)?.deliveries.set(eventId, delivery);
    await this.call(webhookId);
  }

  async call(webhookId: string): Promise<void> {
    const entry = this.#entries.get(webhookId);
    if (entry) entry.isCalled = true;
  }

  async begin(webhookId: string) {
    const entry = this.#entries.get(webhookId);
    if (!entry) return undefined;
    entry.isCalled = false;
    return { progress: entry.progress, deliveries: new Map(entry.deliveries) };
  }

  async keep(
    webhookId: string,
    _: TaskHold,
    progress: WebhookProgress,
    changed: ReadonlyMap<string, Delivery | undefined>,
  ): Promise<boolean> {
    const entry = this.#entries.get(webhookId);
    if (!entry) return false;
    entry.progress = progress;
    for (const [id, delivery] of changed)
      if (delivery) entry.deliveries.set(id, delivery);
      else entry.deliveries.delete(id);
    return true;
  }
}
