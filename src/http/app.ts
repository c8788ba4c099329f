import swagger from '@fastify/swagger';
import Fastify, { type FastifyInstance } from 'fastify';
import { v7 } from 'uuid';
import { elapsedMs } from '../clock.ts';
import { faultChecker } from '../contract/faults.ts';
import { acceptProblem } from './accept.ts';
import { answerErrors } from './answer-errors.ts';
import { createCalls } from './call.ts';
import { boundConnections, type Connections } from './connections.ts';
import type { AppDeps } from './deps.ts';
import { ProblemError, problemOf, refuseConnect, sendProblem, unparsedAnswers } from './errors.ts';
import { keepInWork } from './in-work.ts';
import { byteBudget, tenantSlots } from './inflight.ts';
import { limitListener, listenerOptions } from './listener.ts';
import { routeTable } from './negotiate.ts';
import { NAMED_SCHEMAS, openApiHead } from './openapi.ts';
import { boundPipelining } from './pipelining.ts';
import { invalid } from './read-body.ts';
import { bodyFormProblem } from './request-head.ts';
import { requestSpans } from './request-spans.ts';
import { capabilitiesRoute } from './routes/capabilities.get.ts';
import { computeRoute } from './routes/compute.post.ts';
import { admitRoute } from './routes/compute-admit.post.ts';
import { draftRoute } from './routes/compute-draft.post.ts';
import { promptRoute } from './routes/compute-prompt.post.ts';
import { runRoute } from './routes/compute-run.post.ts';
import { healthRoute } from './routes/healthz.get.ts';
import { descriptionRoutes } from './routes/openapi.get.ts';
import { pageRoutes } from './routes/page.get.ts';
import { packRoute } from './routes/prompt-pack.get.ts';
import { readyRoute } from './routes/readyz.get.ts';
import { usageRoutes } from './routes/usage.get.ts';
import { STOPPING } from './stopping.ts';
import type { UnsentAnswers } from './unsent-answers.ts';

/** Builds the API without listening. Everything it needs comes in `deps`. */
export async function buildApp(deps: AppDeps): Promise<FastifyInstance> {
  const unparsed = unparsedAnswers(deps.limits.headersMs);
  const app = Fastify({
    logger: false,
    bodyLimit: deps.bodyMaxBytes,
    genReqId: () => v7(),
    requestIdHeader: false,
    ...listenerOptions(deps.limits),
    routerOptions: { ignoreTrailingSlash: false, maxParamLength: 64 },
    return503OnClosing: false,
    clientErrorHandler: unparsed,
    frameworkErrors: (error, _http, reply) => sendProblem(reply, problemOf(error, deps.bodyMaxBytes)),
  });
  const unsent = limitListener(app, deps.limits);
  refuseConnect(app.server, unparsed);
  const connections = boundConnections(app.server, deps.limits.connections);
  const routes = routeTable();
  app.addHook('onRoute', (route) => routes.add(route.url, [route.method].flat()));
  takeBodiesAsBytes(app);
  checkParametersOnly(app);
  observe(app, deps, unsent);
  boundPipelining(app, unsent, deps.limits.pipelined);
  answerErrors(app, deps, routes.methodsOf);

  for (const schema of NAMED_SCHEMAS) {
    app.addSchema(schema);
  }
  await app.register(swagger, {
    openapi: openApiHead(deps.version),
    refResolver: { buildLocalReference: (json, _base, _fragment, i) => String(json.$id ?? `def-${i}`) },
  });
  healthRoute(app);
  readyRoute(app, deps.ready, deps.drain);
  await app.register(async (v1) => versionOne(v1, deps, connections), { prefix: '/v1' });
  await descriptionRoutes(app);
  if (deps.ui) {
    await pageRoutes(app);
  }
  return app;
}

async function versionOne(v1: FastifyInstance, deps: AppDeps, connections: Connections): Promise<void> {
  const spans = requestSpans(deps.tracing, deps.observer);
  const calls = createCalls(
    deps.tenants,
    tenantSlots(),
    byteBudget(deps.bodyInflightMaxBytes),
    deps.bodyMaxBytes,
  );
  v1.addHook('onRequest', async (http, reply) => {
    if (deps.drain.begun) {
      throw new ProblemError(STOPPING);
    }
    await calls.authorize(http);
    spans.begin(http, reply, calls.tenantOf(http).id);
    keepInWork(http, reply, deps, connections);
    const form = http.method === 'POST' ? bodyFormProblem(http.headers) : null;
    if (form !== null) {
      throw new ProblemError(form);
    }
    const unacceptable = acceptProblem(http.headers.accept, http.routeOptions.url ?? '');
    if (unacceptable !== null) {
      throw new ProblemError(unacceptable);
    }
    if (http.method === 'POST') {
      await calls.admit(http, reply);
    }
  });
  const route = { ...deps, calls, spans };
  computeRoute(v1, route);
  promptRoute(v1, route);
  draftRoute(v1, route);
  admitRoute(v1, route);
  runRoute(v1, route);
  usageRoutes(v1, route);
  capabilitiesRoute(v1, route);
  packRoute(v1, route);
}

/** Bodies stay bytes: the framework's parser would make objects of the sources and change their numbers. */
function takeBodiesAsBytes(app: FastifyInstance): void {
  app.removeAllContentTypeParsers();
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (_http, body, done) =>
    done(null, body),
  );
}

/** Query and path are checked here; bodies by the routes, after the scan. Nothing is coerced or stripped. */
function checkParametersOnly(app: FastifyInstance): void {
  app.setValidatorCompiler<never>(({ schema, httpPart }) => {
    if (httpPart === 'body') {
      return () => true;
    }
    const check = faultChecker(schema);
    return (value) => {
      const faults = check(value);
      return faults.length === 0 || { error: new ProblemError(invalid(faults)) };
    };
  });
  app.setSerializerCompiler(() => (value) => JSON.stringify(value));
}

function observe(app: FastifyInstance, deps: AppDeps, unsent: UnsentAnswers): void {
  const started = new WeakMap<object, bigint>();
  app.addHook('onRequest', async (http, reply) => {
    started.set(http, deps.clock.monotonicNs());
    reply.header('x-content-type-options', 'nosniff');
  });
  app.addHook('onSend', async (http, reply) => {
    // Nobody should send the next request here; those that were sent (pipelining) get their answers first.
    if (deps.drain.begun && unsent.on(http.raw.socket) <= 1) {
      reply.header('connection', 'close');
    }
  });
  app.addHook('onResponse', async (http, reply) => {
    const seconds = elapsedMs(deps.clock, started.get(http) ?? deps.clock.monotonicNs()) / 1000;
    deps.observer.httpRequest(http.routeOptions.url ?? 'none', http.method, reply.statusCode, seconds);
  });
}
