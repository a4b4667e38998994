import { Controller, Get, Query, Req, Res, type StreamableFile } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { CallerAuthentication } from '../caller/caller-authentication.ts';
import { LongReads } from '../database/long-reads.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { Call, HeaderValue } from '../request/request-stages.ts';
import { Watchers } from '../operation/watchers.ts';
import { CURSOR } from './log/move-log.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import { EventDto, EventPageDto, ListEventsQuery, WatchEventsQuery } from './dto/event.dto.ts';
import { EventStream } from './event-stream.ts';
import { EventsService } from './events.service.ts';

const SCOPE = 'events:read';

@ApiTags('Events')
@Controller('v1/events')
export class EventsController {
  constructor(
    private readonly events: EventsService,
    private readonly stream: EventStream,
    private readonly watchers: Watchers,
    private readonly callers: CallerAuthentication,
    private readonly reads: LongReads,
  ) {}

  @Operation({
    id: 'listEvents',
    summary: 'What became of orders and jobs, oldest first',
    description:
      'Each move of an order and each end of a job is one event, in the order in which they were recorded; those of orders and jobs that the ' +
      'caller may see. A reader that goes on from `next` misses none and sees none twice. Without `after` from the oldest: events are kept for 7 days.',
    effect: 'read',
    scope: SCOPE,
    problems: ['events-expired'],
    success: [{ status: 200, description: 'Events, and the cursor for the next call', type: EventPageDto }],
  })
  @Get()
  listEvents(@Call() call: CallContext, @Query() query: ListEventsQuery): Promise<EventPageDto> {
    return this.reads.run(call, () => this.events.page(query, call.caller.grants));
  }

  @Operation({
    id: 'watchEvents',
    summary: 'Events as server-sent events, as they are recorded',
    description:
      'From now on, or after `Last-Event-ID` or `after`. The name of each is its type, and its data the Event. A client whose stream ends connects ' +
      'again with `Last-Event-ID`. It also ends when the caller loses its key or the scope, and at once when the process ends.',
    effect: 'read',
    scope: SCOPE,
    problems: ['events-expired'],
    success: [
      {
        status: 200,
        description: 'The events',
        streams: [{ type: 'text/event-stream', item: EventDto }],
      },
    ],
  })
  @Get('stream')
  @ApiHeader({
    name: 'Last-Event-ID',
    required: false,
    description: 'The id of the last event that the client has had; it counts more than `after`',
  })
  async watchEvents(
    @Call() { caller }: CallContext,
    @Query() query: WatchEventsQuery,
    @Req() { raw }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
    @HeaderValue('last-event-id') last?: string,
  ): Promise<StreamableFile> {
    if (last !== undefined && !CURSOR.test(last))
      throw new ProblemException('validation-failed', {
        errors: [{ parameter: 'Last-Event-ID', detail: 'must be the id of an event' }],
      });
    const after = last ?? query.after;
    // This is checked now, while the response can still be a problem.
    if (after !== undefined) await this.events.assertKept(after);
    const from = after ?? (await this.events.newest());
    const events = this.stream.after(from, query, () => this.callers.grantsNow(raw, SCOPE));
    return this.watchers.stream(caller.name, reply.raw, events);
  }
}
