// The status machine as a table: every state, every event, and the result.
import { expect } from 'chai';
import {
  MAX_CLAIMS,
  nextState,
  type SessionState,
  type StatusEvent,
} from '../../../../core/payment/settlement/decide.ts';

const EVENTS = [
  'claimed_failed',
  'claimed_cancelled',
  'paid',
  'failed',
  'cancelled',
  'reversed',
  'checkout_made',
  'checkout_refused',
] as const satisfies StatusEvent[];

/** `status!`: verified. The rows are states, the columns the events above; `·`: no change. */
const TABLE: Readonly<Record<string, string>> = {
  pending: '   failed cancelled success! failed! cancelled! cancelled! ·       failed!',
  failed: '    ·      cancelled success! failed! cancelled! cancelled! pending failed!',
  cancelled: ' failed ·         success! failed! cancelled! cancelled! pending failed!',
  'failed!': ' ·      ·         success! ·       cancelled! cancelled! pending ·',
  'cancelled!': '·    ·         success! failed! ·          ·          ·       ·',
  'success!': '·      ·         ·        ·       ·          cancelled! ·       ·',
};

describe('the status machine of a charge session', () => {
  for (const [name, row] of Object.entries(TABLE)) {
    const state = { ...readState(name), claims: 0 };
    const cells = row.trim().split(/ +/);
    EVENTS.forEach((event, index) => {
      const cell = cells[index] ?? expect.fail(`no cell for ${event}`);
      it(`${cell === '·' ? 'leaves' : 'takes'} ${name} upon ${event} ${cell === '·' ? 'as it is' : `to ${cell}`}`, () => {
        const next = nextState(state, event);
        if (cell === '·') expect(next).to.equal(state);
        else expect(next).to.deep.include(readState(cell));
      });
    });
  }

  it('keeps a success that an older hub did not mark as verified', () => {
    const state: SessionState = { status: 'success', verified: false, claims: 0 };
    expect(nextState(state, 'claimed_failed')).to.equal(state);
    expect(nextState(state, 'claimed_cancelled')).to.equal(state);
  });

  it('lets claims change a status a few times, then only the provider', () => {
    const claims = ['claimed_failed', 'claimed_cancelled'] as const;
    let state: SessionState = { status: 'pending', verified: false, claims: 0 };
    const statuses = Array.from({ length: 100 }, (_, index) => {
      state = nextState(state, claims[index % 2] ?? 'claimed_failed');
      return state.status;
    });
    expect(statuses.slice(0, 4)).to.deep.equal(['failed', 'cancelled', 'failed', 'cancelled']);
    expect(new Set(statuses.slice(MAX_CLAIMS - 1))).to.have.property('size', 1);
    expect(state.claims).to.equal(MAX_CLAIMS);
    expect(nextState(state, 'cancelled')).to.include({ status: 'cancelled', verified: true });
    expect(nextState(state, 'paid')).to.include({ status: 'success', verified: true });
  });
});

function readState(name: string): Omit<SessionState, 'claims'> {
  const statuses = ['pending', 'success', 'failed', 'cancelled'] as const;
  const status = statuses.find((each) => name.replace('!', '') === each) ?? expect.fail(`no status ${name}`);
  return { status, verified: name.endsWith('!') };
}
