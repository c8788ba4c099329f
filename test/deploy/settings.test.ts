import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { SANDBOXD_SETTINGS, SETTINGS } from '../../src/config.ts';
import { ROOT } from './readme.ts';

const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };

interface Service {
  readonly image: string;
  readonly environment?: Readonly<Record<string, string>>;
  readonly stop_grace_period?: string;
}

const FILES = ['compose.yaml', 'swarm.yaml'] as const;

function services(file: (typeof FILES)[number]): Readonly<Record<'api' | 'sandboxd', Service>> {
  const text = readFileSync(join(ROOT, 'deploy', file), 'utf8');
  return (parse(text, { merge: true }) as { services: Record<'api' | 'sandboxd', Service> }).services;
}

/** Names of settings that an environment does not pass on, directly or as a file. */
function missing(names: readonly string[], { environment = {} }: Service): string[] {
  return names.filter((name) => !(name in environment) && !(`${name}_FILE` in environment));
}

describe.each(FILES)('%s', (file) => {
  const { api, sandboxd } = services(file);
  // The image has the built-in pack; a swarm's nodes have no folder in common for another.
  const fixed = [
    'PORT',
    'METRICS_PORT',
    'DOCKER_HOST',
    ...(file === 'swarm.yaml' ? ['PROMPT_PACK_DIR'] : []),
  ];

  it('passes every setting on to the process that reads it', () => {
    const passed = (names: readonly string[]) => names.filter((name) => !fixed.includes(name));
    expect(missing(passed(Object.keys(SETTINGS)), api)).toEqual([]);
    expect(missing(passed(SANDBOXD_SETTINGS), sandboxd)).toEqual([]);
  });

  it('gives sandboxd no setting that it does not read: no webhook, no ledger, no secret', () => {
    const read: readonly string[] = SANDBOXD_SETTINGS;
    expect(Object.keys(sandboxd.environment ?? {}).filter((name) => !read.includes(name))).toEqual([]);
  });

  it('gives both processes the same value of what they must agree on', () => {
    for (const [name, value] of Object.entries(sandboxd.environment ?? {})) {
      expect(api.environment?.[name], name).toBe(value);
    }
  });

  it('takes secrets as files only', () => {
    const secrets = Object.entries(SETTINGS).filter(([, setting]) => 'secret' in setting);
    const asText = secrets.map(([name]) => name).filter((name) => name in (api.environment ?? {}));
    // The default of LEDGER_URL is a file, and no secret.
    expect(asText).toEqual(file === 'compose.yaml' ? ['LEDGER_URL'] : []);
  });

  it('names the image of this version', () => {
    expect([api.image, sandboxd.image]).toEqual(
      Array(2).fill(`\${COMPUTE_STEP_IMAGE:-compute-step:${version}}`),
    );
  });

  it('waits longer for the end than the processes take by default', () => {
    const grace = (SETTINGS.SHUTDOWN_GRACE_SECONDS as { default: number }).default;
    for (const { stop_grace_period: period } of [api, sandboxd]) {
      const [, seconds] = /:-(\d+)s\}$/.exec(period ?? '') ?? [];
      expect(Number(seconds)).toBeGreaterThanOrEqual(grace + 20);
    }
  });
});

it('has the version of this release in the README’s commands', () => {
  const readme = readFileSync(join(ROOT, 'deploy/README.md'), 'utf8');
  const named = [...readme.matchAll(/compute-step:(\d+\.\d+\.\d+)/g)].map(([, found]) => found);
  expect(named.length).toBeGreaterThan(0);
  expect(new Set(named)).toEqual(new Set([version]));
});
