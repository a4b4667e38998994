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

/** The assets of an enterprise come whole: 30,000 of them are 16 MiB. */
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024;

/**
 * Nest's `HttpService` on connections of our own. `request` hands a whole configuration to the adapter as it is: merging it with defaults,
 * interceptors and transforms takes longer than the exchange itself, and all of that is settled here: none of it, every status
 * is a response, the body stays bytes. Its other methods go through axios, to the same adapter.
 */
@Injectable()
export class UndiciHttpService extends HttpService {
  readonly #adapter: AxiosAdapter;

  /** Named for Nest, since the base class declares an axios instance in this place. */
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
