// Checks the options of a client, and names the option that is invalid.
import { systemClock } from './clock.ts';
import { SOFT_CHECK_INTERVAL_MS } from './hub/check-schedule.ts';
import type { Machine } from './hub/hub-calls.ts';
import { type Limits, readLimits, UNLIMITED } from './license/limits.ts';
import { isJsonObject, isTexts, MEMBER_NAME } from './license/strict-json.ts';
import type { Trust } from './license/trust-option.ts';
import type { LicenseClientOptions } from './options.ts';

/**
 * The options with their defaults. `hubUrl` ends with a slash.
 * @throws TypeError that names the invalid option and says what it must be
 */
export function checkOptions(options: LicenseClientOptions) {
  if (!isObject(options))
    throw new TypeError('options: give an object with hubUrl, app, trust and the others');
  const { keepLicenseKey = true, allowHttp = false, clockToleranceMs = DAY_MS, timeoutMs = 10_000 } = options;
  const {
    fetch = (input, init) => globalThis.fetch(input, init),
    clock = systemClock,
    random = Math.random,
  } = options;
  // biome-ignore lint/suspicious/noConsole: unhandled errors must be visible
  const { app, trust, store, softCheckIntervalMs, onError = console.error } = options;
  assertOption(typeof allowHttp === 'boolean', 'allowHttp: give true or false');
  const hubUrl = parseHubUrl(options.hubUrl, allowHttp);
  const isSlug = isText(app) && /^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/.test(app);
  assertOption(isSlug, 'app: give the slug of the app: 1 to 63 lower-case letters, digits and inner dashes');
  checkTrust(trust);
  const machine = machineOf(options);
  assertOption(
    isObject(store) && [store.load, store.save, store.clear].every(isFunction),
    'store: give an object with load, save and clear, such as createFileStore(path)',
  );
  const freeLimits = checkedLimits(options.freeLimits);
  assertOption(typeof keepLicenseKey === 'boolean', 'keepLicenseKey: give true or false');
  const { least, most } = SOFT_CHECK_INTERVAL_MS;
  assertOption(
    softCheckIntervalMs === undefined || isWholeNumber(softCheckIntervalMs, least, most),
    `softCheckIntervalMs: give whole milliseconds, ${least} (a minute) to ${most} (30 days)`,
  );
  assertOption(
    Number.isFinite(clockToleranceMs) && clockToleranceMs >= 0,
    'clockToleranceMs: give milliseconds, 0 or more',
  );
  assertOption(
    isWholeNumber(timeoutMs, 1, MAX_TIMER_MS),
    `timeoutMs: give whole milliseconds, 1 to ${MAX_TIMER_MS}`,
  );
  assertOption(isFunction(onError), 'onError: give a function that takes an error');
  assertOption(isFunction(fetch), 'fetch: give a function like the fetch of browsers');
  assertOption(
    isObject(clock) && [clock.now, clock.monotonic, clock.timer].every(isFunction),
    'clock: give an object with now, monotonic and timer',
  );
  assertOption(isFunction(random), 'random: give a function like Math.random');
  const given = { hubUrl, app, trust, machine, store, freeLimits, keepLicenseKey };
  const durations = { softCheckIntervalMs, clockToleranceMs, timeoutMs };
  return { ...given, ...durations, onError, fetch, clock, random };
}

const DAY_MS = 24 * 60 * 60 * 1000;
/** setTimeout() treats longer delays as 1 ms. */
const MAX_TIMER_MS = 2 ** 31 - 1;
const LOOPBACK = /^(localhost|.+\.localhost|127(\.\d+){3}|\[::1\])$/;

function parseHubUrl(given: LicenseClientOptions['hubUrl'], allowHttp: boolean): string {
  const text = isObject(given) ? given.href : given;
  const url = isText(text) && URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) {
    throw new TypeError('hubUrl: give the address of the hub, such as https://licenses.example.com');
  }
  assertOption(
    url.protocol === 'https:' || allowHttp || LOOPBACK.test(url.hostname),
    'hubUrl: use https, or set allowHttp if the network to the hub is trusted',
  );
  const isBare = url.username === '' && url.password === '' && url.search === '' && url.hash === '';
  assertOption(isBare, 'hubUrl: omit the user, the query and the fragment');
  if (!url.pathname.endsWith('/')) url.pathname += '/';
  return url.href;
}

/** createTrustAnchor() checks that the keys can be read. */
function checkTrust(trust: Trust): void {
  const isNamed = isObject(trust) && (trust.publicKeyPems !== undefined || trust.thumbprints !== undefined);
  assertOption(isNamed, 'trust: give { publicKeyPems: […] }, { thumbprints: […] } or both');
  for (const name of ['publicKeyPems', 'thumbprints'] as const) {
    const keys: unknown = trust[name];
    const isGood = keys === undefined || (isTexts(keys) && keys.length > 0);
    assertOption(isGood, `trust.${name}: give an array of at least one text, or omit it`);
  }
}

/** Control characters, line separators and text-direction marks: the hub rejects them. */
const UNPRINTABLE = /[\p{Cc}\p{Zl}\p{Zp}\u202A-\u202E\u2066-\u2069]/gu;
const MAX_LABEL = 128;

function machineOf({ machineFingerprint, machineLabel = '', appVersion }: LicenseClientOptions): Machine {
  const isFingerprint =
    isText(machineFingerprint) &&
    machineFingerprint.isWellFormed() &&
    machineFingerprint.search(UNPRINTABLE) === -1 &&
    /^.{1,256}$/u.test(machineFingerprint);
  assertOption(isFingerprint, 'machineFingerprint: give 1 to 256 printable characters');
  assertOption(isText(machineLabel), 'machineLabel: give a text, such as the name of the machine');
  assertOption(
    appVersion === undefined || (isText(appVersion) && /^(?=.{1,32}$)\d+(\.\d+)*$/.test(appVersion)),
    'appVersion: give a dotted numeric version such as 2.14.0, without a suffix, of at most 32 characters',
  );
  // The name of a customer's machine must not prevent the application from starting.
  const label = [...machineLabel.toWellFormed().replace(UNPRINTABLE, '')].slice(0, MAX_LABEL).join('');
  return {
    machineFingerprint,
    ...(label !== '' && { machineLabel: label }),
    ...(appVersion !== undefined && { appVersion }),
  };
}

function checkedLimits(given: Limits): Limits {
  assertOption(isJsonObject(given), 'freeLimits: give whole numbers by name, such as { projects: 3 }');
  for (const [name, limit] of Object.entries(given)) {
    assertOption(
      MEMBER_NAME.test(name),
      `freeLimits: name limits by a letter and up to 63 letters, digits, dots, dashes and underscores, not ${JSON.stringify(name)}`,
    );
    assertOption(
      Number.isSafeInteger(limit) && limit >= UNLIMITED,
      `freeLimits.${name}: give a whole number, -1 for unlimited`,
    );
  }
  return readLimits(given) ?? given;
}

function assertOption(isGood: boolean, message: string): void {
  if (!isGood) throw new TypeError(message);
}

function isObject<T>(value: T): value is T & object {
  return typeof value === 'object' && value !== null;
}

function isText(value: unknown): value is string {
  return typeof value === 'string';
}

function isWholeNumber(value: number, least: number, most: number): boolean {
  return Number.isInteger(value) && value >= least && value <= most;
}

function isFunction(value: unknown): boolean {
  return typeof value === 'function';
}
