import closeWithGrace from 'close-with-grace';
import { type Command, helpOf } from './command.ts';
import { startModelCommand } from './start-model.ts';
import { refuse, say } from './terminal.ts';

export const model: Command = {
  name: 'model',
  summary: ['a scripted model webhook, for tests of a plan without a model'],
  options: [
    ['--script <file>', 'what it answers (docs/scripted-model.md)'],
    ['--port <n>', '0, the default, takes a free one; --host is 127.0.0.1 by default'],
    ['--signing-secret-file <file>', 'refuses requests that are not signed with the secret in it'],
    ['--record <file>', 'writes every request there, one JSON line each'],
  ],
  run: async (args) => {
    const scripted = await startModelCommand(args);
    if ('faults' in scripted) {
      return refuse([...scripted.faults, '', helpOf(model)]);
    }
    closeWithGrace({ delay: 5000 }, () => scripted.close());
    // On every address: which of them the service will name is not known here.
    const allowed = scripted.hostPort.replace(
      /^(?:0\.0\.0\.0|\[::\]):/,
      '<address or name of this machine>:',
    );
    say(`listening ${scripted.url}\nThe service reaches it with MODEL_ALLOWED_HOSTS=${allowed}`);
  },
};
