/** How requests come in, over three transports, and what every one of them passes. */
import { Module, type DynamicModule } from '@nestjs/common';
import { APP_FILTER, APP_GUARD, APP_INTERCEPTOR } from '@nestjs/core';
import { AuthGuard } from '../core/auth/auth.guard.js';
import { AddressRateGuard, KeyRateGuard } from '../core/auth/rate.guard.js';
import type { TrustProxy } from '../core/config/trust-proxy.js';
import { IdempotencyInterceptor } from '../core/idempotency/idempotency.interceptor.js';
import { BodyGuard } from '../core/overload/body.guard.js';
import { ShedGuard } from '../core/overload/shedding.js';
import { ConsoleModule } from './console/console.module.js';
import { DispatchModule } from './dispatch/dispatch.module.js';
import { GraphqlModule } from './graphql/graphql.module.js';
import { ProblemFilter } from './problem.filter.js';
import { LocationInterceptor } from './rest/location.interceptor.js';
import { RestModule } from './rest/rest.module.js';

@Module({
  imports: [ConsoleModule, DispatchModule, RestModule],
  providers: [
    { provide: APP_GUARD, useClass: ShedGuard },
    { provide: APP_GUARD, useClass: AddressRateGuard },
    { provide: APP_GUARD, useClass: AuthGuard },
    { provide: APP_GUARD, useClass: KeyRateGuard },
    { provide: APP_GUARD, useClass: BodyGuard },
    // Again: what is shed by its priority says so in its body.
    { provide: APP_GUARD, useClass: ShedGuard },
    { provide: APP_FILTER, useClass: ProblemFilter },
    { provide: APP_INTERCEPTOR, useClass: LocationInterceptor },
    { provide: APP_INTERCEPTOR, useExisting: IdempotencyInterceptor },
  ],
})
export class ApiModule {
  /** @param schemaFile  where to write the GraphQL schema; true: nowhere */
  static of(schemaFile: string | true, trust: TrustProxy | null): DynamicModule {
    return { module: ApiModule, imports: [GraphqlModule.of(schemaFile, trust)] };
  }
}
