// The calls of docs/rpc.md, run against a demo.
import { expect } from 'chai';
import { fencedBlocks, readPage } from './markdown.ts';
import { onDemo } from './run-doc-commands.ts';

describe('docs/rpc.md', () => {
  it('shows calls that work', async () => {
    const blocks = fencedBlocks(readPage('docs/rpc.md'), 'sh').slice(0, 3); // the last installs from the registry
    const commands = blocks.flatMap((block) => block.replaceAll('\\\n', ' ').trim().split('\n'));
    expect(commands).to.have.length(8);
    const outcomes = await onDemo(['PATH=$PWD/node_modules/.bin:$PATH', ...commands]);
    expect(outcomes.map(({ output, code }) => `${code} ${code && output}`)).to.deep.equal(
      outcomes.map(() => '0 0'),
    );
    const outputs = outcomes.slice(4).map(({ output }) => output);
    const expected = [
      '"licenseKey":',
      '"licenses":',
      '"slug": "demo"',
      'hub.payment.v1.PaymentService/',
      'SERVING',
    ];
    expect(outputs).to.have.length(expected.length);
    expected.forEach((text, index) => {
      expect(outputs[index]).to.include(text);
    });
  });
});
