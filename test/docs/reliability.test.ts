import { expect } from 'chai';
import { PATRONI_FAULTS } from '../faults/patroni/patroni-scene.ts';
import { DISK_SCENE } from '../faults/scenes/disk-scene.ts';
import { FAILOVER_SCENE } from '../faults/scenes/failover-scene.ts';
import { SERVERS_SCENE } from '../faults/scenes/servers-scene.ts';
import { readPage } from './markdown.ts';

describe('docs/reliability.md', () => {
  it('has a result for every fault of npm run fault', () => {
    const [, table = ''] = readPage('docs/reliability.md').split('<!-- faults -->');
    const faults = [...SERVERS_SCENE.faults, ...DISK_SCENE.faults, ...FAILOVER_SCENE.faults];
    const missing = faults.filter(({ what }) => !table.includes(`\n| ${what} |`));
    expect(missing.map(({ what }) => what)).to.deep.equal([]);
  });

  it('has a result for every Patroni failover, without errors', () => {
    const [, table = ''] = readPage('docs/reliability.md').split('<!-- failover -->');
    const rows = table.split('\n');
    const right = PATRONI_FAULTS.filter(({ what }) =>
      rows.some((row) => row.startsWith(`| ${what} |`) && row.endsWith('| 0 |')),
    );
    expect(right).to.deep.equal(PATRONI_FAULTS);
  });

  it('has a result of a soak test of at least five minutes, without errors', () => {
    const [, table = ''] = readPage('docs/reliability.md').split('<!-- soak -->');
    const [, minutes, late, wrong] =
      /^\| (\d+) (?:\|[^|]*){5}\| (\d+) ms \|[^|]*\| (\d+) \|$/m.exec(table) ?? [];
    expect(Number(minutes)).to.be.at.least(5);
    expect(Number(late)).to.be.below(100);
    expect(wrong).to.equal('0');
  });
});
