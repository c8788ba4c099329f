import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type Docker from 'dockerode';
import { baseImage, hasImage, pull } from '../sandbox-image/base.ts';
import { dockerBuild } from '../sandbox-image/docker-build.ts';

const NODE = 'node:24-trixie-slim';
/** Our own name: an image under Node's would be taken for theirs. */
const OWN_NODE = 'compute-step-node:trixie';
/** Without the recommended packages: they are a compiler and npm. */
const OWN_DOCKERFILE = `ARG BASE_IMAGE=debian:trixie-slim
FROM \${BASE_IMAGE}
RUN apt-get update -qq \\
 && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends nodejs ca-certificates >/dev/null \\
 && rm -rf /var/lib/apt/lists/*
`;

/**
 * The name of an image with Node on this engine: the one already there, else Node's own pulled, else one made here
 * from Debian trixie and its package `nodejs`. Throws where none of these works.
 */
export async function nodeBase(docker: Docker): Promise<string> {
  for (const name of [OWN_NODE, NODE]) {
    if (await hasImage(docker, name)) return name;
  }
  if (await pull(docker, NODE)) return NODE;
  const context = mkdtempSync(join(tmpdir(), 'compute-step-node-'));
  try {
    writeFileSync(join(context, 'Dockerfile'), OWN_DOCKERFILE);
    const args = { BASE_IMAGE: await baseImage(docker) };
    await dockerBuild(docker, { context: ['-C', context, '.'], tag: OWN_NODE, args });
    return OWN_NODE;
  } finally {
    rmSync(context, { recursive: true, force: true });
  }
}
