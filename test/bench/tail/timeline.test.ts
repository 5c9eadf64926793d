import { expect } from 'chai';
import { createTimeline, type Role } from './timeline.ts';

const MAIN = 10;
const POSTGRES = 20;
const OTHER = 30;
const ROLES = new Map<number, Role>([
  [MAIN, 'main'],
  [POSTGRES, 'postgres'],
]);

/** Lines as `perf script` prints them. `at` is in microseconds. */
const switched = (cpu: number, at: number, from: number, state: string, to: number): string =>
  `[00${cpu}]     1.${`${at}`.padStart(6, '0')}: sched:sched_switch: prev_comm=a prev_pid=${from} prev_prio=120 ` +
  `prev_state=${state} ==> next_comm=b next_pid=${to} next_prio=120`;
const woken = (at: number, thread: number): string =>
  `[000]     1.${`${at}`.padStart(6, '0')}: sched:sched_waking: comm=a pid=${thread} prio=120 target_cpu=000`;

describe('the timeline of a scheduler trace', () => {
  it('divides the time of a request into phases', () => {
    const timeline = createTimeline(
      [
        switched(0, 100, 0, 'R', MAIN),
        switched(1, 100, 0, 'R', OTHER),
        woken(150, POSTGRES), // waits, because both processors are busy
        switched(0, 200, MAIN, 'S', POSTGRES),
        switched(0, 260, POSTGRES, 'D', 0),
        woken(300, POSTGRES), // runs at once, because a processor is idle
        switched(0, 310, POSTGRES, 'S', OTHER + 1),
        woken(310, MAIN), // waits for the two other programs
        switched(0, 350, OTHER + 1, 'R', MAIN),
      ].join('\n'),
      ROLES,
    );
    expect([...timeline.phasesOf(1_000_120, 1_000_370)]).to.have.deep.members([
      ['main thread runs', 80 + 20],
      ['PostgreSQL runs', 60 + 10],
      ['PostgreSQL waits for the disk', 40],
      ['main thread waits for a processor', 40],
      ['no traced thread is active', 0],
    ]);
    expect([...timeline.consumersOf(1_000_120, 1_000_370)]).to.deep.equal([['other', 80]]);
  });
});
