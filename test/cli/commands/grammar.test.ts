// The grammar of the command line: nouns and verbs, options by one name, help and examples that are right.
import { spawn } from 'node:child_process';
import type { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { expect } from 'chai';
import type { Command } from 'commander';
import { manualOf } from '../../../cli/command-help.ts';
import { pathOf } from '../../../cli/errors/explain-usage.ts';
import { loadCommands } from '../../../cli/load-commands.ts';
import { createProgram } from '../../../cli/program.ts';

/** What runs, examines or explains a program has no noun. */
const ONE_WORD = ['serve', 'demo', 'simulate', 'doctor', 'top', 'console', 'completion', 'help'];

/** Before one is added: is there none that says it, of another noun? */
const VERBS =
  'add apply archive audit backtest begin-chain check create disable enable erase export import inspect issue key list list-changes list-duplicates list-secrets list-templates list-verifications listen preview prune recheck reconcile refund reinstate rekey release remove remove-template renew replay resend resolve resolve-duplicate restore resume retire retry revoke rotate rotate-key rotate-secret seed set set-template show show-template sum suspend tail test transfer unarchive update use verify watch withdraw-key';

/** A fresh one each time: parsing leaves values behind. */
const COMMANDS = await loadCommands();
const tree = () => createProgram(process, COMMANDS).program;
const leavesOf = (command: Command): Command[] =>
  command.commands.length === 0 ? [command] : command.commands.flatMap(leavesOf);

describe('the grammar of hubctl', () => {
  const leaves = leavesOf(tree());

  it('is noun and verb, the noun in the singular', () => {
    const paths = leaves.map((leaf) => pathOf(leaf).split(' ').slice(1));
    expect(paths.filter(({ length }) => length === 1).flat()).to.have.members(ONE_WORD);
    for (const words of paths.filter(({ length }) => length !== 1)) {
      expect(words, words.join(' ')).to.have.length(2);
      expect(words[0], words.join(' ')).to.match(/^[a-z]*[^s]$/);
    }
    const verbs = new Set(paths.map(([, verb]) => verb).filter((verb) => verb !== undefined));
    expect([...verbs].sort().join(' ')).to.equal(VERBS);
  });

  it('gives an option the same form everywhere', () => {
    const forms = new Map<string, string>();
    for (const { long = '', flags } of [...leaves, tree()].flatMap(({ options }) => options)) {
      expect(flags, long).to.equal(forms.get(long) ?? flags);
      forms.set(long, flags);
    }
    expect(forms.get('--app')).to.equal('--app <app>');
  });

  it('describes every command and its required options', () => {
    for (const leaf of leaves) {
      const path = pathOf(leaf);
      expect(manualOf(leaf), path).not.to.equal(undefined);
      expect(leaf.summary(), path).to.match(/^[a-z][^.]+$/);
      expect(leaf.description(), path).to.match(/^[A-Z].*\.$/s);
      const help = leaf.helpInformation();
      const required = leaf.options.filter(({ mandatory }) => mandatory).map(({ flags }) => flags);
      for (const flags of required) {
        expect(help, path)
          .to.contain(` ${flags} `)
          .and.to.match(new RegExp(`^ +${flags} +required: `, 'm'));
      }
      expect(help.match(/ required: /g)?.length ?? 0, path).to.equal(required.length);
    }
  });

  it('has examples that a shell and hubctl parse as the documented command', async () => {
    const examples = leaves.flatMap((leaf) =>
      (manualOf(leaf)?.examples ?? []).map((line) => ({ line, command: pathOf(leaf) })),
    );
    const lines = await wordsOf(examples.map(({ line }) => line));
    expect(lines).to.have.length(examples.length);
    for (const [index, words] of lines.entries()) {
      expect(await commandOf(words), examples[index]?.line).to.equal(examples[index]?.command);
    }
  });
});

/** The words of each hubctl call as a shell parses them, written to a separate descriptor. */
async function wordsOf(lines: readonly string[]): Promise<string[][]> {
  const script = `hubctl() { printf '%s\\0' "$@" >&3; printf '\\n\\0' >&3; }\n${lines
    .map((line) => line.replace(/ > \S+$/, '')) // the file that an example writes
    .join('\n')}`;
  const shell = spawn('bash', ['-e', '-c', script], { stdio: ['ignore', 'ignore', 'inherit', 'pipe'] });
  const told = await buffer(shell.stdio[3] as Readable); // as it was asked for
  return told
    .toString()
    .split('\n\0')
    .slice(0, -1)
    .map((call) => call.split('\0').slice(0, -1));
}

/** The command that the words run, if nothing is wrong with them. */
async function commandOf(words: readonly string[]): Promise<string | undefined> {
  const program = tree();
  let run: string | undefined;
  for (const leaf of leavesOf(program)) {
    leaf.action(() => {
      run = pathOf(leaf);
    });
  }
  await program.parseAsync(words, { from: 'user' });
  return run;
}
