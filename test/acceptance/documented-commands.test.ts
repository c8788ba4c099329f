import { execFile, execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { createKey } from '../../src/tenants.ts';
import { blocksOf, brokenLinks, commandsOf, documentedPages } from '../fakes/documented-pages.ts';
import { type BuiltService, startBuiltService } from '../fakes/running-service.ts';

const ROOT = fileURLToPath(new URL('../../', import.meta.url));

/** A command of a page: how it begins, and how it is held. */
interface Documented {
  readonly command: string;
  /** It is run by this test, which names it. */
  readonly by?: { readonly test: string; readonly says: string };
  /** It goes on until it is ended; this line of its output says that it is up. */
  readonly up?: RegExp;
  /** What it prints. */
  readonly prints?: RegExp;
}

const EXAMPLES = 'test/acceptance/examples.test.ts';
/** For the commands of one page: seconds where there is a processor, minutes where there is not. */
const PAGE_MS = 280_000;
const SERVING = /"event":"metrics_listening"/;

/** Every command of every page, in order. A command that is not here fails: add it, and run it. */
const COMMANDS: Readonly<Record<string, readonly Documented[]>> = {
  'README.md': [
    { command: 'npm ci && npm run demo', by: { test: 'test/acceptance/demo.test.ts', says: "'demo'" } },
    { command: 'npm test', by: { test: '.ci/run', says: 'npm test' } },
    { command: 'curl -sS http://127.0.0.1:8080/v1/compute', prints: /"result":27\.75,/ },
    { command: 'npm run build && npm run image' },
    { command: 'npx compute-step key create --tenant acme --runs 1000', prints: /cs_[\w-]{43}/ },
    { command: 'TENANTS_FILE=./tenants.json MODEL_WEBHOOK_URL=https://models.example.com', up: SERVING },
    { command: 'mkdir -p /run/compute-step' },
    {
      command: 'SANDBOXD_SOCKET=/run/compute-step/sandboxd.sock npx compute-step sandboxd',
      up: /"listening"/,
    },
    { command: 'SANDBOXD_SOCKET=/run/compute-step/sandboxd.sock TENANTS_FILE=./tenants.json', up: SERVING },
  ],
  'docs/api.md': [
    { command: 'export COMPUTE_STEP_URL=' },
    { command: 'export COMPUTE_STEP_KEY=' },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/compute"', prints: /"result":27\.75,/ },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/compute" --retry', prints: /"result":27\.75,/ },
    {
      command: 'curl -sSN "$COMPUTE_STEP_URL/v1/compute"',
      prints: /^event: prompt$.*^event: running$.*^event: computation$.*"result":27\.75,/ms,
    },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/compute/prompt"', prints: /"prompt_pack_digest":"sha256:/ },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/compute/run"', prints: /"result":27\.75,/ },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/compute/admit?all=true"', prints: /"rule":"import: socket"/ },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/usage"', prints: /"compute_runs":\{"used":\d+/ },
    { command: 'curl -sS "$COMPUTE_STEP_URL/v1/capabilities"', prints: /"compute":"run"/ },
    { command: 'curl -sS "$COMPUTE_STEP_URL/readyz"', prints: /"status":"ready"/ },
  ],
  'docs/operations.md': [
    { command: 'curl -sS http://127.0.0.1:8080/readyz', prints: /"status":"ready"/ },
    { command: 'npx compute-step doctor', prints: /^all is well$/m },
    { command: 'npx compute-step doctor --json --model', prints: /"ok": true/ },
    {
      command: 'curl -sS http://127.0.0.1:9464/metrics',
      prints: /^compute_step_ready\{check="engine"\} 1$/m,
    },
    { command: 'LEDGER_URL=sqlite:./data/ledger.db npx compute-step usage export', prints: /"closed": / },
    {
      command: 'LEDGER_URL=sqlite:./data/ledger.db npx compute-step usage export',
      prints: /^month,closed,/m,
    },
    { command: 'npx compute-step key create --tenant acme', prints: /cs_[\w-]{43}/ },
  ],
  'docs/scripted-model.md': [
    {
      command: 'npx compute-step model --script answers.json --port 4011',
      up: /^listening http:\/\/127\.0\.0\.1:\d+\/write$/m,
    },
    { command: 'MODEL_WEBHOOK_URL=http://127.0.0.1:4011/write', up: SERVING },
  ],
  'examples/approval-gate/README.md': [
    { command: 'export COMPUTE_STEP_KEY=' },
    {
      command: 'npx tsx examples/approval-gate/run.ts',
      by: { test: EXAMPLES, says: 'approval-gate/run.ts' },
    },
    { command: 'npx tsx examples/approval-gate/run.ts --yes', prints: /^succeeded: 27\.75$/m },
  ],
  'examples/curl/README.md': [
    { command: 'export COMPUTE_STEP_KEY=' },
    { command: 'examples/curl/step.sh', prints: /"result":27\.75,/ },
  ],
  'examples/openai-compatible/README.md': [
    { command: 'set -a; . examples/openai-compatible/ollama.env; set +a' },
    { command: 'TENANTS_FILE=./tenants.json npm start', up: SERVING },
  ],
  'examples/plan-runner/README.md': [
    { command: 'export COMPUTE_STEP_KEY=' },
    { command: 'MODEL_URL=http://127.0.0.1:11434', by: { test: EXAMPLES, says: 'plan-runner/run.ts' } },
  ],
  'examples/python/README.md': [
    { command: 'export COMPUTE_STEP_KEY=' },
    { command: 'python3 examples/python/step.py', by: { test: EXAMPLES, says: 'python/step.py' } },
  ],
  'examples/typescript/README.md': [
    { command: 'export COMPUTE_STEP_KEY=' },
    { command: 'npx tsx examples/typescript/step.ts', by: { test: EXAMPLES, says: 'typescript/step.ts' } },
  ],
};

