// JSON schema of a hub's load, as hubctl top prints it.
import * as json from '../schema.ts';

const perSecond = (what: string) => json.number(`${what} per second`);
const ms = (what: string) => json.optional(json.number(`${what}, in milliseconds; missing without samples`));
/** Figures from the database are missing while it is unreachable. */
const depth = (what: string) => json.optional(json.integer(`${what}; 10000 means at least 10000`));

const REQUESTS = json.object('RequestLoad', {
  name: json.text('route of the public gateway (`/v1/activate`), or service and method of the internal port'),
  perSecond: perSecond('requests'),
  errorsPerSecond: perSecond('requests that failed in the hub (status 5xx, or the equivalent codes)'),
  p50Ms: ms('median'),
  p99Ms: ms('99th percentile'),
});
const PROVIDER = json.object('ProviderLoad', {
  slot: json.text(),
  questionsPerSecond: perSecond('verifications of charge sessions'),
  failuresPerSecond: perSecond('failed verifications'),
  p50Ms: ms('median response time'),
  p99Ms: ms('99th percentile'),
  underWay: json.integer('verifications in progress'),
  waiting: json.integer('verifications waiting for their turn'),
  sweepOverdueSeconds: json.optional(json.number('delay of the sweep')),
});

export const LOAD = json.object('Load', {
  at: json.time(),
  seconds: json.number('period of the rates and latencies'),
  version: json.text('of the hub'),
  requests: json.list(REQUESTS, 'the most frequent first'),
  callbacks: json.object('CallbackLoad', {
    perSecond: perSecond('callbacks journaled'),
    settledPerSecond: perSecond('callbacks settled'),
    waiting: depth('callbacks waiting for their provider'),
    oldestWaitingSeconds: json.optional(json.number('age of the oldest of them')),
    stray: depth('stray callbacks'),
    dead: depth('dead callbacks'),
  }),
  sessions: json.object('SessionLoad', {
    createdPerSecond: perSecond('charge sessions created'),
    paidPerSecond: perSecond('charge sessions that became a success'),
    pending: depth('pending sessions'),
  }),
  providers: json.list(PROVIDER),
  licenses: json.object('LicenseLoad', {
    activationsPerSecond: perSecond('activations granted'),
    seatsTakenPerSecond: perSecond('seats taken'),
    seatsReleasedPerSecond: perSecond('seats released'),
    seatsActive: json.optional(json.integer('seats in use')),
  }),
  refusedPerSecond: json.map(json.number(), 'requests and connections refused per second, by limit'),
  database: json.object('DatabaseLoad', {
    up: json.boolean("whether it accepts the hub's credentials"),
    connections: json.integer('busy connections'),
    limit: json.integer('maximum number of connections'),
    waiting: json.integer('requests waiting for a connection'),
  }),
  process: json.object('ProcessLoad', {
    workers: json.integer('serving processes'),
    cpu: json.number('processors in use'),
    memoryBytes: json.integer('resident memory'),
    eventLoopP99Ms: ms('99th percentile of event loop delay'),
  }),
});
