import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseDocument } from 'yaml';

/** One series of an answer: its labels, and its values in the order of time. */
export interface Series {
  readonly labels: Readonly<Record<string, string>>;
  readonly values: readonly number[];
}

/** A Prometheus server of a test's own, on a free port of loopback, that scrapes one target every second. */
export interface PrometheusServer {
  /** Answers `GET /api/v1/<path>`; a query with a fault in it rejects. */
  api(path: string, parameters?: Readonly<Record<string, string>>): Promise<unknown>;
  /** Evaluates an expression now. */
  query(expr: string): Promise<readonly Series[]>;
  /** Evaluates it at every second since the server was started, the last time now. */
  queryRange(expr: string): Promise<readonly Series[]>;
  /** Waits until the expression has one series, of this value; fails with what it last was after 90 seconds. */
  until(expr: string, value: number): Promise<void>;
  /** Ends it and removes what it stored. */
  stop(): Promise<void>;
}

/** Below the time limit of a test, so that it ends with what was waited for. */
const WAIT_MAX_MS = 90_000;
/** The last lines of its log are enough to say why it did not start. */
const LOG_MAX_LINES = 20;
/** A server that does not answer a query within this time will not. */
const QUERY_MAX_MS = 30_000;
const RANGE_STEP_SECONDS = 1;

/** Starts a server with a configuration as delivered, but for its intervals, target and the path of its rules. */
export async function startPrometheus(delivered: {
  readonly config: string;
  readonly rules: string;
  /** `host:port` of what is scraped in place of the one target that is configured. */
  readonly target: string;
}): Promise<PrometheusServer> {
  const folder = mkdtempSync(join(tmpdir(), 'compute-step-prometheus-'));
  const config = join(folder, 'prometheus.yml');
  const document = parseDocument(delivered.config);
  document.setIn(['global'], { scrape_interval: '1s', evaluation_interval: '1s' });
  document.setIn(['rule_files'], [delivered.rules]);
  document.setIn(['scrape_configs', 0, 'static_configs', 0, 'targets'], [delivered.target]);
  writeFileSync(config, String(document));
  const child = spawn(
    'prometheus',
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(folder, 'data')}`,
      '--web.listen-address=127.0.0.1:0',
      '--log.format=json',
    ],
    { cwd: folder, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const exited = once(child, 'exit').catch(() => {});
  const stop = async (): Promise<void> => {
    child.kill('SIGTERM');
    await exited;
    rmSync(folder, { recursive: true, force: true });
  };
  try {
    const startedAt = Date.now() / 1000;
    const url = await listening(child);
    return { ...client(url, startedAt), stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What promtool says: nothing if all is fine. */
export function promtool(args: readonly string[], options: { cwd?: string; input?: string } = {}): string {
  try {
    execFileSync('promtool', args, { ...options, encoding: 'utf8', stdio: ['pipe', 'pipe', 'pipe'] });
    return '';
  } catch (error) {
    const { code, stdout = '', stderr = '' } = error as { code?: string; stdout?: string; stderr?: string };
    return code === 'ENOENT' ? MISSING : `${stdout}${stderr}`;
  }
}

const MISSING = 'promtool and prometheus are missing for these tests: run `bash test/prometheus.sh`';

/** The server's address, once it answers. */
async function listening(child: ReturnType<typeof spawn>): Promise<string> {
  const said: string[] = [];
  const url = await new Promise<string>((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error(`Prometheus did not start: ${said}`)), WAIT_MAX_MS);
    const end = (act: () => void): void => {
      clearTimeout(timer);
      act();
    };
    child.on('error', () => end(() => reject(new Error(MISSING))));
    child.on('exit', () => end(() => reject(new Error(`Prometheus ended at its start: ${said}`))));
    createInterface(child.stderr as NodeJS.ReadableStream).on('line', (line) => {
      said.push(line);
      said.splice(0, said.length - LOG_MAX_LINES);
      const [, address] = /"address":"([^"]+)"/.exec(line) ?? [];
      if (line.includes('"msg":"Listening on"')) end(() => resolve(`http://${address}`));
    });
  });
  for (let waited = 0; waited < WAIT_MAX_MS; waited += 100) {
    const { ok } = await fetch(`${url}/-/ready`, { signal: AbortSignal.timeout(QUERY_MAX_MS) });
    if (ok) return url;
    await sleep(100);
  }
  throw new Error(`Prometheus did not become ready: ${said}`);
}

interface QueryData {
  readonly resultType: 'vector' | 'matrix' | 'scalar';
  readonly result: readonly {
    readonly metric: Record<string, string>;
    readonly value?: readonly [number, string];
    readonly values?: readonly (readonly [number, string])[];
  }[];
}

function client(url: string, startedAt: number): Omit<PrometheusServer, 'stop'> {
  const api = async (path: string, parameters: Readonly<Record<string, string>> = {}): Promise<unknown> => {
    const answer = await fetch(`${url}/api/v1/${path}?${new URLSearchParams(parameters)}`, {
      signal: AbortSignal.timeout(QUERY_MAX_MS),
    });
    const { status, data, error } = (await answer.json()) as Record<string, unknown>;
    if (status !== 'success') throw new Error(`${parameters.query ?? path}: ${error}`);
    return data;
  };
  const series = async (path: string, parameters: Readonly<Record<string, string>>): Promise<Series[]> => {
    const { resultType, result } = (await api(path, parameters)) as QueryData;
    if (resultType === 'scalar') throw new Error(`${parameters.query} is a number, not series`);
    return result.map(({ metric, value, values = value === undefined ? [] : [value] }) => ({
      labels: metric,
      values: values.map(([, text]) => Number(text.replace('Inf', 'Infinity'))),
    }));
  };
  const query = (expr: string): Promise<readonly Series[]> => series('query', { query: expr });
  return {
    api,
    query,
    queryRange: (expr) => {
      const end = Date.now() / 1000;
      // Backwards from now, so that the latest scrape is among what is looked at.
      const steps = Math.ceil((end - startedAt) / RANGE_STEP_SECONDS);
      return series('query_range', {
        query: expr,
        start: String(end - steps * RANGE_STEP_SECONDS),
        end: String(end),
        step: String(RANGE_STEP_SECONDS),
      });
    },
    until: async (expr, value) => {
      for (let waited = 0; ; waited += 200) {
        const found = await query(expr);
        if (found.length === 1 && found[0]?.values[0] === value) return;
        if (waited > WAIT_MAX_MS) throw new Error(`${expr} is ${JSON.stringify(found)}, and not ${value}`);
        await sleep(200);
      }
    },
  };
}