const pages = documentedPages();
const withCommands = pages.filter((page) => commandsOf(page).length > 0);

describe('the pages', () => {
  it('have no command that is not listed here', () => {
    expect(withCommands.map(({ path }) => path)).toEqual(Object.keys(COMMANDS).sort());
    for (const page of withCommands) {
      const listed = COMMANDS[page.path] ?? [];
      const commands = commandsOf(page);
      expect(
        commands.map((command, at) => command.startsWith(listed[at]?.command ?? '\0') || command),
        page.path,
      ).toEqual(listed.map(() => true));
    }
  });

  it('name tests that run what is not run here', () => {
    for (const { command, by } of Object.values(COMMANDS).flat()) {
      if (by !== undefined) {
        expect(readFileSync(join(ROOT, by.test), 'utf8'), command).toContain(by.says);
      }
    }
  });

  it('have no link that leads nowhere', () => {
    const texts = new Map(pages.map(({ path, text }) => [path, text]));
    const broken = pages.flatMap((page) => brokenLinks(page, texts).map((link) => `${page.path}: ${link}`));
    expect(broken).toEqual([]);
    // The look finds something.
    expect(brokenLinks({ path: 'docs/x.md', text: '[a](nothing.md) [b](api.md#nothing)' }, texts)).toEqual([
      'nothing.md',
      'api.md#nothing',
    ]);
  });
});

