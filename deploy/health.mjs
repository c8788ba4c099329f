// The image's health check: 0 where the service, or with `sandboxd` as argument that daemon, answers at all. Whether
// it can work is /readyz, which a check that restarts a container must not ask: a restart mends no ledger. With
// `ready` as argument it is asked, for a check that only shows.
import { connect } from 'node:net';
import { encodeFrame, TAG } from './dist/sandbox/wire.js';

const WAIT_MS = 4000;
const [what = 'alive'] = process.argv.slice(2);

const end = (ok) => process.exit(ok ? 0 : 1);
setTimeout(() => end(false), WAIT_MS);

if (what === 'sandboxd') {
  const socket = connect(process.env.SANDBOXD_SOCKET ?? '', () => {
    for (const piece of encodeFrame(TAG.readyAsk)) socket.write(piece);
  });
  socket.once('data', () => end(true)).once('error', () => end(false));
} else {
  const path = what === 'ready' ? '/readyz' : '/healthz';
  fetch(`http://127.0.0.1:${process.env.PORT || 8080}${path}`).then(
    (answer) => end(answer.ok),
    () => end(false),
  );
}
