// Probes the health and readiness of every hub continuously, like an orchestrator.
import { setTimeout as pause } from 'node:timers/promises';
import type { Outage } from '../scenes/scene.ts';

export type Probes = {
  readonly all: readonly Probe[];
  /** Whether every gateway has been probed since then and was ready in its last probe. */
  allReadySince(start: number): boolean;
  /** Deviations from the probe results that the outage requires between these two times. */
  trouble(outage: Outage, from: number, to: number): string[];
  stop(): Promise<void>;
};

export type Probe = {
  readonly gateway: string;
  readonly path: '/healthz' | '/readyz';
  readonly status: number;
  readonly begunAt: number;
  readonly durationMs: number;
  /** The code of a problem document. Undefined for any other response. */
  readonly code: string | undefined;
  /** Undefined if the response has no such header. */
  readonly retryAfter: string | undefined;
};

const EVERY_MS = 100;
/** The time limit of a probe. Probes usually take a few seconds at most, and the hub's own limit is two. */
const MAX_MS = 5_000;

export function startProbes(gateways: () => readonly string[]): Probes {
  const probes: Probe[] = [];
  const stopping = { now: false };
  const askOn = async (path: Probe['path']): Promise<void> => {
    while (!stopping.now) {
      await pause(EVERY_MS);
      await Promise.all(
        gateways().map(async (gateway) => {
          const begunAt = performance.now();
          const answer = await fetch(`${gateway}${path}`).then(readAnswer, () => NO_ANSWER);
          probes.push({ gateway, path, begunAt, ...answer, durationMs: performance.now() - begunAt });
        }),
      );
    }
  };
  const asking = [askOn('/healthz'), askOn('/readyz')];
  return {
    all: probes,
    allReadySince(start) {
      const ready = probes.filter(({ path, begunAt }) => path === '/readyz' && begunAt > start);
      return gateways().every(
        (gateway) => ready.findLast((probe) => probe.gateway === gateway)?.status === 200,
      );
    },
    trouble(outage, from, to) {
      const slow = probes.filter(({ durationMs }) => durationMs > MAX_MS);
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

/** The result when the hub was killed. */
const NO_ANSWER = { status: 0, code: undefined, retryAfter: undefined };

async function readAnswer(response: Response): Promise<Pick<Probe, 'status' | 'code' | 'retryAfter'>> {
  const { code } = (await response.json()) as { code?: string }; // a problem document, or {"ok":true}
  return { status: response.status, code, retryAfter: response.headers.get('retry-after') ?? undefined };
}