describe('every command of the pages, in a scratch copy, beside the built service', () => {
  const scratch = mkdtempSync(join(tmpdir(), 'compute-step-docs-'));
  let built: BuiltService;
  beforeAll(async () => {
    for (const part of [
      ...['src', 'dist', 'docs', 'examples', 'sandbox-image', 'package.json', 'openapi.yaml'],
      ...['tsconfig.json', 'tsconfig.build.json'],
    ]) {
      cpSync(join(ROOT, part), join(scratch, part), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(scratch, 'node_modules'), 'dir');
    const { entry } = createKey('acme', 1000, null);
    writeFileSync(join(scratch, 'tenants.json'), JSON.stringify({ tenants: [entry] }));
    const script = pages.find(({ path }) => path === 'docs/scripted-model.md');
    writeFileSync(join(scratch, 'answers.json'), (script && blocksOf(script, 'json')[0]) ?? '');
    built = await startBuiltService({
      answer: () =>
        'def compute(data):\n    p = [o["price"] for o in data["orders"]]\n    return sum(p) / len(p)\n',
    });
    await built.ready();
  });
  afterAll(async () => {
    await built?.stop();
    rmSync(scratch, { recursive: true, force: true });
  });

  it.each(withCommands.map(({ path }) => path))(
    '%s',
    async (path) => {
      const page = pages.find((each) => each.path === path);
      const listed = COMMANDS[path] ?? [];
      const commands = page === undefined ? [] : commandsOf(page);
      const here = commands.flatMap((command, at) => {
        const held = listed[at];
        return held === undefined || held.by !== undefined
          ? []
          : [{ ...held, command, text: adapted(command) }];
      });
      const output = await inOneShell(here);
      for (const [at, { command, prints, up }] of here.entries()) {
        const { status, text } = output[at] ?? { status: 'none', text: '' };
        expect(`${status}: ${command}\n${status === '0' ? '' : text}`).toBe(`0: ${command}\n`);
        expect(text, command).toMatch(prints ?? up ?? /^/);
      }
    },
    PAGE_MS + 20_000,
  );

  it('compiles the TypeScript of the pages against the package', () => {
    const snippets = pages.flatMap((page) => blocksOf(page, 'ts').map((code) => ({ page, code })));
    expect(snippets.length).toBeGreaterThan(0);
    const folder = join(scratch, 'snippets');
    mkdirSync(folder);
    const compilerOptions = {
      module: 'nodenext',
      target: 'es2023',
      strict: true,
      noEmit: true,
      types: ['node'],
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['*.ts'] }));
    for (const [at, { code }] of snippets.entries()) {
      writeFileSync(join(folder, `snippet-${at}.ts`), code);
    }
    try {
      execFileSync(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder], { encoding: 'utf8' });
    } catch (error) {
      expect((error as { readonly stdout: string }).stdout).toBe('');
    }
  });

  /** As it stands on the page, but for the key, and for addresses and folders that this machine may use otherwise. */
  function adapted(command: string): string {
    return command
      .replaceAll('cs_…', built.key)
      .replaceAll('http://127.0.0.1:8080', built.service.api)
      .replaceAll('http://127.0.0.1:9464/metrics', built.service.metrics)
      .replaceAll('/run/compute-step', join(scratch, 'run'))
      .replaceAll('--port 4011', '--port 0');
  }

  /**
   * Runs the commands one after the other in one shell, as a person would; what serves goes on beside the next ones
   * and is ended with the shell. Answers each one's exit status (0 for one that came up) and output.
   */
  async function inOneShell(
    commands: readonly { readonly text: string; readonly up?: RegExp }[],
  ): Promise<readonly { readonly status: string; readonly text: string }[]> {
    const out = mkdtempSync(join(scratch, 'out-'));
    const steps = commands.map(({ text, up }, at) =>
      up === undefined
        ? `{ ${text}\n} >${out}/${at} 2>&1; echo $? >${out}/${at}.status`
        : // A serving command is judged by what it has printed: see below.
          `{ ${text}\n} >${out}/${at} 2>&1 & pids+=($!); echo $! >>${out}/pids; await ${out}/${at} '${up.source}'; echo $? >${out}/${at}.status`,
    );
    const script = `set -m
pids=()
trap 'for pid in "\${pids[@]}"; do kill -TERM $(leaves "$pid") 2>/dev/null; done; wait' EXIT
# What serves is below npm and sh. It alone is told to end: npm would pass the signal on, and a second one is not waited for.
leaves() {
  local file stat
  local -A parents=()
  for file in /proc/[0-9]*/stat; do
    { read -r stat <"$file"; } 2>/dev/null || continue
    set -- "$1" \${stat##*) }
    file=\${file#/proc/}
    if [ "$4" = "$1" ]; then parents[\${file%/stat}]=$3; fi
  done
  for file in "\${!parents[@]}"; do
    [[ " \${parents[*]} " == *" $file "* ]] || echo "$file"
  done
}
await() {
  for _ in $(seq 600); do
    grep -qP "$2" "$1" && return 0
    kill -0 "\${pids[-1]}" 2>/dev/null || return 1
    sleep 0.2
  done
  return 1
}
${steps.join('\n')}
`;
    writeFileSync(join(out, 'page.sh'), script);
    const read = (name: string) => {
      try {
        return readFileSync(join(out, name), 'utf8');
      } catch {
        return '';
      }
    };
    await new Promise<void>((resolve, reject) => {
      const shell = execFile(
        'bash',
        ['--noprofile', '--norc', join(out, 'page.sh')],
        {
          cwd: scratch,
          timeout: PAGE_MS,
          env: {
            ...process.env,
            NO_COLOR: '1',
            // Free ports, and for `doctor` the settings that a service on this machine would have.
            PORT: '0',
            METRICS_PORT: '0',
            TENANTS_FILE: './tenants.json',
            MODEL_WEBHOOK_URL: built.model.url,
            MODEL_ALLOWED_HOSTS: built.model.hostPort,
            COMPUTE_STEP_URL: built.service.api,
            COMPUTE_STEP_KEY: built.key,
          },
        },
        (error) => {
          if (error?.killed !== true) return resolve();
          // The shell was ended in the middle: what it had begun to serve is ended here.
          for (const pid of read('pids').split('\n').filter(Boolean)) {
            try {
              process.kill(-Number(pid), 'SIGKILL');
            } catch {
              // It has ended by itself.
            }
          }
          reject(error);
        },
      );
      shell.stdin?.end();
    });
    return commands.map((_, at) => ({ status: read(`${at}.status`).trim(), text: read(String(at)) }));
  }
});
