// Faults of a hub.
import { setTimeout as pause } from 'node:timers/promises';
import type { Fault, Stage } from '../scenes/scene.ts';

export const HUB_KILLED: Fault<Stage> = {
  name: 'hub-kill',
  what: '`kill -9` of one hub of two, then of the other, again and again',
  outage: 'hub',
  async strike({ cluster }, ms) {
    const end = performance.now() + ms;
    let victim = 0;
    do {
      await cluster.replace(victim++ % 2);
      await pause(Math.min(ms, 500));
    } while (performance.now() < end);
  },
};
