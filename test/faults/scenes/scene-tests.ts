// The short form of npm run fault: runs every fault of a scene briefly.
import { expect } from 'chai';
import { strike } from '../disruptions/strike.ts';
import type { Scene, Stage } from './scene.ts';

/** The duration of each fault. The long form uses HUB_TEST_FAULT_SECONDS=30. */
const FAULT_MS = 1_000 * Number(process.env['HUB_TEST_FAULT_SECONDS'] ?? 1);

export function testScene<S extends Stage>(title: string, { faults, needs, open }: Scene<S>): void {
  describe(title, function () {
    // The inner limits are those of `strike`: recovery and rest.
    this.timeout(180_000 + 2 * FAULT_MS);
    let stage: S | undefined;
    before(async function () {
      stage = await open();
      if (stage !== undefined) return;
      if (process.env['CI'] === 'true' && process.platform === 'linux')
        throw new Error(`this needs ${needs}`);
      process.stderr.write(`      pending: this needs ${needs}\n`);
      this.skip();
    });
    after(() => stage?.close());

    for (const fault of faults) {
      it(`loses nothing, applies nothing twice and recovers: ${fault.what}`, async () => {
        if (stage === undefined) throw new Error('unreachable: there is a stage, or the test is pending');
        const { trouble, refused } = await strike(stage, fault, FAULT_MS);
        expect(trouble).to.deep.equal([]);
        if (fault.outage === 'none') expect(refused, 'requests refused').to.equal(0);
      });
    }
  });
}
