import {
  type DynamicModule,
  type FactoryProvider,
  Inject,
  Injectable,
  Module,
  type ModuleMetadata,
} from '@nestjs/common';
import { Licensing, type LicensingOptions, responseOf } from './licensing.ts';

const OPTIONS = Symbol('options of the licensing client');

interface AsyncOptions extends Pick<ModuleMetadata, 'imports'> {
  /** The arguments of `useFactory`. */
  readonly inject?: FactoryProvider['inject'] | undefined;
  readonly useFactory: (...injected: never[]) => LicensingOptions | Promise<LicensingOptions>;
  /** True if every module can inject `Licensing`. The default is true. */
  readonly isGlobal?: boolean | undefined;
}

/** Checks the gateway for a health controller, also one of `@nestjs/terminus`. It returns the form of indicators of Terminus 11 or newer. */
@Injectable()
export class LicensingHealthIndicator {
  readonly #licensing: Licensing;

  constructor(@Inject(Licensing) licensing: Licensing) {
    this.#licensing = licensing;
  }

  /** Resolves to whether the gateway admits requests, within this time. It never rejects. */
  async isHealthy<Key extends string>(
    key: Key,
    timeoutMs = 2_000,
  ): Promise<Record<Key, { readonly status: 'up' | 'down'; readonly detail?: string }>> {
    const state = await this.#licensing.health.ready({}, { timeoutMs }).then(
      (readiness) => {
        const { status } = readiness;
        // A proxy may answer 503 with a `status` of its own. A faked answer has no response.
        const isUp = status !== 'down' && (responseOf(readiness)?.status ?? 200) === 200;
        return {
          status: isUp ? ('up' as const) : ('down' as const),
          ...(status !== 'ok' && { detail: status }),
        };
      },
      (error: unknown) => ({ status: 'down' as const, detail: (error as Error).message }),
    );
    return { [key]: state } as Record<Key, typeof state>;
  }
}

/** Provides one `Licensing` and `LicensingHealthIndicator` to a Nest application. */
@Module({})
export class LicensingModule {
  static forRoot(
    options: LicensingOptions & { readonly isGlobal?: boolean | undefined } = {},
  ): DynamicModule {
    const { isGlobal = true, ...own } = options;
    return LicensingModule.forRootAsync({ isGlobal, useFactory: () => own });
  }

  static forRootAsync({
    imports = [],
    inject = [],
    useFactory,
    isGlobal = true,
  }: AsyncOptions): DynamicModule {
    return {
      module: LicensingModule,
      global: isGlobal,
      imports,
      providers: [
        { provide: OPTIONS, inject, useFactory: useFactory as (...injected: unknown[]) => LicensingOptions },
        {
          provide: Licensing,
          inject: [OPTIONS],
          useFactory: (options: LicensingOptions) => new Licensing(options),
        },
        LicensingHealthIndicator,
      ],
      exports: [Licensing, LicensingHealthIndicator],
    };
  }
}
