import { setTimeout } from 'node:timers/promises';
import { expect } from 'chai';
import { pino } from 'pino';
import { repeatTask, repeatWhenWoken } from '../../core/repeated-task.ts';

const OPTIONS = {
  task: { succeeded() {}, failed() {} },
  logger: pino({ level: 'silent' }),
  failureMessage: 'it failed',
};
const EVERY_MS = 800;
const TASKS = 16;
/** 250 ms, and a busy machine. */
const SOON_MS = 500;
/**
 * More than the time in which the first passes start. The second passes of all tasks lie within it with a probability
 * of about 1 in 10^6.
 */
const CLOSE_MS = 270;

for (const [name, repeat] of Object.entries({ repeatTask, repeatWhenWoken })) {
  describe(`tasks of ${name} with the same interval`, () => {
    it('run soon after their start, and at different times', async () => {
      const passes = Array.from({ length: TASKS }, (): number[] => []);
      const begun = performance.now();
      const tasks = passes.map((times) =>
        repeat({
          ...OPTIONS,
          everyMs: EVERY_MS,
          async pass() {
            times.push(performance.now() - begun);
          },
        }),
      );
      await setTimeout(3 * EVERY_MS);
      await Promise.all(tasks.map((task) => task.stop()));
      for (const [first = Infinity] of passes) expect(first).to.be.below(SOON_MS);
      for (const number of [0, 1, 2]) {
        const times = passes.flatMap((each) => each[number] ?? []);
        expect(times, `pass ${number} of each task`).to.have.length(TASKS);
        if (number > 0) expect(Math.max(...times) - Math.min(...times)).to.be.above(CLOSE_MS);
      }
    });
  });
}

describe('a task of repeatWhenWoken', () => {
  it('runs again at once if it is woken during a pass', async () => {
    const passes: PromiseWithResolvers<void>[] = [];
    const task = repeatWhenWoken({
      ...OPTIONS,
      everyMs: 3_600_000,
      pass() {
        const pass = Promise.withResolvers<void>();
        passes.push(pass);
        return pass.promise;
      },
    });
    task.wake();
    await setTimeout(20);
    expect(passes).to.have.length(1);
    task.wake();
    passes[0]?.resolve();
    await setTimeout(20);
    expect(passes).to.have.length(2);
    passes[1]?.resolve();
    await task.stop();
    expect(passes).to.have.length(2);
  });
});
