import {
  Controller,
  Get,
  HttpCode,
  HttpException,
  Injectable,
  NotFoundException,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  Param,
  Post,
  type RawBodyRequest,
  Req,
} from '@nestjs/common';
import { type Event, Licensing } from '@licensing-gateway/client';
import { verifyWebhook, WebhookRefused } from '@licensing-gateway/client/webhooks';
import type { IncomingHttpHeaders } from 'node:http';

type Request = RawBodyRequest<{ headers: IncomingHttpHeaders; rawBody?: Buffer }>;

/** What became of invoices, as the gateway tells it: by its feed, which this service follows, and by a webhook. Both have the same events. */
@Injectable()
export class Outcomes implements OnApplicationBootstrap, OnApplicationShutdown {
  readonly #states = new Map<string, { readonly state: string; readonly eventId: string }>();
  readonly #end = new AbortController();

  constructor(private readonly licensing: Licensing) {}

  onApplicationBootstrap(): void {
    this.#follow().catch((error: unknown) => {
      if (!this.#end.signal.aborted) console.error('the feed of the gateway ended:', error);
    });
  }

  onApplicationShutdown(): void {
    this.#end.abort();
  }

  /** Takes an event, which may have come before: ids grow, also between the two ways. */
  heard({ id, type, subject }: Pick<Event, 'id' | 'type' | 'subject'>): void {
    const [, encoded] = /^crm\/(.*)$/.exec(subject) ?? [];
    const invoice = encoded === undefined ? undefined : decodeURIComponent(encoded);
    const known = invoice === undefined ? undefined : this.#states.get(invoice);
    if (invoice === undefined || (known && known.eventId >= id)) return;
    this.#states.set(invoice, { state: type.replace('license-order.', ''), eventId: id });
  }

  of(invoice: string): { readonly state: string; readonly eventId: string } | undefined {
    return this.#states.get(invoice);
  }

  /** A service that keeps the id of the last event in its own store would go on after it. */
  async #follow(): Promise<void> {
    for await (const event of this.licensing.events.each({}, { signal: this.#end.signal })) this.heard(event);
  }
}

@Controller()
export class LicensingEventsController {
  constructor(private readonly outcomes: Outcomes) {}

  /** The receiver of the webhook. All but 2xx would be sent again. */
  @Post('licensing-events')
  @HttpCode(204)
  async receive(@Req() { headers, rawBody }: Request): Promise<void> {
    const secret = process.env['WEBHOOK_SECRET'] ?? '';
    try {
      this.outcomes.heard((await verifyWebhook(rawBody ?? '', headers, secret)) as Event);
    } catch (error) {
      throw error instanceof WebhookRefused ? new HttpException(error.message, 400) : error;
    }
  }

  @Get('sales/:invoice/outcome')
  outcome(@Param('invoice') invoice: string): object {
    const known = this.outcomes.of(invoice);
    if (!known) throw new NotFoundException();
    return { invoice, state: known.state };
  }
}
