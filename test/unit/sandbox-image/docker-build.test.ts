import { once } from 'node:events';
import type { Readable } from 'node:stream';
import type Docker from 'dockerode';
import { describe, expect, test } from 'vitest';
import { dockerBuild } from '../../../sandbox-image/docker-build.ts';

/** An engine that builds whatever it is sent. */
function engine(): { docker: Docker; built: string[] } {
  const built: string[] = [];
  const docker = {
    buildImage: async (context: Readable, { t }: { t: string }) => {
      context.resume();
      await once(context, 'close');
      return t;
    },
    modem: {
      followProgress: (tag: string, done: (error: Error | null) => void) => {
        built.push(tag);
        done(null);
      },
    },
  };
  return { docker: docker as unknown as Docker, built };
}

const build = (folder: string) => ({ context: ['-C', folder, '.'], tag: 'x:1', args: {} });

describe('building an image', () => {
  test('sends the context, packed', async () => {
    const { docker, built } = engine();
    await dockerBuild(docker, build('sandbox-image'));
    expect(built).toEqual(['x:1']);
  });

  test('fails where the context cannot be packed, whatever the engine makes of the half of it', async () => {
    await expect(dockerBuild(engine().docker, build('/no/such/folder'))).rejects.toThrow('tar ended with 2');
  });

  test('says that there is no tar', async () => {
    const { PATH } = process.env;
    process.env.PATH = '';
    try {
      await expect(dockerBuild(engine().docker, build('sandbox-image'))).rejects.toThrow('tar cannot be run');
    } finally {
      process.env.PATH = PATH;
    }
  });
});
