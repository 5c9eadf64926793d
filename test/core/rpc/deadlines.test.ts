// Deadlines that share a timer.
import { expect } from 'chai';
import { createDeadlines } from '../../../core/rpc/deadlines.ts';
import { until } from '../../support/until.ts';

describe('deadlines', () => {
  it('are over in the order in which they are due, but for those that were called off', async () => {
    const deadlines = createDeadlines();
    const over: string[] = [];
    const set = (ms: number, name: string) => deadlines.set(ms, () => over.push(name));
    set(60, 'late');
    set(20, 'first');
    const callOff = set(20, 'called off');
    set(20, 'second');
    callOff();
    await until(async () => over.length === 3, 'all deadlines are over');
    expect(over).to.deep.equal(['first', 'second', 'late']);
  });

  it('work again after a pause in which there were none', async () => {
    const deadlines = createDeadlines();
    for (const _ of [1, 2]) {
      await new Promise<void>((resolve) => {
        deadlines.set(5, resolve);
      });
    }
  });
});
