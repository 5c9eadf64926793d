// The commands that a line loads.
import { expect } from 'chai';
import { Help } from 'commander';
import { COMMAND_LIST } from '../../cli/command-list.ts';
import { loadCommands } from '../../cli/load-commands.ts';
import { createProgram } from '../../cli/program.ts';

async function programFor(words?: readonly string[]) {
  return createProgram(process, await loadCommands(words)).program;
}

describe('the commands that hubctl loads', () => {
  for (const words of [[], ['-h'], ['--help'], ['--version']]) {
    it(`give the general help of all commands for ${JSON.stringify(words)}`, async () => {
      const program = await programFor(words);
      expect(program.helpInformation()).to.equal((await programFor()).helpInformation());
      expect(program.commands.flatMap((command) => command.options)).to.deep.equal([]);
    });
  }

  it('are one for a line that begins with its name', async () => {
    expect((await programFor(['license', 'list'])).commands.map((each) => each.name())).to.deep.equal([
      'license',
    ]);
  });

  it('are listed with their options and arguments', async () => {
    const { commands } = await programFor();
    const listed = Object.entries(COMMAND_LIST).map(([name, { usage }]) => `${name}${usage}`);
    expect(commands.map((command) => new Help().subcommandTerm(command))).to.deep.equal(listed);
  });
});
