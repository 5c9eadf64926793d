// `npm run bench`: compares the hub with a peer. `npm run bench -- against|batching|bulk|events|scale|seats|start|tail|workers`
// runs another benchmark.
import { runNamedProgram } from '../support/run-named-program.ts';

await runNamedProgram(
  new Map<string, () => Promise<unknown>>([
    ['', () => import('./compare.ts')],
    ['against', () => import('./against/bench-against.ts')],
    ['batching', () => import('./batching/bench-batching.ts')],
    ['bulk', () => import('./bulk/bench-bulk.ts')],
    ['events', () => import('./events/bench-events.ts')],
    ['scale', () => import('./scale/bench-scale.ts')],
    ['seats', () => import('./seats/bench-seats.ts')],
    ['start', () => import('./start/bench-start.ts')],
    ['tail', () => import('./tail/bench-tail.ts')],
    ['workers', () => import('./workers/bench-workers.ts')],
  ]),
);
