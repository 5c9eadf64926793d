// Links of many audit entries at once.
import { createSecretKey } from 'node:crypto';
import { expect } from 'chai';
import { type ChainedEntry, HASHES_PER_TURN } from '../../../core/audit/chain.ts';
import { computeLinks } from '../../../core/audit/link-entries.ts';
import { newUuid } from '../../../core/ids.ts';

const KEY = { secret: createSecretKey(Buffer.alloc(32)) };
const AT = new Date('2026-11-28T00:00:00Z');
const TURNS = 10;

describe('linking many audit entries', () => {
  it('lets requests run in between', async () => {
    const entries = Array.from({ length: TURNS * HASHES_PER_TURN }, entry);
    let turns = 0;
    const countTurns = (): void => {
      turns += 1;
      next = setImmediate(countTurns);
    };
    let next = setImmediate(countTurns);
    const { head, links } = await computeLinks(entries, KEY, { seq: 7, hash: '' }, AT);
    clearImmediate(next);
    expect(turns).to.be.at.least(TURNS - 1);
    expect(links.map(({ entryId }) => entryId)).to.deep.equal(entries.map(({ id }) => id));
    expect([links[0]?.seq, head.seq]).to.deep.equal([8, 7 + entries.length]);
  });
});

function entry(): ChainedEntry {
  return {
    id: newUuid(),
    at: AT.toISOString(),
    actor: 'settlement',
    actorKind: 'hub',
    actorTokenId: null,
    actorCertificate: null,
    action: 'charge_session.settle',
    subject: 'chs_1',
    before: { status: 'pending' },
    after: { status: 'success' },
    detail: {},
    requestId: '',
  };
}
