import { Injectable } from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { SharedRedis } from '../redis/shared-redis.ts';

/** The connection to the order store: ORDER_REDIS_URL, or else REDIS_URL. While it is down, no order is sent. */
@Injectable()
export class OrderLedgerRedis extends SharedRedis {
  // eslint-disable-next-line @typescript-eslint/no-useless-constructor -- Nest reads the types of its parameters
  constructor(config: OrderStoreConfig, log: Log, metrics: Metrics) {
    super(config, log, metrics);
  }

  protected override get store(): 'orders' {
    return 'orders';
  }
}
