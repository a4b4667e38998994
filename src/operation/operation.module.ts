import { Module } from '@nestjs/common';
import { Watchers } from './watchers.ts';

/** Provides the streams that callers watch. */
@Module({ providers: [Watchers], exports: [Watchers] })
export class OperationModule {}
