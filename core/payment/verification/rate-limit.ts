// How often callbacks may trigger the verification of one session: a few times at once, then at most once a
// minute.
//
// The limit is stored with the session and follows the database's clock, because the clocks of hubs may
// differ. The statement that takes the verification lease for a callback counts it.

/** Verifications without a pause: providers repeat their callbacks, and so do browsers. */
const AT_ONCE = 5;
/** Then pauses of 5, 10, 20 and 40 seconds, and 60 seconds from there on. */
const FIRST_PAUSE_MS = 5_000;
const MAX_PAUSE_MS = 60_000;
const DOUBLINGS = 4;

/** SQL: whether a callback may trigger a verification of `charge_session c` now. */
export const VERIFICATION_ALLOWED = `coalesce(c.verification_allowed_at <= now(), true)`;

/** SQL: when a callback may trigger the verification after the one that is counted now. */
const NEXT_VERIFICATION_AT = `case when c.callback_verifications + 1 >= ${AT_ONCE} then
  now() + interval '1 millisecond' * least(${MAX_PAUSE_MS},
    ${FIRST_PAUSE_MS} * power(2, least(c.callback_verifications + 1 - ${AT_ONCE}, ${DOUBLINGS}))) end`;

/** SQL: assignments that count one verification of `charge_session c` where the SQL `condition` holds. */
export function countVerification(condition = 'true'): string {
  return `callback_verifications = c.callback_verifications + (${condition})::int,
    verification_allowed_at = case when ${condition} then ${NEXT_VERIFICATION_AT}
      else c.verification_allowed_at end`;
}
