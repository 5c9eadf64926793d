// hubctl completion: prints a completion script for a shell.
import { Argument, type Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addCommand } from '../../command-help.ts';
import { completionScript, SHELLS, type Shell } from '../../completion/scripts.ts';
import { usageError } from '../../errors/failure.ts';

export function registerCompletion(program: Command, { out }: CommandContext): void {
  addCommand(program, 'completion', {
    description:
      'Prints a script that completes commands, options and their values in a shell. It asks the hub for names and ids, and offers none if the hub does not answer within a second.',
    examples: [
      'hubctl completion bash > ~/.local/share/bash-completion/completions/hubctl',
      'hubctl completion zsh > ~/.zfunc/_hubctl',
      'hubctl completion fish > ~/.config/fish/completions/hubctl.fish',
      'source <(hubctl completion bash)',
    ],
    prints: { other: 'A shell script. The command refuses `--output json`.' },
  })
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell) => {
      if (out.json()) throw usageError('--output: a completion script is not JSON.');
      const [, program = 'hubctl'] = process.argv;
      await out.text(completionScript(shell, program));
    });
}
