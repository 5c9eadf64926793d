// How many questions callbacks may make the hub ask about one session: a few at once, then one a minute at most.
//
// Kept with the session, by the database's clock: those of the hubs may differ. It is spent by whoever takes the
// session's lease for a callback (verification-lease.ts), in the same statement.

/** Without a pause: a provider repeats its callback, and the customer's browser brings it once more. */
const AT_ONCE = 5;
/** Then pauses of 5, 10, 20, 40 and, from there on, 60 seconds. */
const FIRST_PAUSE_MS = 5_000;
const LONGEST_PAUSE_MS = 60_000;
const DOUBLINGS = 4;

/** Whether a callback may cause a question about the `charge_session c` now. */
export const MAY_ASK = `(c.question_after is null or c.question_after <= now())`;

/** When the next question is allowed after one about the `charge_session c`. */
export const NEXT_QUESTION_AFTER = `case when c.callback_questions + 1 >= ${AT_ONCE} then
  now() + least(${FIRST_PAUSE_MS} * power(2, least(c.callback_questions + 1 - ${AT_ONCE}, ${DOUBLINGS})), ${LONGEST_PAUSE_MS})
    * interval '1 millisecond' end`;
