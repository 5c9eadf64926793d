// What a vendor tells the client, and the mistakes in it that show at once.
import type { Clock } from './clock.ts';
import type { Machine } from './hub-calls.ts';
import { type Limits, readLimits } from './limits.ts';
import type { LicenseStore } from './store.ts';
import type { Trust } from './trust.ts';

export type LicenseClientOptions = {
  /** Address of the hub: https, or http on this machine. A path is kept, and `v1/…` comes after it. */
  readonly hubUrl: string | URL;
  /** Slug of the app. A license for another one is none. */
  readonly app: string;
  /** The keys that verify licenses, built into the application. */
  readonly trust: Trust;
  /** What tells this machine from others, the same at each start: 1 to 256 printable characters. */
  readonly machineFingerprint: string;
  readonly store: LicenseStore;
  /** The limits of a client without a license, until the hub has told its own. A name that is missing is unlimited. */
  readonly freeLimits: Limits;
  /** Name of the machine for people. What the hub would refuse in it is left out. */
  readonly machineLabel?: string;
  /** Dotted numeric, such as 2.14.0. */
  readonly appVersion?: string;
  /**
   * Whether the license key is kept in the record: needed to renew a lease, to take up changed terms and to release
   * the seat without asking the customer for it. Default: true.
   */
  readonly keepLicenseKey?: boolean;
  /** How far the machine's clock may be behind the last known time. Default: a day, as wrong time zones make it. */
  readonly clockToleranceMs?: number;
  /** For a whole request. Default: 10000. */
  readonly timeoutMs?: number;
  /** Allows http to other machines, which gives license keys to everybody on the way. Default: false. */
  readonly allowHttp?: boolean;
  /** Told of errors that have nobody to be thrown at: a listener that threw. Default: the console. */
  readonly onError?: (error: unknown) => void;
  readonly fetch?: typeof fetch;
  readonly clock?: Clock;
  /** Like Math.random. */
  readonly random?: () => number;
};

const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

/** With a slash at its end. @throws TypeError that says what to change */
export function hubAddress({ hubUrl, allowHttp = false }: LicenseClientOptions): URL {
  const url = URL.canParse(String(hubUrl)) ? new URL(String(hubUrl)) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('hubUrl: give the address of the hub, such as https://licenses.example.com');
  }
  if (url.protocol === 'http:' && !allowHttp && !LOOPBACK.test(url.hostname)) {
    throw new TypeError('hubUrl: use https, or set allowHttp if nobody else is on the way to the hub');
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw new TypeError('hubUrl: leave out the user, the query and the fragment');
  }
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url;
}

/** Control characters, line separators and text-direction marks, which the hub refuses. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;
const MAX_LABEL = 128;

/** @throws TypeError that says what to change */
export function machineOf({ machineFingerprint, machineLabel, appVersion }: LicenseClientOptions): Machine {
  const length = [...machineFingerprint].length;
  const isPrintable = machineFingerprint.isWellFormed() && machineFingerprint.search(UNPRINTABLE) === -1;
  if (length < 1 || length > 256 || !isPrintable) {
    throw new TypeError('machineFingerprint: give 1 to 256 printable characters');
  }
  if (appVersion !== undefined && !/^(?=.{1,32}$)\d+(\.\d+)*$/.test(appVersion)) {
    throw new TypeError('appVersion: give a dotted numeric version such as 2.14.0, without a suffix');
  }
  // The name of a customer's machine must not keep the application from starting.
  const label = [...(machineLabel ?? '').toWellFormed().replace(UNPRINTABLE, '')]
    .slice(0, MAX_LABEL)
    .join('');
  return {
    machineFingerprint,
    ...(label !== '' && { machineLabel: label }),
    ...(appVersion !== undefined && { appVersion }),
  };
}

/** @throws TypeError that says what to change */
export function checkedApp(app: string): string {
  if (/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(app)) return app;
  throw new TypeError('app: give the slug of the app: lower-case letters, digits and inner dashes');
}

/** @throws TypeError that says what to change */
export function checkedFreeLimits(freeLimits: Limits): Limits {
  const limits = readLimits(freeLimits);
  if (limits !== undefined) return limits;
  throw new TypeError('freeLimits: give whole numbers by name, -1 for unlimited');
}
