// docs/simulator.md: its tables are the simulator's own, and its command works.
import { expect } from 'chai';
import { COMMANDS } from '../../cli/simulator/control-api.ts';
import { FAULT_KINDS, POSSIBLE } from '../../cli/simulator/faults.ts';
import { codeRows, fencedBlocks, readPage } from './markdown.ts';
import { onDemo, steps } from './run-doc-commands.ts';

const PAGE = readPage('docs/simulator.md');
const [, commands = '', faults = ''] = PAGE.split(/^## /m);

describe('docs/simulator.md', () => {
  it('lists every command of the control interface', () => {
    expect(codeRows(commands)).to.deep.equal(
      [...COMMANDS].map(([name, { takes, does }]) => [name, takes === '' ? '' : `\`${takes}\``, does]),
    );
  });

  it('lists every fault with its operations', () => {
    const rows = codeRows(faults);
    const operations = Object.entries(POSSIBLE).map(([name, kinds]) => [name, kinds.join(', ')]);
    expect(rows.slice(0, operations.length)).to.deep.equal(operations);
    expect(rows.slice(operations.length).map(([kind]) => kind)).to.deep.equal(FAULT_KINDS);
  });

  it('shows a command that works with the demo', async () => {
    const [step] = fencedBlocks(PAGE, 'console').flatMap(steps);
    const [outcome] = await onDemo([step?.command ?? '']);
    expect(outcome).to.deep.include({ output: step?.output.trim(), code: 0 });
  });
});
