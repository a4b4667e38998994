import 'reflect-metadata';
import { createHash, randomUUID, timingSafeEqual } from 'node:crypto';
import { HttpModule, HttpService } from '@nestjs/axios';
import {
  Body,
  type CallHandler,
  type CanActivate,
  ClassSerializerInterceptor,
  Controller,
  type ExecutionContext,
  Get,
  Injectable,
  Module,
  type NestInterceptor,
  type OnModuleInit,
  Param,
  Post,
  UnauthorizedException,
  ValidationPipe,
} from '@nestjs/common';
import { NestFactory, Reflector } from '@nestjs/core';
import type { NestExpressApplication } from '@nestjs/platform-express';
import { plainToInstance } from 'class-transformer';
import { LoggerModule } from 'nestjs-pino';
import { collectDefaultMetrics, Counter, Histogram } from 'prom-client';
import { finalize, lastValueFrom, type Observable } from 'rxjs';
import { OrderDto } from './naive.dto.ts';
import { AssetView, toAsset, toBatch, type WireAsset } from './naive.mapper.ts';
import { serve } from './serve.ts';

/**
 * The same contract in a first version: Express, axios with its defaults, a global ValidationPipe. `API_KEY_HASH` adds keys, a request log,
 * metrics and class-transformer on responses, each from its usual library in its usual form.
 */

const UPSTREAM = process.env['UPSTREAM'] ?? '';
const KEY_HASH = process.env['API_KEY_HASH'];

interface Envelope<T> {
  readonly code: number | string;
  readonly data: T;
}

@Injectable()
class PlatformService implements OnModuleInit {
  #token = '';

  constructor(private readonly http: HttpService) {}

  async onModuleInit(): Promise<void> {
    const form = new URLSearchParams({ grant_type: 'client_credentials', scope: 'auth_order' });
    const { data } = await lastValueFrom(
      this.http.post<{ access_token: string }>(`${UPSTREAM}/oauth/token`, form),
    );
    this.#token = data.access_token;
  }

  async get<T>(path: string): Promise<T> {
    return this.#unwrap(await lastValueFrom(this.http.get<Envelope<T>>(UPSTREAM + path, this.#options())));
  }

  async post<T>(path: string, body: object): Promise<T> {
    return this.#unwrap(
      await lastValueFrom(this.http.post<Envelope<T>>(UPSTREAM + path, body, this.#options())),
    );
  }

  #options(): object {
    return { headers: { Authorization: `Bearer ${this.#token}` }, params: { g_nonce: randomUUID() } };
  }

  #unwrap<T>({ data }: { data: Envelope<T> }): T {
    if (data.code !== 0) throw new Error(`the platform said ${data.code}`);
    return data.data;
  }
}

@Controller('v1')
class LicensingController {
  constructor(private readonly platform: PlatformService) {}

  @Get('enterprises/:id/assets')
  async assets(@Param('id') id: string): Promise<object> {
    const assets = await this.platform.get<WireAsset[]>(`/order/api/order/v1/asset/${id}/list`);
    if (KEY_HASH === undefined) return { items: assets.map(toAsset) };
    return { items: plainToInstance(AssetView, assets.map(toAsset), { excludeExtraneousValues: true }) };
  }

  @Post('license-orders')
  async order(@Body() order: OrderDto): Promise<object> {
    const items = await this.platform.post<object[]>(
      '/order/api/order/v1/licenseOrder/batchOrder',
      toBatch(order),
    );
    const { channelCode, channelOrderId } = order;
    return { channelCode, channelOrderId, state: 'succeeded', syncMode: 'sync', items };
  }
}

@Injectable()
class KeyGuard implements CanActivate {
  canActivate(context: ExecutionContext): boolean {
    const { headers } = context.switchToHttp().getRequest<{ headers: Record<string, string> }>();
    const hash = createHash('sha256')
      .update(headers['x-api-key'] ?? '')
      .digest();
    if (!timingSafeEqual(hash, Buffer.from(KEY_HASH ?? '', 'hex'))) throw new UnauthorizedException();
    return true;
  }
}

const labelNames = ['method', 'route', 'status'] as const;

@Injectable()
class MetricsInterceptor implements NestInterceptor {
  readonly #requests = new Counter({ name: 'http_requests_total', help: 'Requests', labelNames });
  readonly #seconds = new Histogram({ name: 'http_request_duration_seconds', help: 'Time', labelNames });

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const http = context.switchToHttp();
    const { method, route } = http.getRequest<{ method: string; route: { path: string } }>();
    const end = this.#seconds.startTimer();
    return next.handle().pipe(
      finalize(() => {
        const labels = {
          method,
          route: route.path,
          status: http.getResponse<{ statusCode: number }>().statusCode,
        };
        end(labels);
        this.#requests.inc(labels);
      }),
    );
  }
}

@Module({
  imports: [HttpModule, ...(KEY_HASH === undefined ? [] : [LoggerModule.forRoot()])],
  controllers: [LicensingController],
  providers: [PlatformService],
})
class NaiveModule {}

const app = await NestFactory.create<NestExpressApplication>(NaiveModule, { logger: ['error'] });
app.useGlobalPipes(new ValidationPipe({ whitelist: true, forbidNonWhitelisted: true, transform: true }));
if (KEY_HASH !== undefined) {
  collectDefaultMetrics();
  app.useGlobalGuards(new KeyGuard());
  app.useGlobalInterceptors(new MetricsInterceptor(), new ClassSerializerInterceptor(app.get(Reflector)));
}
await app.init();
serve(app.getHttpServer());
