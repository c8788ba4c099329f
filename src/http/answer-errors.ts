import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { type Problem, problem } from '../contract/problem.ts';
import type { AppDeps } from './deps.ts';
import { bodyIsComing, sendEarlyProblem } from './early-answer.ts';
import { ProblemError, sendProblem, thrownProblem } from './errors.ts';
import { hostProblem, targetProblem } from './request-head.ts';

/** Every error of a request as a problem: what the routes throw, what has no route, and a head that says too little. */
export function answerErrors(
  app: FastifyInstance,
  deps: AppDeps,
  methodsOf: (path: string) => readonly string[],
): void {
  const nothingHere = (http: FastifyRequest, reply: FastifyReply): Problem => {
    const methods = methodsOf(http.url.split('?', 1)[0] ?? '');
    if (methods.length === 0) {
      return problem('not_found', 'See /openapi.json for the paths of this service.');
    }
    reply.header('allow', methods.join(', '));
    return problem('method_not_allowed', `Use ${methods.join(' or ')} here.`);
  };
  app.addHook('onRequest', async (http, reply) => {
    const fault = hostProblem(http.raw) ?? targetProblem(http.raw);
    if (fault !== null) {
      throw new ProblemError(fault);
    }
    if (http.is404) {
      // Before the body is read: what has no route has nobody to answer for its bytes.
      throw new ProblemError(nothingHere(http, reply));
    }
  });
  app.setErrorHandler((error, http, reply) => {
    const told = thrownProblem(error, http.id, deps);
    return bodyIsComing(http.raw) ? sendEarlyProblem(reply, told, deps.limits) : sendProblem(reply, told);
  });
  app.setNotFoundHandler((http, reply) => sendProblem(reply, nothingHere(http, reply)));
}
