// Customers who activate, release and check their machines continuously, and record every response.
import { randomBytes } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { TestLicense } from '../../support/hub/license.ts';

export type LicenseCall = 'activate' | 'deactivate' | 'status';

/** A response. Status 0: the connection was closed, and the result is unknown. */
export type LicenseAnswer = {
  readonly gateway: string;
  readonly call: LicenseCall;
  readonly status: number;
  readonly retryAfter: string | undefined;
  readonly begunAt: number;
  readonly durationMs: number;
};

/** One machine of a license, and what its owner knows about its seat. It sends one request at a time. */
export type Machine = {
  readonly license: TestLicense;
  readonly fingerprint: string;
  /** The seat of the last acknowledged activation, unless its release was acknowledged. */
  seatId: string | undefined;
  /** Seats of acknowledged activations, and of acknowledged releases. */
  readonly granted: Set<string>;
  readonly released: Set<string>;
  /** Activations without a response. Each may have taken a seat. */
  doubtfulActivations: number;
  /**
   * False after a request without a response, which may still take effect. True again after the first
   * response once the fault is over.
   */
  isSure: boolean;
};

export type LicenseLoad = {
  readonly machines: readonly Machine[];
  readonly answers: readonly LicenseAnswer[];
  /** Responses that contradict earlier ones. */
  readonly contradictions: readonly string[];
  /** Call this after the fault: a request without a response has taken effect by then, or never will. */
  trust(): void;
  /** Resolves after the last response. */
  stop(): Promise<void>;
};

export type LicenseLoadOptions = {
  readonly licenses: readonly TestLicense[];
  /** The current gateways. The customers use them in turn. */
  readonly gateways: () => readonly string[];
};

const MACHINES_PER_LICENSE = 4;
const PAUSE_MS = 60;

/** A license may have more machines than seats. Each machine's owner tries again after a refusal. */
export function startLicenseLoad({ licenses, gateways }: LicenseLoadOptions): LicenseLoad {
  const machines = licenses.flatMap((license) =>
    Array.from({ length: MACHINES_PER_LICENSE }, () => newMachine(license)),
  );
  const answers: LicenseAnswer[] = [];
  const contradictions: string[] = [];
  const stopping = { now: false };
  let trustedSince = Number.POSITIVE_INFINITY;

  const live = async (machine: Machine, turn: number): Promise<void> => {
    for (let step = turn; !stopping.now; step++) {
      await pause(PAUSE_MS);
      const all = gateways();
      const gateway = all[step % all.length];
      if (gateway === undefined) continue;
      const call = LIFE[step % LIFE.length] ?? 'status';
      const begunAt = performance.now();
      const { status, body, retryAfter } = await ask(gateway, call, machine);
      answers.push({ gateway, call, status, retryAfter, begunAt, durationMs: performance.now() - begunAt });
      const wrong = note(machine, call, status, body);
      if (call !== 'status' && status === 200 && begunAt > trustedSince) machine.isSure = true;
      if (wrong !== undefined) contradictions.push(`${call} of ${machine.fingerprint}: ${wrong}`);
    }
  };
  const lives = machines.map(live);
  return {
    machines,
    answers,
    contradictions,
    trust() {
      trustedSince = performance.now();
    },
    async stop() {
      stopping.now = true;
      await Promise.all(lives);
    },
  };
}

const LIFE: readonly LicenseCall[] = ['activate', 'status', 'activate', 'status', 'deactivate', 'status'];

function newMachine(license: TestLicense): Machine {
  return {
    license,
    fingerprint: `machine-${randomBytes(6).toString('hex')}`,
    seatId: undefined,
    granted: new Set(),
    released: new Set(),
    doubtfulActivations: 0,
    isSure: true,
  };
}

type Body = { readonly license?: { readonly seatId: string }; readonly released?: boolean };

async function ask(gateway: string, call: LicenseCall, { license, fingerprint }: Machine) {
  const { licenseKey, licenseId } = license;
  const request =
    call === 'status'
      ? fetch(`${gateway}/v1/status/${licenseId}?fp=${fingerprint}`)
      : fetch(`${gateway}/v1/${call}`, {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ licenseKey, machineFingerprint: fingerprint }),
        });
  try {
    const response = await request;
    const body = (await response.json()) as Body; // the test reads only these members
    return { status: response.status, body, retryAfter: response.headers.get('retry-after') ?? undefined };
  } catch {
    return { status: 0, body: {}, retryAfter: undefined }; // the hub was killed
  }
}

/** Records a response, and returns its error code, if any. */
function note(machine: Machine, call: LicenseCall, status: number, body: Body): string | undefined {
  const { seatId, isSure } = machine;
  const isLost = isSure && seatId !== undefined;
  switch (call) {
    case 'activate': {
      if (status === 409) return isLost ? `lost its seat ${seatId} to others` : undefined;
      const granted = body.license?.seatId;
      if (granted === undefined) {
        machine.doubtfulActivations += 1;
        machine.isSure = false;
        return undefined;
      }
      machine.seatId = granted;
      machine.granted.add(granted);
      if (machine.released.has(granted)) return `got the released seat ${granted} again`;
      return isLost && seatId !== granted ? `got the seat ${granted} besides ${seatId}` : undefined;
    }
    case 'deactivate': {
      if (status === 404) return isLost ? `never had its seat ${seatId}` : undefined;
      if (body.released === undefined) {
        machine.isSure = false;
        return undefined;
      }
      if (seatId !== undefined) machine.released.add(seatId);
      machine.seatId = undefined;
      return isLost && !body.released ? `its seat ${seatId} was gone already` : undefined;
    }
    case 'status': {
      if (status === 403) return isLost ? `lost its seat ${seatId}` : undefined;
      const isStranger = isSure && status === 200 && seatId === undefined;
      return isStranger ? 'has a seat that was never granted, or was released' : undefined;
    }
  }
}
