// Preloaded by threads that start from TypeScript sources. On Node 20 `--import tsx` takes effect in the main thread
// only, so a thread has to register tsx by itself. Not part of the build.
import { register } from 'tsx/esm/api';

register();
