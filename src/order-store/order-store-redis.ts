import { Injectable } from '@nestjs/common';
import { OrderStoreConfig } from '../config/app-config.ts';
import { Log } from '../observability/log.ts';
import { Metrics } from '../observability/metrics.ts';
import { storeKeys } from '../order-ledger/store-keys.ts';
import { environmentName } from '../redis/key-names.ts';
import { SharedRedis } from '../redis/shared-redis.ts';

/** The connection to the order store: ORDER_REDIS_URL, or else REDIS_URL. While it is down, no order is sent. */
@Injectable()
export class OrderStoreRedis extends SharedRedis {
  readonly environment: string;
  readonly keys: ReturnType<typeof storeKeys>;

  constructor(config: OrderStoreConfig, log: Log, metrics: Metrics) {
    super(config, log, metrics);
    this.environment = environmentName(config.platform);
    this.keys = storeKeys(this.environment);
  }

  protected override get store(): 'orders' {
    return 'orders';
  }
}
