// Injects a fault while customers activate and pay, and reports their responses and the state of the records.
import { setTimeout as pause } from 'node:timers/promises';
import { issueLicense } from '../../support/hub/license.ts';
import { until } from '../../support/until.ts';
import { type LicenseAnswer, type LicenseLoad, startLicenseLoad } from '../load/license-load.ts';
import { seatTrouble } from '../load/license-records.ts';
import { unreconciled } from '../load/payment-fixture.ts';
import { startPaymentLoad } from '../load/payment-load.ts';
import { type Probe, type Probes, startProbes } from '../load/probes.ts';
import type { Cluster } from '../scenes/cluster.ts';
import type { Fault, Outage, Stage } from '../scenes/scene.ts';

export type StrikeResult = {
  readonly fault: string;
  readonly seconds: number;
  /** License requests: with the usual response, refused with 503, and cut off. */
  readonly served: number;
  readonly refused: number;
  readonly cutOff: number;
  /** Callbacks with a 200 response, and callbacks that the provider had to repeat. */
  readonly callbacks: number;
  readonly callbacksRefused: number;
  readonly paid: number;
  readonly slowestMs: number;
  /** From the end of the fault until all kinds of requests succeed at every hub. */
  readonly recoveryMs: number;
  /** From the last request until the hub's records agree with the responses and the provider's records. */
  readonly settledMs: number;
  /** Every response to a license request, and to a probe of a hub. */
  readonly answers: readonly LicenseAnswer[];
  readonly probes: readonly Probe[];
  /** Violations of the required behavior. */
  readonly trouble: readonly string[];
};

/** The time limit of a request: the hub's own deadline, plus an allowance for a busy machine. */
const MAX_MS = 10_000 + 4_000;
const RECOVERY_MS = 60_000;
const REST_MS = 90_000;

export async function strike<S extends Stage>(stage: S, fault: Fault<S>, ms: number): Promise<StrikeResult> {
  const { cluster } = stage;
  const licenses = await issueLicenses(cluster);
  const begun = performance.now();
  const passagesBefore = cluster.door.passages.length;
  const seats = startLicenseLoad({ licenses, gateways: cluster.gateways });
  const payments = startPaymentLoad(cluster);
  const probes = startProbes(cluster.gateways);
  try {
    await flows(cluster, seats, probes);
    const struck = performance.now();
    await fault.strike(stage, ms);
    const mended = performance.now();
    await flows(cluster, seats, probes);
    const recoveryMs = Math.round(performance.now() - mended);
    await fault.repair?.(stage);
    seats.trust();
    await flows(cluster, seats, probes);
    await Promise.all([seats.stop(), payments.stop(), probes.stop()]);
    const stopped = performance.now();
    await cluster.simulator.idle();
    const passages = cluster.door.passages.slice(passagesBefore);
    const trouble = [
      ...manners(fault.outage, seats, passages),
      ...probes.trouble(fault.outage, struck, mended),
      ...seats.contradictions,
      ...(await restingTrouble(cluster, seats)),
    ];
    const settledMs = Math.round(performance.now() - stopped);
    const { answers } = seats;
    const count = (status: number) => answers.filter((answer) => answer.status === status).length;
    const callbacks = passages.filter(({ status }) => status === 200).length;
    return {
      fault: fault.name,
      seconds: Math.round((performance.now() - begun) / 1_000),
      served: answers.length - count(503) - count(0),
      refused: count(503),
      cutOff: count(0),
      callbacks,
      callbacksRefused: passages.length - callbacks,
      paid: payments.paid(),
      // Spread arguments would exceed the limit for a call after an hour of responses.
      slowestMs: Math.round(answers.reduce((most, { durationMs }) => Math.max(most, durationMs), 0)),
      recoveryMs,
      settledMs,
      answers,
      probes: probes.all,
      trouble,
    };
  } finally {
    await Promise.allSettled([seats.stop(), payments.stop(), probes.stop()]);
  }
}

/** Licenses with fewer seats than machines, with as many, and without a limit. */
async function issueLicenses(cluster: Cluster) {
  const admin = cluster.hub(0)?.licenses;
  if (admin === undefined) throw new Error('the first hub is not there');
  return Promise.all([2, 4, -1].map((seatLimit) => issueLicense(admin, { seatLimit })));
}

/** Resolves when every kind of new request has succeeded and every hub is ready. */
async function flows({ door, deaths }: Cluster, seats: LicenseLoad, probes: Probes): Promise<void> {
  const start = performance.now();
  const passagesBefore = door.passages.length;
  const answersTo = (call: string): number[] =>
    seats.answers.filter((each) => each.begunAt > start && each.call === call).map(({ status }) => status);
  const dry = (): string[] => {
    const answers = {
      ...Object.fromEntries(['activate', 'deactivate', 'status'].map((call) => [call, answersTo(call)])),
      callback: door.passages.slice(passagesBefore).map(({ status }) => status),
    };
    return [
      ...Object.entries(answers)
        .filter(([, statuses]) => !statuses.includes(200))
        .map(([call, statuses]) => `${call} was answered ${[...new Set(statuses)].join(', ') || 'never'}`),
      ...(probes.allReadySince(start) ? [] : ['a hub is not ready']),
    ];
  };
  await until(() => dry().length === 0, 'requests of every kind succeed', RECOVERY_MS).catch((error) => {
    throw new Error([error.message, ...dry(), ...deaths].join('\n'), { cause: error });
  });
}

/** Checks the form of refusals. */
function manners(outage: Outage, { answers }: LicenseLoad, passages: Cluster['door']['passages']): string[] {
  const allowed = new Set([200, 403, 404, 409]);
  if (outage !== 'none') allowed.add(503);
  if (outage === 'hub') allowed.add(0).add(502);
  const all = [
    ...answers.map((answer) => ({ ...answer, what: answer.call as string })),
    ...passages.map((passage) => ({ ...passage, what: 'callback' })),
  ];
  return all.flatMap(({ what, status, retryAfter, durationMs }) => {
    // Without a hub, the front door itself refuses the request.
    const isPolite = status !== 503 || retryAfter !== undefined || outage === 'hub';
    return [
      ...(allowed.has(status) ? [] : [`${what} was answered ${status}`]),
      ...(isPolite ? [] : [`${what} was refused without Retry-After`]),
      ...(durationMs <= MAX_MS ? [] : [`${what} took ${Math.round(durationMs)} ms`]),
    ];
  });
}

/** The remaining errors after all work has had time to end. */
async function restingTrouble(cluster: Cluster, seats: LicenseLoad): Promise<string[]> {
  let trouble: string[] = [];
  const deadline = performance.now() + REST_MS;
  do {
    await pause(50);
    trouble = [
      ...(await seatTrouble(cluster.databaseUrl, seats.machines)),
      ...(await unreconciled(cluster)),
      ...cluster.deaths,
    ];
  } while (trouble.length > 0 && performance.now() < deadline);
  return trouble;
}
