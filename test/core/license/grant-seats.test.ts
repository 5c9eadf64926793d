import { expect } from 'chai';
import fc from 'fast-check';
import { HubError } from '../../../core/errors.ts';
import { grantSeats, type SeatRequest } from '../../../core/license/grant-seats.ts';

const LICENSE = '00000000-0000-7000-8000-000000000001';

function request(machine: string, more: Partial<SeatRequest> = {}): SeatRequest {
  return {
    licenseId: LICENSE,
    machineFingerprint: machine,
    machineLabel: '',
    appVersion: '',
    seatLimit: 3,
    seatId: null,
    used: 0,
    ...more,
  };
}

describe('granting seats in a batch', () => {
  it('counts what the batch itself has granted', () => {
    const { outcomes, grants } = grantSeats(
      ['a', 'b', 'c', 'd'].map((machine) => request(machine, { used: 1 })),
    );
    expect(outcomes.map((outcome) => outcome instanceof HubError)).to.deep.equal([false, false, true, true]);
    expect(outcomes[3]).to.deep.include({ code: 'seat_limit_reached', seats: { limit: 3, used: 3 } });
    expect(grants).to.have.length(2);
  });

  it('gives a machine that asks twice one seat, with the later label', () => {
    const { outcomes, grants } = grantSeats([
      request('a', { machineLabel: 'one', appVersion: '1' }),
      request('a', { machineLabel: 'two' }),
    ]);
    expect(grants).to.have.length(1);
    expect(grants[0]).to.include({ machineLabel: 'two', appVersion: '1', isNew: true });
    expect(
      new Set(outcomes.map((outcome) => (outcome instanceof HubError ? '' : outcome.seatId))),
    ).to.have.property('size', 1);
  });

  it('keeps the seat of a machine even when every seat is taken', () => {
    const { outcomes } = grantSeats([request('a', { seatId: 'known', used: 1, seatLimit: 0 })]);
    expect(outcomes[0]).to.include({ seatId: 'known', isNew: false });
  });

  it('never exceeds a limit, and refuses nobody while there is room', () => {
    const batch = fc.array(
      fc.record({ license: fc.constantFrom('l1', 'l2'), machine: fc.constantFrom('a', 'b', 'c', 'd', 'e') }),
      { maxLength: 30 },
    );
    const state = fc.record({ limit: fc.integer({ min: -1, max: 4 }), used: fc.integer({ min: 0, max: 4 }) });
    fc.assert(
      fc.property(batch, state, state, (asks, one, two) => {
        const states: Record<string, { limit: number; used: number }> = { l1: one, l2: two };
        const requests = asks.map(({ license, machine }) =>
          request(machine, {
            licenseId: license,
            seatLimit: states[license]?.limit ?? 0,
            used: states[license]?.used ?? 0,
          }),
        );
        const { outcomes, grants } = grantSeats(requests);
        for (const [license, { limit, used }] of Object.entries(states)) {
          const wanted = new Set(asks.filter((ask) => ask.license === license).map((ask) => ask.machine))
            .size;
          const granted = grants.filter((grant) => grant.licenseId === license).length;
          const room = limit === -1 ? wanted : Math.max(0, limit - used);
          expect(granted).to.equal(Math.min(wanted, room));
        }
        expect(outcomes).to.have.length(asks.length);
      }),
    );
  });
});
