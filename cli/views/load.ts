// What a hub is at, as hubctl top prints it.
import { boolean, integer, list, map, number, object, optional, text, time } from '../shapes.ts';

const perSecond = (what: string) => number(`${what} a second`);
const ms = (what: string) => optional(number(`${what}, in milliseconds; missing if there was none`));
/** What is read from the database is missing while that does not answer. */
const depth = (what: string) => optional(integer(`${what}; 10000: so many or more`));

const REQUESTS = object('RequestLoad', {
  name: text('route of the public gateway (`/v1/activate`), or service and method of the internal port'),
  perSecond: perSecond('requests'),
  errorsPerSecond: perSecond(
    'requests that the hub failed: status 5xx, or one of the codes that mean the same',
  ),
  p50Ms: ms('what half of them took at most'),
  p99Ms: ms('what 99 of 100 took at most'),
});
const PROVIDER = object('ProviderLoad', {
  slot: text(),
  questionsPerSecond: perSecond('questions whether a session is paid'),
  failuresPerSecond: perSecond('questions that were not answered'),
  p50Ms: ms('what half of the answers took at most'),
  p99Ms: ms('what 99 of 100 took at most'),
  underWay: integer('questions under way'),
  waiting: integer('questions that wait for those'),
  sweepOverdueSeconds: optional(number('for how long the sweep has been late')),
});

export const LOAD = object('Load', {
  at: time(),
  seconds: number('the time over which rates and latencies are taken'),
  version: text('of the hub'),
  requests: list(REQUESTS, 'the most frequent first'),
  callbacks: object('CallbackLoad', {
    perSecond: perSecond('callbacks journaled'),
    settledPerSecond: perSecond('callbacks settled'),
    waiting: depth('that wait for their provider'),
    oldestWaitingSeconds: optional(number('age of the oldest of them')),
    stray: depth('that nobody has dealt with'),
    dead: depth('that were given up'),
  }),
  sessions: object('SessionLoad', {
    createdPerSecond: perSecond('charge sessions created'),
    paidPerSecond: perSecond('charge sessions that became a success'),
    pending: depth('that are pending'),
  }),
  providers: list(PROVIDER),
  licenses: object('LicenseLoad', {
    activationsPerSecond: perSecond('activations granted'),
    seatsTakenPerSecond: perSecond('seats taken'),
    seatsReleasedPerSecond: perSecond('seats released'),
    seatsActive: optional(integer('seats taken just now')),
  }),
  refusedPerSecond: map(
    number(),
    'requests and connections that were refused, a second, by the limit that was used up',
  ),
  database: object('DatabaseLoad', {
    up: boolean('whether it answers the hub'),
    connections: integer('connections that are busy'),
    limit: integer('connections there may be'),
    waiting: integer('requests that wait for one'),
  }),
  process: object('ProcessLoad', {
    workers: integer('processes that serve'),
    cpu: number('processors in use'),
    memoryBytes: integer('resident memory'),
    eventLoopP99Ms: ms('how late the event loop was, of 99 of 100 looks'),
  }),
});
