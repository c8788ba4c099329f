import { parentPort } from 'node:worker_threads';
import { readBody } from './body.ts';
import { type BodyJob, packBody } from './body-message.ts';

/** The thread that reads large bodies: one job at a time, one answer a job. */
parentPort?.on('message', (job: BodyJob) => {
  const read = readBody(Buffer.from(job.body), job.limits);
  if (read.kind === 'fault') {
    parentPort?.postMessage(read);
    return;
  }
  const { answer, moved } = packBody(read, job.body);
  parentPort?.postMessage(answer, moved);
});
