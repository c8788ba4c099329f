import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { AS_BUILT, type RunningService, startService } from '../../examples/demo/service.ts';
import type { Tenant } from '../../src/contract/tenant.ts';
import { createKey } from '../../src/tenants.ts';
import { type RunningSandboxd, startSandboxd } from './running-sandboxd.ts';
import {
  type ScriptedAnswer,
  type ScriptedModel,
  type ScriptedRequest,
  startScriptedModel,
} from './scripted-model.ts';

/** The two ways to deploy the service: the engine in its own process, and in that of `sandboxd`. */
export const SHAPES = [
  { shape: 'embedded', sandboxd: false },
  { shape: 'with sandboxd', sandboxd: true },
] as const;

/** The built service in a process of its own, with a scripted webhook, over real HTTP. */
export interface BuiltService {
  readonly service: RunningService;
  readonly model: ScriptedModel;
  readonly key: string;
  /** The process that holds its engine, or null where it does so itself. */
  readonly sandboxd: RunningSandboxd | null;
  /** Everything it logged. */
  readonly log: readonly string[];
  post(path: string, body: unknown, headers?: Record<string, string>): Promise<HttpAnswer>;
  get(path: string): Promise<HttpAnswer>;
  /** `/metrics` as text. */
  metrics(): Promise<string>;
  /** Waits until `/readyz` is 200; fails with what it says after a minute. */
  ready(): Promise<void>;
  /** All bytes of the ledger's files. */
  ledgerBytes(): Buffer;
  /** Ends it and answers its exit code. */
  stop(): Promise<number | null>;
}

export interface HttpAnswer {
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: tests look into answers of every shape
  readonly json: any;
}

const SIGNING_SECRET = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/**
 * Starts the built service (dist/) with the given settings over those every test needs. With `sandboxd` the settings go
 * to that process too, and the API is given an engine that does not exist.
 */
export async function startBuiltService(options: {
  readonly sandboxd?: boolean;
  readonly env?: Readonly<Record<string, string>>;
  readonly tenant?: Partial<Tenant>;
  readonly answer?: (request: ScriptedRequest) => ScriptedAnswer | Promise<ScriptedAnswer>;
  /** How node runs it; as it was built if left out. */
  readonly command?: readonly string[];
}): Promise<BuiltService> {
  const folder = mkdtempSync(join(tmpdir(), 'compute-step-built-'));
  const model = await startScriptedModel({
    signingSecret: SIGNING_SECRET,
    answer: options.answer ?? (() => 'def compute(data):\n    return 42\n'),
  });
  const { key, entry } = createKey('acme', 10_000, null);
  writeFileSync(join(folder, 'tenants.json'), JSON.stringify({ tenants: [{ ...entry, ...options.tenant }] }));
  const log: string[] = [];
  const sandboxd = options.sandboxd
    ? await startSandboxd({ ...options.env, SANDBOXD_SOCKET: join(folder, 'sandboxd.sock') })
    : null;
  const service = await startService(
    {
      PORT: '0',
      METRICS_PORT: '0',
      LOG_LEVEL: 'trace',
      TENANTS_FILE: join(folder, 'tenants.json'),
      LEDGER_URL: `sqlite:${join(folder, 'ledger', 'ledger.db')}`,
      MODEL_WEBHOOK_URL: model.url,
      MODEL_SIGNING_SECRET: SIGNING_SECRET,
      MODEL_ALLOWED_HOSTS: model.hostPort,
      ...options.env,
      ...(sandboxd === null
        ? {}
        : { SANDBOXD_SOCKET: sandboxd.socketPath, DOCKER_HOST: 'unix:///nonexistent/engine.sock' }),
    },
    (line) => log.push(line),
    options.command ?? AS_BUILT,
  );
  const call = async (path: string, init: RequestInit = {}): Promise<HttpAnswer> => {
    const answer = await fetch(`${service.api}${path}`, {
      ...init,
      headers: { authorization: `Bearer ${key}`, ...(init.headers as Record<string, string> | undefined) },
    });
    const text = await answer.text();
    return {
      status: answer.status,
      text,
      headers: answer.headers,
      get json() {
        return JSON.parse(text);
      },
    };
  };
  const get = (path: string) => call(path);
  return {
    service,
    model,
    key,
    sandboxd,
    log,
    get,
    post: (path, body, headers = {}) =>
      call(path, {
        method: 'POST',
        headers: { 'content-type': 'application/json', ...headers },
        body: typeof body === 'string' ? body : JSON.stringify(body),
      }),
    metrics: async () => (await fetch(service.metrics)).text(),
    ready: async () => {
      for (let attempt = 0; ; attempt += 1) {
        const { status, text } = await get('/readyz');
        if (status === 200) {
          return;
        }
        if (attempt === 120) {
          throw new Error(`not ready: ${text}; ${log.slice(-20).join('\n')}`);
        }
        await new Promise((resolve) => setTimeout(resolve, 500));
      }
    },
    ledgerBytes: () => {
      const ledger = join(folder, 'ledger');
      const files = readdirSync(ledger, { recursive: true, withFileTypes: true }).filter((entry) =>
        entry.isFile(),
      );
      return Buffer.concat(files.map((file) => readFileSync(join(file.parentPath, file.name))));
    },
    stop: async () => {
      const code = (await service.stop()) || ((await sandboxd?.stop()) ?? 0);
      await model.close();
      rmSync(folder, { recursive: true, force: true });
      return code;
    },
  };
}
