// Whether garbage of a few MB starts a major collection after an idle time, with and without the hub's setting.
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'chai';

const MODULE = join(import.meta.dirname, '../../../cli/serve/heap-growth.ts');

/** Prints the major collections while 20 MB of garbage move to old space. */
const PROGRAM = `
  import { PerformanceObserver, constants } from 'node:perf_hooks';
  import { setImmediate, setTimeout } from 'node:timers/promises';
  import { setFlagsFromString } from 'node:v8';
  import { runInNewContext } from 'node:vm';
  import { delayMajorCollections } from ${JSON.stringify(MODULE)};
  if (process.env.DELAYED) delayMajorCollections();
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc');
  const objects = (count) => Array.from({ length: count }, (_, index) => ({ index, list: [index, index] }));
  const used = objects(400_000);
  collect({ type: 'major', flavor: 'last-resort' }); // as V8 collects in an idle time
  await setTimeout(50);
  let majors = 0;
  new PerformanceObserver((list) => {
    for (const { detail } of list.getEntries()) if (detail.kind === constants.NODE_PERFORMANCE_GC_MAJOR) majors += 1;
  }).observe({ entryTypes: ['gc'] });
  for (let turn = 0; turn < 200; turn++) {
    const garbage = objects(1_000);
    collect({ type: 'minor' });
    collect({ type: 'minor' }); // moves what is still used to old space
    await setImmediate(garbage);
  }
  await setTimeout(50);
  console.log(JSON.stringify({ majors, used: used.length }));
`;

async function majorCollections(env: NodeJS.ProcessEnv): Promise<number> {
  // The memory reducer starts a collection seconds after the last one, which a slow machine reaches.
  const options = ['--no-memory-reducer', '--input-type=module', '--eval', PROGRAM];
  const { stdout } = await promisify(execFile)(process.execPath, options, {
    env: { PATH: process.env['PATH'], ...env },
  });
  return JSON.parse(stdout).majors;
}

describe('major collections after an idle time', () => {
  it('start after a few MB of garbage by default', async () => {
    expect(await majorCollections({})).to.be.above(0);
  });

  it('do not start after 20 MB of garbage in a hub', async () => {
    expect(await majorCollections({ DELAYED: '1' })).to.equal(0);
  });
});
