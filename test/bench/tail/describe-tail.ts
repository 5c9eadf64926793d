// Compares the slowest requests with the median ones, by a profile of the server's main thread or by a trace of the
// scheduler.
import { createStackOf, partOf } from '../profile/by-part.ts';
import type { CpuProfile, ProfileNode } from '../profile/cpu-profile.ts';
import type { ThreadTime } from '../sides/process-cost.ts';
import type { TimedRequest } from './observe-requests.ts';
import { add, overlaps, type Span } from './spans.ts';
import type { Timeline } from './timeline.ts';

const SLOWEST = 1 / 100;
/** The share of requests around the median, which the slowest are compared with. */
const TYPICAL = 1 / 5;
const MOST_PARTS = 20;
const MOST_FILES = 8;

/** The thread waits: for PostgreSQL, Redis, the pool of threads that signs, the network or a processor. */
const WAITING = 'waiting';

type Micros = Map<string, number>;

/** Lines of text: quantiles, and microseconds per request by part and by file of the server. */
export function describeProfile(requests: readonly TimedRequest[], profile: CpuProfile): string {
  const { quantiles, slowest, typical } = groupsOf(requests);
  const samples = timedSamples(profile);
  const [slow, usual] = [slowest, typical].map((group) => average(group, samples)) as [Parts, Parts];
  return [
    quantiles,
    `  slowest 1 %, and the 20 % around the median (µs a request): ${compared(slow.parts, usual.parts, MOST_PARTS)}`,
    `  main thread, of the same (µs a request): ${threadTimes(slowest, typical)}`,
    `  files: ${compared(slow.files, usual.files, MOST_FILES)}`,
  ].join('\n');
}

type MicrosOf = (begin: number, end: number) => ReadonlyMap<string, number>;

/** Lines of text: quantiles, and microseconds per request by phase. */
export function describeTimeline(requests: readonly TimedRequest[], timeline: Timeline): string {
  const { quantiles, slowest, typical } = groupsOf(requests);
  const mean = (group: readonly TimedRequest[], microsOf: MicrosOf): Micros => {
    const sums: Micros = new Map();
    for (const { begin, end } of group) {
      for (const [part, micros] of microsOf(begin, end)) add(sums, part, micros / group.length);
    }
    return sums;
  };
  const elapsed = (begin: number, end: number) => new Map([['elapsed', end - begin]]);
  const line = (title: string, microsOf: MicrosOf): string =>
    `  ${title}: ${compared(mean(slowest, microsOf), mean(typical, microsOf), MOST_PARTS)}`;
  return [
    quantiles,
    line('slowest 1 %, and the 20 % around the median (µs a request)', elapsed),
    line('of this', timeline.phasesOf),
    line('CPU time of others while the main thread waits for a processor', timeline.consumersOf),
  ].join('\n');
}

function groupsOf(requests: readonly TimedRequest[]) {
  const ascending = requests.toSorted((one, other) => durationOf(one) - durationOf(other));
  const at = (share: number): number => Math.floor(ascending.length * share);
  const values = [0.5, 0.9, 0.99].map((share) => ms(durationOf(ascending[at(share)])));
  const maximum = ms(durationOf(ascending.at(-1)));
  return {
    quantiles: `  p50, p90, p99, maximum: ${values.join(', ')}, ${maximum} of ${requests.length} requests`,
    slowest: ascending.slice(at(1 - SLOWEST)),
    typical: ascending.slice(at(0.5 - TYPICAL / 2), at(0.5 + TYPICAL / 2)),
  };
}

/** Of the slowest and of the median requests. `blocked`: waiting for PostgreSQL, Redis, other threads or the network. */
function threadTimes(...groups: readonly (readonly TimedRequest[])[]): string {
  const mean = (of: (thread: ThreadTime, request: TimedRequest) => number): string =>
    groups
      .map((requests) => {
        const micros = requests.flatMap((request) => (request.thread ? of(request.thread, request) : []));
        const sum = micros.reduce((total, each) => total + each, 0);
        return micros.length === 0 ? 'unknown' : (sum / micros.length).toFixed(0);
      })
      .join(', ');
  return [
    `running ${mean(({ runningMicros }) => runningMicros)}`,
    `waiting for a processor ${mean(({ queuedMicros }) => queuedMicros)}`,
    `blocked ${mean(({ runningMicros, queuedMicros }, request) => durationOf(request) - runningMicros - queuedMicros)}`,
  ].join('; ');
}

type Parts = { readonly parts: Micros; readonly files: Micros };
type TimedSample = Span & { readonly stack: readonly ProfileNode[] };

function timedSamples(profile: CpuProfile): TimedSample[] {
  const stackOf = createStackOf(profile);
  let end = profile.startTime + (profile.timeDeltas[0] ?? 0);
  return profile.samples.map((id, index) => {
    const begin = end;
    end += profile.timeDeltas[index + 1] ?? 0;
    return { begin, end, stack: stackOf(id) };
  });
}

/** Microseconds of one request on average. */
function average(requests: readonly TimedRequest[], samples: readonly TimedSample[]): Parts {
  const result: Parts = { parts: new Map(), files: new Map() };
  for (const { begin, end } of requests) {
    for (const [sample, micros] of overlaps(samples, begin, end)) {
      const share = micros / requests.length;
      add(result.parts, partOf(sample.stack) ?? WAITING, share);
      const file = sample.stack.map(({ callFrame }) => callFrame.url).find(isOwn);
      if (file !== undefined)
        add(result.files, file.replace(/^file:\/\/.*\/(?=(core|gateway|lib|cli|test)\/)/, ''), share);
    }
  }
  return result;
}

function isOwn(url: string): boolean {
  return url.startsWith('file:') && !url.includes('/node_modules/');
}

/** The largest increases first. */
function compared(slow: Micros, usual: Micros, most: number): string {
  const keys = [...new Set([...slow.keys(), ...usual.keys()])];
  const difference = (key: string): number => (slow.get(key) ?? 0) - (usual.get(key) ?? 0);
  return keys
    .sort((one, other) => difference(other) - difference(one))
    .slice(0, most)
    .map((key) => `${key} ${(slow.get(key) ?? 0).toFixed(0)}, ${(usual.get(key) ?? 0).toFixed(0)}`)
    .join('; ');
}

function durationOf(request: TimedRequest | undefined): number {
  return request === undefined ? 0 : request.end - request.begin;
}

function ms(micros: number): string {
  return `${(micros / 1_000).toFixed(2)} ms`;
}
