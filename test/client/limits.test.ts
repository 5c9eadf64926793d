import { expect } from 'chai';
import { hasRoom } from '../../client/client.ts';

describe('a limit', () => {
  it('of -1 is unlimited, of 0 allows nothing, and a missing one does not apply', () => {
    const limits = { projects: 2, exports: -1, users: 0, constructor: 1 };
    const rooms = [
      hasRoom(limits, 'projects', 1),
      hasRoom(limits, 'projects', 2),
      hasRoom(limits, 'projects', 3),
      hasRoom(limits, 'exports', 1_000_000),
      hasRoom(limits, 'users', 0),
      hasRoom(limits, 'constructor', 1),
      hasRoom(limits, 'toString', 1_000_000),
    ];
    expect(rooms).to.deep.equal([true, false, false, true, false, false, true]);
  });
});
