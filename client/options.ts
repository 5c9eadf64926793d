// The options of a license client.
import type { Clock } from './clock.ts';
import type { Fetch } from './fetch.ts';
import type { Limits } from './limits.ts';
import type { LicenseStore } from './store.ts';
import type { Trust } from './trust.ts';

/** Durations are in milliseconds; each name that ends in `Ms` says so. */
export type LicenseClientOptions = {
  /** URL of the hub: https, or http on this machine. A path is kept, and `v1/…` comes after it. */
  readonly hubUrl: string | { readonly href: string };
  /** Slug of the app: 1 to 63 characters. A license for another app does not count. */
  readonly app: string;
  /** The keys that verify licenses, built into the application: at least one. */
  readonly trust: Trust;
  /** Tells this machine from others, and is the same at each start: 1 to 256 printable characters. */
  readonly machineFingerprint: string;
  /** Keeps the license between two runs, such as `createFileStore(path)`. */
  readonly store: LicenseStore;
  /**
   * The limits of a client without a license: whole numbers by name, -1 for unlimited. The hub's Free profile overrides
   * them name by name for as long as the application runs; it is not signed. A name that is in neither is unlimited.
   */
  readonly freeLimits: Limits;
  /**
   * Name of the machine for people, at most 128 characters. Unprintable characters, and all beyond the 128th, are left
   * out. Default: none.
   */
  readonly machineLabel?: string | undefined;
  /** Dotted numeric, such as `2.14.0`, at most 32 characters. Default: none. */
  readonly appVersion?: string | undefined;
  /**
   * Whether the record keeps the license key: needed to renew a lease, to take up changed terms and to release the seat
   * without asking the customer for it. Default: true.
   */
  readonly keepLicenseKey?: boolean | undefined;
  /**
   * Time between two soft checks of a license, in whole milliseconds: 60000 (a minute) to 2592000000 (30 days). It
   * replaces the interval that the hub asks for. Default: that interval (`recheckAfterSeconds`), which is a day.
   */
  readonly softCheckIntervalMs?: number | undefined;
  /**
   * How far the machine's clock may be behind the last known time, in milliseconds, 0 or more. Default: 86400000 (a
   * day), because a wrong time zone must not lock anybody out.
   */
  readonly clockToleranceMs?: number | undefined;
  /** Time for each request as a whole, in whole milliseconds: 1 to 2147483647. Default: 10000 (10 seconds). */
  readonly timeoutMs?: number | undefined;
  /** Allows http to other machines, which shows license keys to everybody on the way. Default: false. */
  readonly allowHttp?: boolean | undefined;
  /** Gets the errors that no caller gets, such as those of a listener that threw. Default: `console.error`. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Sends the requests. Default: `fetch` of the platform. */
  readonly fetch?: Fetch | undefined;
  /** The time, in milliseconds, and timers: for tests. Default: those of the machine. */
  readonly clock?: Clock | undefined;
  /** A number from 0 up to and without 1, which shortens the pauses between retries: for tests. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
};
