// Limits: profiles and overrides, names, seats.
import { expect } from 'chai';
import { effectiveLimits, hasFreeSeat, isTermName } from '../../../core/license/terms.ts';

describe('effective limits', () => {
  it("are those of the profile, overridden by the license's own", () => {
    expect(effectiveLimits({ projects: 3, exports: 10 }, { exports: -1, users: 5 })).to.deep.equal({
      projects: 3,
      exports: -1,
      users: 5,
    });
  });

  it('are those of the profile without own limits', () => {
    expect(effectiveLimits({ projects: 3 }, undefined)).to.deep.equal({ projects: 3 });
  });

  it('are absent without a profile and own limits', () => {
    expect(effectiveLimits(undefined, undefined)).to.equal(undefined);
  });

  it('are empty with empty own limits and no profile', () => {
    expect(effectiveLimits(undefined, {})).to.deep.equal({});
  });

  it('can be overridden by 0', () => {
    expect(effectiveLimits({ projects: 3 }, { projects: 0 })).to.deep.equal({ projects: 0 });
  });

  it('accept names of inherited object members', () => {
    const limits = effectiveLimits({ constructor: 1 } as never, { toString: 2 } as never); // the types of Object clash
    expect(Object.entries(limits ?? {})).to.deep.equal([
      ['constructor', 1],
      ['toString', 2],
    ]);
  });
});

describe('the name of a limit', () => {
  it('is a letter, then letters, digits, dots, dashes and underscores, at most 64 in all', () => {
    for (const name of ['a', 'Projects', 'max-users', 'export.pdf_v2', 'constructor', 'x'.repeat(64)]) {
      expect(isTermName(name), name).to.equal(true);
    }
  });

  it('is not special to JSON parsers, empty, too long or outside ASCII', () => {
    for (const name of ['', '9', '10', '__proto__', '-a', 'a b', 'a\n', 'größe', 'x'.repeat(65)]) {
      expect(isTermName(name), JSON.stringify(name)).to.equal(false);
    }
  });
});

describe('a free seat', () => {
  it('exists while fewer seats are used than allowed', () => {
    expect(hasFreeSeat({ limit: 3, used: 2 })).to.equal(true);
    expect(hasFreeSeat({ limit: 3, used: 3 })).to.equal(false);
    expect(hasFreeSeat({ limit: 3, used: 4 })).to.equal(false);
  });

  it('always exists if the limit is -1', () => {
    expect(hasFreeSeat({ limit: -1, used: 0 })).to.equal(true);
    expect(hasFreeSeat({ limit: -1, used: 1_000_000 })).to.equal(true);
  });

  it('never exists if the limit is 0', () => {
    expect(hasFreeSeat({ limit: 0, used: 0 })).to.equal(false);
  });
});
