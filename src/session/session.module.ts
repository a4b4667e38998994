import { Module } from '@nestjs/common';
import { TokenModule } from '../token/token.module.ts';
import { SessionService } from './session.service.ts';
import { SessionStore } from './session.store.ts';
import { SessionsController } from './sessions.controller.ts';

/** Provides sessions and configured users of the platform, which determine the acting user. */
@Module({
  imports: [TokenModule],
  controllers: [SessionsController],
  providers: [SessionStore, SessionService],
  exports: [SessionService],
})
export class SessionModule {}
