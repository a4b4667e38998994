import { Body, Controller, Delete, Get, Post } from '@nestjs/common';
import { ApiHeader, ApiTags } from '@nestjs/swagger';
import { Call, HeaderValue } from '../request/request-stages.ts';
import { Operation } from '../operation/operation.decorator.ts';
import { ProblemException } from '../problem/problem.exception.ts';
import type { CallContext } from '../request/call-context.ts';
import { CreateSessionDto, SessionCreatedDto, SessionDto } from './session.dto.ts';
import { SessionService } from './session.service.ts';

const sessionHeader = {
  name: 'X-Session-Id',
  required: true,
  description: 'From `createSession`',
  example: 'example-session',
};

@ApiTags('Sessions')
@Controller('v1/sessions')
export class SessionsController {
  constructor(private readonly sessions: SessionService) {}

  @Operation({
    id: 'createSession',
    summary: 'Log in a user of the platform',
    description:
      'The tokens stay in the gateway. Only the caller that opened a session can use it. A repeat with the same `Idempotency-Key` gets the first ' +
      'response again, also if its session has ended since: a call with that session is then 401 `session-expired`, and a new session needs a new key.',
    effect: 'write',
    scope: 'sessions:write',
    idempotency: 'key',
    stoppedBy: 'all',
    problems: ['login-failed'],
    success: [
      {
        status: 201,
        description: 'The session',
        type: SessionCreatedDto,
        links: { read: sessionOf('getSession'), end: sessionOf('deleteSession') },
      },
    ],
    body: CreateSessionDto,
  })
  @Post()
  async createSession(
    @Call() call: CallContext,
    @Body() login: CreateSessionDto,
  ): Promise<SessionCreatedDto> {
    const { sessionId, record } = await this.sessions.open(call, login.username, login.password);
    return { sessionId, expiresAt: new Date(record.expiresAt).toISOString() };
  }

  @Operation({
    id: 'getSession',
    summary: 'Read the user and the end of the session',
    effect: 'read',
    noStore: true,
    scope: 'sessions:write',
    success: [{ status: 200, description: 'The session of the header `X-Session-Id`', type: SessionDto }],
  })
  @Get('current')
  @ApiHeader(sessionHeader)
  async getSession(
    @Call() call: CallContext,
    @HeaderValue('x-session-id') sessionId?: string,
  ): Promise<SessionDto> {
    const { record } = await this.sessions.find(given(sessionId), call.caller.name);
    return {
      username: record.username,
      createdAt: new Date(record.createdAt).toISOString(),
      expiresAt: new Date(record.expiresAt).toISOString(),
    };
  }

  @Operation({
    id: 'deleteSession',
    summary: 'Log out: the session ends at once on every replica',
    effect: 'write',
    scope: 'sessions:write',
    success: [{ status: 204, description: 'Ended' }],
  })
  @Delete('current')
  @ApiHeader(sessionHeader)
  deleteSession(@Call() call: CallContext, @HeaderValue('x-session-id') sessionId?: string): Promise<void> {
    return this.sessions.end(given(sessionId), call);
  }
}

/** Returns the link to an operation that uses the session of this response. */
function sessionOf(operationId: string): { operationId: string; parameters: Record<string, string> } {
  return { operationId, parameters: { 'header.X-Session-Id': '$response.body#/sessionId' } };
}

function given(sessionId: string | undefined): string {
  if (sessionId === undefined) throw new ProblemException('user-required');
  return sessionId;
}
