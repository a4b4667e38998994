import { Module } from '@nestjs/common';
import { TransportModule } from '../transport/transport.module.ts';
import { TokenEndpoint } from './token.endpoint.ts';
import { TokenManager } from './token.manager.ts';
import { TokenStore } from './token.store.ts';

@Module({
  imports: [TransportModule],
  providers: [TokenEndpoint, TokenStore, TokenManager],
  exports: [TokenManager],
})
export class TokenModule {}
