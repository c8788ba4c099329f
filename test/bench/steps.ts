import { Agent, request } from 'node:http';
import type { BuiltService } from '../fakes/running-service.ts';

/**
 * Posts bodies to `/v1/compute/run` over one kept connection, by node's own client: a heavier one would be measured with
 * the service. Throws where the answer is another than expected.
 */
export function stepsOf(built: BuiltService, expected: 200 | 503 = 200): (body: Buffer) => Promise<void> {
  const agent = new Agent({ keepAlive: true });
  const url = new URL('/v1/compute/run', built.service.api);
  return (body) =>
    new Promise((resolve, reject) => {
      const headers = {
        authorization: `Bearer ${built.key}`,
        'content-type': 'application/json',
        'content-length': body.byteLength,
      };
      const sent = request(url, { agent, method: 'POST', headers }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('error', reject);
        answer.on('end', () => {
          const text = Buffer.concat(pieces).toString();
          const fits = expected === 503 || text.includes('"state":"succeeded"');
          if (answer.statusCode === expected && fits) resolve();
          else reject(new Error(`${answer.statusCode} ${text.slice(0, 300)}`));
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
}
