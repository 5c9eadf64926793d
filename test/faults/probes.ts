// Asks every hub all the time whether it is up and whether it is ready, as an orchestrator does.
import { setTimeout as pause } from 'node:timers/promises';
import type { Outage } from './scene.ts';

export type Probes = {
  /** Whether every gateway was asked since then, and was ready when it was asked last. */
  allReadySince(start: number): boolean;
  /** What orchestrators should have been told between these two moments, and were not. */
  trouble(outage: Outage, from: number, to: number): string[];
  stop(): Promise<void>;
};

type Probe = {
  readonly gateway: string;
  readonly path: '/healthz' | '/readyz';
  readonly status: number;
  readonly begunAt: number;
  readonly durationMs: number;
};

const EVERY_MS = 100;
/** Probes usually wait a few seconds at most; the hub's own limit is two. */
const LONGEST_MS = 5_000;

export function startProbes(gateways: () => readonly string[]): Probes {
  const probes: Probe[] = [];
  const stopping = { now: false };
  const askOn = async (path: Probe['path']): Promise<void> => {
    while (!stopping.now) {
      await pause(EVERY_MS);
      await Promise.all(
        gateways().map(async (gateway) => {
          const begunAt = performance.now();
          const status = await fetch(`${gateway}${path}`).then(
            async (response) => {
              await response.arrayBuffer();
              return response.status;
            },
            () => 0, // the hub was killed
          );
          probes.push({ gateway, path, status, begunAt, durationMs: performance.now() - begunAt });
        }),
      );
    }
  };
  const asking = [askOn('/healthz'), askOn('/readyz')];
  return {
    allReadySince(start) {
      const ready = probes.filter(({ path, begunAt }) => path === '/readyz' && begunAt > start);
      return gateways().every(
        (gateway) => ready.findLast((probe) => probe.gateway === gateway)?.status === 200,
      );
    },
    trouble(outage, from, to) {
      const slow = probes.filter(({ durationMs }) => durationMs > LONGEST_MS);
      const down = probes.filter(({ path, status }) => path === '/healthz' && status !== 200);
      const told = probes.filter(({ path, status }) => path === '/readyz' && status !== 200);
      const during = told.filter(({ begunAt }) => begunAt >= from && begunAt <= to);
      return [
        ...(outage === 'busy' ? [] : slow).map(
          ({ path, durationMs }) => `${path} took ${Math.round(durationMs)} ms`,
        ),
        ...(outage === 'hub' ? [] : down.map(({ status }) => `/healthz was answered ${status}`)),
        ...(outage === 'none' ? told.map(({ status }) => `/readyz was answered ${status}`) : []),
        ...(outage === 'database' && during.length === 0
          ? ['/readyz never said that the hub is not ready']
          : []),
      ];
    },
    async stop() {
      stopping.now = true;
      await Promise.all(asking);
    },
  };
}
