/** One operation of the API description: how it is called, and with which statuses it answers other than a problem. */
export interface Operation {
  readonly method: 'GET' | 'POST';
  /** As in openapi.yaml. */
  readonly path: string;
  /** Whether the API key goes along. */
  readonly key: boolean;
  readonly answers: readonly number[];
  /** Members of its answer, texts, without which it is none. */
  readonly members: readonly string[];
}

const get = (path: string): Operation => ({ method: 'GET', path, key: true, answers: [200], members: [] });
const post = (path: string, members: readonly string[] = []): Operation => ({
  method: 'POST',
  path,
  key: true,
  answers: [200],
  members,
});
/** Of every Computation: whoever has one goes by its state, and asks the operator by its id. */
const COMPUTATION = ['id', 'state'];

/** Every operation of openapi.yaml by its operationId, which is also the client's method. A test holds them together. */
export const OPERATIONS = {
  compute: post('/v1/compute', COMPUTATION),
  prompt: post('/v1/compute/prompt'),
  draft: post('/v1/compute/draft'),
  admit: post('/v1/compute/admit'),
  run: post('/v1/compute/run', COMPUTATION),
  usage: get('/v1/usage'),
  usageOfMonth: get('/v1/usage/{month}'),
  capabilities: get('/v1/capabilities'),
  promptPack: get('/v1/prompt-pack'),
  health: { ...get('/healthz'), key: false },
  // Not ready is an answer to the question, not a problem.
  ready: { ...get('/readyz'), key: false, answers: [200, 503] },
} as const satisfies Record<string, Operation>;
