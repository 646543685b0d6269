/** Times every dispatch message and counts how it ended. */
import { Inject, Injectable, type CallHandler, type ExecutionContext, type NestInterceptor } from '@nestjs/common';
import { NatsContext, type TcpContext } from '@nestjs/microservices';
import { tap, type Observable } from 'rxjs';
import type { Metrics } from '#libs/telemetry';
import { METRICS } from '../../core/config/tokens.js';
import { explain } from '../../core/problem/explain.js';

@Injectable()
export class DispatchMetrics implements NestInterceptor {
  constructor(@Inject(METRICS) private readonly metrics: Metrics) {}

  intercept(context: ExecutionContext, next: CallHandler): Observable<unknown> {
    const rpc = context.switchToRpc().getContext<NatsContext | TcpContext>();
    const pattern = rpc instanceof NatsContext ? rpc.getSubject() : rpc.getPattern();
    const end = this.metrics.dispatch.startTimer({ pattern });
    return next.handle().pipe(
      tap({
        complete: () => end({ outcome: 'ok' }),
        error: (error: unknown) => end({ outcome: explain(error).code }),
      }),
    );
  }
}
