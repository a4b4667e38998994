import { HttpService } from '@nestjs/axios';
import { Inject, Injectable } from '@nestjs/common';
import axios, {
  type AxiosAdapter,
  type AxiosRequestConfig,
  type AxiosResponse,
  type InternalAxiosRequestConfig,
} from 'axios';
import { from, type Observable } from 'rxjs';
import { AnswerBudget } from './answer-budget.ts';
import type { GroupName } from './connection-groups.ts';
import { undiciAdapter } from './undici.adapter.ts';
import { UpstreamPools } from './upstream-pools.ts';

/** The platform sends all assets of an enterprise at once: 30,000 of them are 16 MiB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Nest's `HttpService` on our own connections. `request` passes its configuration to the adapter unchanged. Merging it with axios'
 * defaults, interceptors and transforms takes longer than the exchange itself and is not needed: every status is a response, and
 * the body stays bytes. The other methods go through axios to the same adapter.
 */
@Injectable()
export class UndiciHttpService extends HttpService {
  readonly #adapter: AxiosAdapter;

  /** The injection token is explicit, because the base class declares an axios instance in this position. */
  constructor(@Inject(UpstreamPools) pools: UpstreamPools) {
    const adapter = undiciAdapter(
      ({ group }) => pools.of(group as GroupName),
      pools.exchanges,
      new AnswerBudget(),
    );
    super(
      axios.create({
        adapter,
        maxContentLength: MAX_RESPONSE_BYTES,
        allowAbsoluteUrls: false,
        maxRedirects: 0,
        proxy: false,
        validateStatus: null,
        transformRequest: [],
        transformResponse: [],
      }),
    );
    this.#adapter = adapter;
  }

  override request<T>(config: AxiosRequestConfig): Observable<AxiosResponse<T>> {
    return from(
      this.#adapter({ ...config, maxContentLength: MAX_RESPONSE_BYTES } as InternalAxiosRequestConfig),
    );
  }
}
