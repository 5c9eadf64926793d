// `npm run fault`: injects faults and prints the effect on clients.
// `npm run fault -- failover|kill|pooler|soak` runs a long test.
import { runNamedProgram } from '../support/run-named-program.ts';

await runNamedProgram(
  new Map<string, () => Promise<unknown>>([
    ['', () => import('./runs/run-faults.ts')],
    ['failover', () => import('./patroni/run-failover.ts')],
    ['kill', () => import('./runs/run-kills.ts')],
    ['pooler', () => import('./runs/run-pooler.ts')],
    ['soak', () => import('./runs/run-soak.ts')],
  ]),
);
