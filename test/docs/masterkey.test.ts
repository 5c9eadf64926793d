// Rotating master keys, as the help and the docs describe it.
import { expect } from 'chai';
import { loadCommands } from '../../cli/load-commands.ts';
import { createProgram } from '../../cli/program.ts';
import { readPage } from './markdown.ts';

describe('the steps of rotating a master key', () => {
  it('make every hub able to decrypt with the new key before any hub encrypts with it', async () => {
    const help: string[] = [];
    const { program } = createProgram(process, await loadCommands());
    const rotate = program.commands
      .find((command) => command.name() === 'masterkey')
      ?.commands.find((command) => command.name() === 'rotate');
    rotate?.configureOutput({ writeOut: (text) => help.push(text) }).outputHelp();
    for (const text of [help.join(''), readPage('docs/how-to/rotate-the-master-key.md')]) {
      expect(text.replace(/\s+/g, ' ')).to.match(/last one.+first one.+masterkey rotate.+old key/);
    }
  });
});
