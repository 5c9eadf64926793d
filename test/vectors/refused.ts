// Licenses that are genuine, but not for this application, this machine or this time.
import { APP, type Case, FINGERPRINT, FULL, NOW, textOf, type Verdict } from './case.ts';

const PAST = '2026-06-01T11:59:59.999Z';
const LONG_PAST = '2026-05-01T00:00:00.000Z';

export const REFUSED: readonly Case[] = [
  refused('app-wrong', 'for another app', 'wrong_app', { app: 'paintbox' }),
  refused('app-case', 'for an app whose name has capitals', 'wrong_app', { app: 'Photo-Lab' }),
  refused('app-longer', 'for an app whose name begins alike', 'wrong_app', { app: `${APP}-2` }),
  refused('app-number', 'the app is a number', 'wrong_app', { app: 1 }),
  { ...refused('app-own', 'the verifier is another app', 'wrong_app'), app: 'paintbox' },

  refused('machine-wrong', 'for another machine', 'wrong_machine', { machineFingerprint: 'another machine' }),
  refused('machine-case', 'the fingerprint in capitals', 'wrong_machine', {
    machineFingerprint: FINGERPRINT.toUpperCase(),
  }),
  refused('machine-space', 'a space after the fingerprint', 'wrong_machine', {
    machineFingerprint: `${FINGERPRINT} `,
  }),
  refused('machine-empty', 'an empty fingerprint', 'wrong_machine', { machineFingerprint: '' }),
  refused('machine-object', 'the fingerprint is an object', 'wrong_machine', { machineFingerprint: {} }),
  {
    ...refused('machine-own', 'the verifier is on another machine', 'wrong_machine'),
    fingerprint: 'another machine',
  },
  {
    ...refused('machine-unicode', 'the same text in another form of Unicode', 'wrong_machine', {
      machineFingerprint: 'pc-e\u0301',
    }),
    fingerprint: 'pc-\u00e9',
  },
  {
    ...refused('machine-invisible', 'a character more that nobody sees', 'wrong_machine', {
      machineFingerprint: 'pc\u200d',
    }),
    fingerprint: 'pc',
  },
  {
    ...refused('app-and-machine', 'for another app and another machine', 'wrong_app', { app: 'paintbox' }),
    fingerprint: 'another machine',
  },

  refused('expired', 'the expiry has passed', 'expired', { expiresAt: PAST, graceEndsAt: PAST }),
  refused('expired-now', 'the expiry is now', 'expired', { expiresAt: NOW, graceEndsAt: NOW }),
  refused('expired-long-ago', 'the expiry is from another century', 'expired', {
    expiresAt: '1999-12-31T23:59:59.999Z',
    graceEndsAt: '1999-12-31T23:59:59.999Z',
  }),
  refused('expired-without-grace', 'the expiry has passed, and there is no grace', 'expired', {
    expiresAt: PAST,
    graceEndsAt: undefined,
  }),
  refused('expired-grace-ended', 'the grace has ended', 'expired', {
    expiresAt: LONG_PAST,
    graceEndsAt: PAST,
  }),
  refused('expired-grace-ends-now', 'the grace ends now', 'expired', {
    expiresAt: LONG_PAST,
    graceEndsAt: NOW,
  }),
  refused('expired-and-lease-over', 'expiry and lease have passed', 'expired', {
    expiresAt: PAST,
    graceEndsAt: PAST,
    leaseExpiresAt: PAST,
  }),
  refused('lease-over-in-grace', 'the lease has passed, and the grace has not ended', 'lease_over', {
    expiresAt: PAST,
    graceEndsAt: '2026-06-08T11:59:59.999Z',
    leaseExpiresAt: PAST,
  }),
  refused('lease-over', 'the lease has passed', 'lease_over', { leaseExpiresAt: PAST }),
  refused('lease-over-now', 'the lease ends now', 'lease_over', { leaseExpiresAt: NOW }),
  {
    ...refused('clock-set-back', 'the clock says less than it has said before', 'clock_set_back'),
    lastSeen: '2026-06-01T12:00:00.001Z',
  },
  {
    ...refused('clock-set-back-far', 'the clock was set back to before an expiry', 'clock_set_back', {
      expiresAt: '2026-07-01T00:00:00.000Z',
    }),
    lastSeen: '2026-08-01T00:00:00.000Z',
  },
  {
    ...refused(
      'clock-set-back-and-expired',
      'the clock was set back, and the license has expired',
      'clock_set_back',
      {
        expiresAt: PAST,
      },
    ),
    lastSeen: '2026-08-01T00:00:00.000Z',
  },
];

function refused(name: string, about: string, expected: Verdict, members: object = {}): Case {
  return { name, about, expected, license: textOf({ ...FULL, ...members }) };
}
