// Options of a license client.
import type { Clock } from './clock.ts';
import type { Fetch } from './hub/fetch.ts';
import type { Limits } from './license/limits.ts';
import type { Trust } from './license/trust-option.ts';
import type { LicenseStore } from './state/store.ts';

/** Durations are in milliseconds, and their names end in `Ms`. */
export type LicenseClientOptions = {
  /** URL of the hub: https, or http on this machine. `v1/…` is appended to its path. */
  readonly hubUrl: string | { readonly href: string };
  /** Slug of the app: 1 to 63 characters. Licenses for other apps are rejected. */
  readonly app: string;
  /** Public keys compiled into the application: at least one. The client trusts no other key. */
  readonly trust: Trust;
  /** Identifies this machine, and is the same at each start: 1 to 256 printable characters. */
  readonly machineFingerprint: string;
  /** Stores the license between runs, for example `createFileStore(path)`. */
  readonly store: LicenseStore;
  /**
   * Limits without a license: integers by name, -1 for unlimited. The hub's Free profile, which is not signed,
   * overrides them name by name while the application runs. A limit that neither names is unlimited.
   */
  readonly freeLimits: Limits;
  /**
   * Display name of the machine. Unprintable characters, and all after the 128th, are removed. Default: none.
   */
  readonly machineLabel?: string | undefined;
  /** Dotted numeric version, such as `2.14.0`, at most 32 characters. Default: none. */
  readonly appVersion?: string | undefined;
  /**
   * Whether to store the license key. It is needed to renew a lease, to apply changed terms and to release the seat
   * without asking the customer for it. Default: true.
   */
  readonly keepLicenseKey?: boolean | undefined;
  /**
   * Soft-check interval in milliseconds, an integer from 60000 (1 minute) to 2592000000 (30 days). Default: the
   * interval that the hub requests (`recheckAfterSeconds`, 1 day).
   */
  readonly softCheckIntervalMs?: number | undefined;
  /**
   * How far the machine's clock may be behind the last known time, in milliseconds, 0 or more. Default: 86400000
   * (1 day), so that a wrong time zone does not lock users out.
   */
  readonly clockToleranceMs?: number | undefined;
  /** Timeout of a whole request in milliseconds, an integer from 1 to 2147483647. Default: 10000 (10 seconds). */
  readonly timeoutMs?: number | undefined;
  /** Allows http to other machines. It exposes license keys to the network. Default: false. */
  readonly allowHttp?: boolean | undefined;
  /** Receives errors that reach no caller, such as those of a listener that threw. Default: `console.error`. */
  readonly onError?: ((error: unknown) => void) | undefined;
  /** Sends the requests. Default: the platform's `fetch`. */
  readonly fetch?: Fetch | undefined;
  /** Time in milliseconds, and timers; for tests. Default: the machine's clock. */
  readonly clock?: Clock | undefined;
  /** Returns a number from 0 to below 1, the jitter of retries; for tests. Default: `Math.random`. */
  readonly random?: (() => number) | undefined;
};
