// hubctl completion: the script that makes a shell complete hubctl's words.
import { Argument, type Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../completion-scripts.ts';
import { usageError } from '../failure.ts';
import { addVerb } from '../manual.ts';
import type { Tools } from '../tools.ts';

export function registerCompletion(program: Command, { out }: Tools): void {
  addVerb(program, 'completion', {
    group: 'hubctl itself:',
    summary: 'print a completion script',
    description:
      'Prints a script that completes commands, options and their values in a shell. Names and ids it asks the hub for; if none answers within a second, it offers none.',
    examples: [
      'hubctl completion bash > ~/.local/share/bash-completion/completions/hubctl',
      'hubctl completion zsh > ~/.zfunc/_hubctl',
      'hubctl completion fish > ~/.config/fish/completions/hubctl.fish',
      'source <(hubctl completion bash)',
    ],
    prints: { other: 'A script for the shell. With `--output json` the command is refused.' },
  })
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action(async (shell: Shell) => {
      if (out.json()) throw usageError('--output: a completion script is no JSON.');
      const [, program = 'hubctl'] = process.argv;
      await out.text(completionScript(shell, program));
    });
}
