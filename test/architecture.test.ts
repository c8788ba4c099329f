import { readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';

const SRC = resolve(dirname(fileURLToPath(import.meta.url)), '../src');

/** The rooms in the order of the stages: a room imports only from itself and from those before it. */
const ORDER = [
  'contract',
  'client',
  'json',
  'metering',
  'schema',
  'prompt',
  'model',
  'admission',
  'sandbox',
  'result',
  'step',
  'telemetry',
  'http',
  'commands',
];

/** Files that speak to the world. Only the composition root makes them. */
const ADAPTERS = [
  'model/webhook.ts',
  'sandbox/docker.ts',
  'sandbox/daemon.ts',
  'sandbox/remote.ts',
  'metering/open-ledger.ts',
  'metering/sql-ledger.ts',
  'telemetry/metrics.ts',
  'telemetry/logger.ts',
  'telemetry/traces.ts',
];

/** Files beside the rooms, which any room may use. */
const SHARED = ['clock.ts', 'tenants.ts', 'ready.ts', 'thread-file.ts'];
const ROOTS = [
  'compose.ts',
  'compose-app.ts',
  'compose-parts.ts',
  'compose-sandbox.ts',
  'compose-sandboxd.ts',
  'compose-doctor.ts',
  'compose-traces.ts',
  'compose-usage.ts',
  'main.ts',
];

/** Where a JSON text becomes objects, and what it is: never a source's value. */
const MAY_PARSE_JSON: Record<string, string> = {
  'client/problem.ts': 'an answer of the service, at its caller',
  'client/result-text.ts': 'a member’s name in such an answer',
  'json/body.ts': 'the envelope, with the sources cut out, and the names in it',
  'model/reply.ts': 'a model’s reply',
  'model/formats/format.ts': 'a webhook’s answer',
  'sandbox/container.ts': 'the READY frame',
  'sandbox/answer.ts': 'the header of the ANSWER frame',
  'sandbox/probe.ts': 'the facts of the self-test’s probe',
  'sandbox/wire.ts': 'the headers between the API and the sandbox daemon',
  'result/schema-worker.ts': 'a result, after the sandbox',
  'result/spans.ts': 'a key of a result, after the sandbox',
  'result/table.ts': 'a column of a result, after the sandbox',
  'result/conform.ts': 'a string of a result, after the sandbox',
  'metering/sql-verify.ts': 'keys of the ledger’s totals',
  'prompt/manifest.ts': 'pack.json',
  'tenants.ts': 'the tenants file',
  'commands/version.ts': 'package.json',
};

interface Module {
  readonly path: string;
  readonly room: string;
  readonly text: string;
  /** Without comments, so that a word in a comment is no import and no call. */
  readonly code: string;
  readonly imports: readonly string[];
}

const modules: readonly Module[] = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
  .filter((path) => path.endsWith('.ts'))
  .map((path) => {
    const text = readFileSync(join(SRC, path), 'utf8');
    const code = text.replace(/\/\*[\s\S]*?\*\//g, '').replace(/(^|\s)\/\/.*$/gm, '');
    const imports = [
      ...code.matchAll(/^(?:import\b|(?:export\b.*|\} )from )[^;']*'([^']+)'|import\('([^']+)'\)/gm),
    ].map(([, target, dynamic]) => {
      const name = (target ?? dynamic) as string;
      return name.startsWith('.') ? relative(SRC, resolve(SRC, dirname(path), name)) : name;
    });
    return { path, room: path.includes('/') ? (path.split('/')[0] as string) : '', text, code, imports };
  });

const inside = (path: string) => modules.some((module) => module.path === path);

function offenders(look: (module: Module) => readonly string[]): string[] {
  return modules.flatMap((module) => look(module).map((what) => `${module.path}: ${what}`));
}

describe('the laws of the code', () => {
  it('finds the rooms it is about', () => {
    expect(modules.length).toBeGreaterThan(50);
    expect([...new Set(modules.map((module) => module.room))].filter((room) => room !== '').sort()).toEqual(
      [...ORDER].sort(),
    );
    for (const path of [...ADAPTERS, ...SHARED, ...ROOTS, ...Object.keys(MAY_PARSE_JSON)]) {
      expect(inside(path), `${path} is named here and does not exist`).toBe(true);
    }
  });

  it('lets imports point down the list of stages only', () => {
    expect(
      offenders(({ room, imports }) => {
        if (room === '') {
          return [];
        }
        return imports
          .filter((target) => inside(target) && !SHARED.includes(target))
          .filter((target) => ORDER.indexOf(target.split('/')[0] as string) > ORDER.indexOf(room));
      }),
    ).toEqual([]);
  });

  it('has no import cycles', () => {
    const cycles: string[] = [];
    const done = new Set<string>();
    const visit = (path: string, trail: readonly string[]): void => {
      if (trail.includes(path)) {
        cycles.push([...trail.slice(trail.indexOf(path)), path].join(' -> '));
        return;
      }
      if (done.has(path)) {
        return;
      }
      for (const target of modules.find((module) => module.path === path)?.imports.filter(inside) ?? []) {
        visit(target, [...trail, path]);
      }
      done.add(path);
    };
    for (const { path } of modules) {
      visit(path, []);
    }
    expect(cycles).toEqual([]);
  });

  it('makes adapters in the composition root only, and lets nobody else import http', () => {
    expect(
      offenders(({ path, room, imports }) =>
        ROOTS.includes(path)
          ? []
          : imports.filter(
              (target) =>
                (ADAPTERS.includes(target) && room !== target.split('/')[0]) ||
                (target.startsWith('http/') && room !== 'http'),
            ),
      ),
    ).toEqual([]);
  });

  it('keeps frameworks and engines out of the pipeline', () => {
    const kept = [
      'fastify',
      'dockerode',
      'pino',
      'prom-client',
      'undici',
      'kysely',
      'libsql',
      '@opentelemetry/api',
    ];
    expect(
      offenders(({ room, imports }) =>
        room === 'step' ? imports.filter((name) => kept.includes(name)) : [],
      ),
    ).toEqual([]);
  });

  it('keeps each library in its own room', () => {
    const home: Record<string, readonly string[]> = {
      dockerode: ['sandbox'],
      undici: ['model'],
      kysely: ['metering'],
      libsql: ['metering'],
      pg: ['metering'],
      'prom-client': ['telemetry'],
      pino: ['telemetry'],
      '@opentelemetry/api': ['telemetry'],
      '@opentelemetry/exporter-trace-otlp-http': ['telemetry'],
      '@opentelemetry/resources': ['telemetry'],
      '@opentelemetry/sdk-trace-base': ['telemetry'],
      'web-tree-sitter': ['admission'],
      fastify: ['http'],
    };
    expect(
      offenders(({ path, room, imports }) =>
        imports.filter(
          (name) => home[name] !== undefined && !home[name].includes(room) && !ROOTS.includes(path),
        ),
      ),
    ).toEqual([]);
  });

  it('imports nothing but contract into contract', () => {
    expect(
      offenders(({ room, imports }) =>
        room === 'contract'
          ? imports.filter((name) => !name.startsWith('contract/') && !name.startsWith('@sinclair/typebox'))
          : [],
      ),
    ).toEqual([]);
  });

  it('lets the client import nothing but types, and lets nobody import the client', () => {
    expect(
      offenders(({ room, code, imports }) =>
        room === 'client'
          ? (code.match(/^(?:import|export)(?! type\b)[^;']*from '(?!\.\/)[^']+'|import\('/gm) ?? [])
          : imports.filter((target) => target.startsWith('client/')),
      ),
    ).toEqual([]);
  });

  it('parses JSON of a request nowhere but in json', () => {
    expect(
      offenders(({ path, code }) =>
        MAY_PARSE_JSON[path] === undefined && code.includes('JSON.parse(') ? ['JSON.parse'] : [],
      ),
    ).toEqual([]);
  });

  it('reads the environment in config.ts only', () => {
    expect(
      offenders(({ path, code }) =>
        path !== 'config.ts' && code.includes('process.env') ? ['process.env'] : [],
      ),
    ).toEqual([]);
  });

  it('holds no state in modules', () => {
    const variable = /^(?:export )?(?:let|var) .*/gm;
    // A constant that begins empty is there to be filled.
    const empty =
      /^(?:export )?const \w+(?:: [^=]+)? = (?:new (?:(?:Weak)?(?:Map|Set)|AbortController)(?:<.*>)?\(\)|\[\]|\{\});/gm;
    expect(offenders(({ code }) => [variable, empty].flatMap((kind) => code.match(kind) ?? []))).toEqual([]);
  });

  it('has no grab bags, no barrels and no overlong files', () => {
    expect(
      offenders(({ path, text }) => [
        ...(/^(utils?|helpers?|common|misc|index)\.ts$/.test(basename(path)) ? ['name'] : []),
        ...(text.split('\n').length > 420 ? [`${text.split('\n').length} lines`] : []),
      ]),
    ).toEqual([]);
  });

  it('makes each stage’s type in its own room, by a symbol nobody else can name', () => {
    const branded: Record<string, string> = {
      AdmittedFunction: 'admission',
      Prompt: 'prompt',
      SourceSchema: 'schema',
      Draft: 'model',
      NoFunctionReply: 'model',
      Repair: 'model',
      Permit: 'metering',
      Checked: 'result',
    };
    expect(
      offenders(({ room, code }) =>
        Object.entries(branded)
          .filter(
            ([type, home]) => room !== home && new RegExp(`\\bas (unknown as )?${type}\\b(?!\\.)`).test(code),
          )
          .map(([type]) => `casts to ${type}`),
      ),
    ).toEqual([]);
    expect(offenders(({ code }) => code.match(/export declare const \w+: unique symbol/g) ?? [])).toEqual([]);
    for (const [type, home] of Object.entries(branded)) {
      const makers = modules.filter(
        ({ room, code }) =>
          room === home &&
          new RegExp(`interface ${type}\\b[^}]*unique|class ${type}\\b|\\[\\w*[bB]rand\\w*\\]`).test(code),
      );
      expect(makers.length, `${type} has a brand in ${home}/`).toBeGreaterThan(0);
    }
  });

  it('silences no checker', () => {
    expect(
      offenders(({ text }) => text.match(/@ts-(ignore|expect-error|nocheck)|\bas any\b|: any\b/g) ?? []),
    ).toEqual([]);
  });
});
