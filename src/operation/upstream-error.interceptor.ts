import { type CallHandler, type ExecutionContext, Injectable, type NestInterceptor } from '@nestjs/common';
import { from, lastValueFrom, type Observable } from 'rxjs';
import { asProblem } from '../upstream/problems/as-problem.ts';

/**
 * Around every handler, for reads and writes: each failure of a call to the platform (299, a code in a 200, the connection, a token, an id
 * of another tenant) becomes the HTTP exception that the catalogue has for it. The problem filter uses the same function for errors of
 * guards and other code outside of handlers.
 */
@Injectable()
export class UpstreamErrorInterceptor implements NestInterceptor {
  intercept(_: ExecutionContext, next: CallHandler): Observable<unknown> {
    // A promise instead of `catchError`: half of the cost, on every request.
    return from(lastValueFrom(next.handle() as Observable<unknown>).catch(throwProblem));
  }
}

function throwProblem(error: unknown): never {
  throw asProblem(error);
}
