// Asks every hub all the time whether it is up and whether it is ready, as an orchestrator does.
import { setTimeout as pause } from 'node:timers/promises';
import type { Outage } from '../scenes/scene.ts';

export type Probes = {
  readonly all: readonly Probe[];
  /** Whether every gateway was asked since then, and was ready when it was asked last. */
  allReadySince(start: number): boolean;
  /** What orchestrators should have seen between these two moments, but did not. */
  trouble(outage: Outage, from: number, to: number): string[];
  stop(): Promise<void>;
};

export type Probe = {
  readonly gateway: string;
  readonly path: '/healthz' | '/readyz';
  readonly status: number;
  readonly begunAt: number;
  readonly durationMs: number;
  /** Of a problem document; undefined where the answer is none. */
  readonly code: string | undefined;
  /** Undefined where the answer has no such header. */
  readonly retryAfter: string | undefined;
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

/** The hub was killed. */
const NO_ANSWER = { status: 0, code: undefined, retryAfter: undefined };

async function readAnswer(response: Response): Promise<Pick<Probe, 'status' | 'code' | 'retryAfter'>> {
  const { code } = (await response.json()) as { code?: string }; // a problem document, or {"ok":true}
  return { status: response.status, code, retryAfter: response.headers.get('retry-after') ?? undefined };
}
