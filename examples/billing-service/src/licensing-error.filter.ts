import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import { GatewayUnreachable, OrderNotSettled, Problem } from '@licensing-gateway/client';

interface Reply {
  status(code: number): { send(body: object): unknown };
}

/** What the billing service's own callers see of a failed call: its outcome, and the id by which the gateway's operator finds it. */
@Catch(Problem, GatewayUnreachable, OrderNotSettled)
export class LicensingErrorFilter implements ExceptionFilter<Problem | GatewayUnreachable | OrderNotSettled> {
  catch(error: Problem | GatewayUnreachable | OrderNotSettled, host: ArgumentsHost): void {
    const reply = host.switchToHttp().getResponse<Reply>();
    if (error instanceof OrderNotSettled) {
      reply.status(202).send({ state: error.record?.state ?? 'unknown' });
    } else if (error instanceof Problem) {
      const { code, outcome, errors, requestId } = error;
      // What the gateway refuses is the caller's fault only where the input is; a missing scope is ours.
      const status = [404, 409, 422].includes(error.status) ? error.status : 502;
      reply.status(status).send({ code, outcome, errors, requestId });
    } else {
      const { sent, requestId } = error;
      reply
        .status(503)
        .send({ code: 'licensing-unreachable', outcome: sent ? 'unknown' : 'not_processed', requestId });
    }
  }
}
