// hubctl completion: the script that makes a shell complete hubctl's words.
import { Argument, type Command } from 'commander';
import { completionScript } from '../completion-scripts.ts';
import type { Context } from '../context.ts';

const HELP = `
Examples:
  hubctl completion bash > ~/.local/share/bash-completion/completions/hubctl
  hubctl completion zsh > "\${fpath[1]}/_hubctl"
  source <(hubctl completion bash)`;

export function registerCompletion(program: Command, { streams }: Context): void {
  program
    .command('completion')
    .summary('print a completion script')
    .description('Prints a script that completes commands, options and their values in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh']))
    .addHelpText('after', HELP)
    .action((shell: 'bash' | 'zsh') => {
      const [, program = 'hubctl'] = process.argv;
      streams.stdout.write(completionScript(shell, program));
    });
}
