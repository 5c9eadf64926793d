// Divides the time of requests into phases, from the events of the scheduler of Linux.
import { add, overlaps, type Span } from './spans.ts';

const MAIN_WAITS = 'main thread waits for a processor';

/** What happens during a request. Several can apply at once; the first in this list counts. */
type Phase =
  | 'main thread runs'
  | typeof MAIN_WAITS
  | 'other threads of the server run'
  | 'other threads of the server wait for a processor'
  | 'PostgreSQL runs'
  | 'PostgreSQL waits for a processor'
  | 'PostgreSQL waits for the disk'
  | 'provider runs or waits for a processor'
  | 'Redis runs or waits for a processor'
  | 'load generator runs or waits for a processor'
  | 'no traced thread is active';

type State = 'running' | 'ready' | 'disk' | 'asleep';
export type Role = 'main' | 'server' | 'postgres' | 'provider' | 'redis' | 'generator';

export type Timeline = {
  /** Microseconds of each phase from `begin` to `end`, which are microseconds of the monotonic clock. */
  phasesOf(begin: number, end: number): ReadonlyMap<Phase, number>;
  /** CPU time in microseconds by consumer, while the main thread waits for a processor. */
  consumersOf(begin: number, end: number): ReadonlyMap<Consumer, number>;
};

/** Who uses a processor. `other`: the kernel, or another program. */
type Consumer = Role | 'other';

type Slice = Span & {
  readonly phase: Phase;
  /** Who uses the processors. Empty unless the main thread waits for one. */
  readonly consumers: readonly Consumer[];
};

const AT = String.raw`\s+(?<second>\d+)\.(?<micro>\d+): `;
const SWITCH = new RegExp(
  String.raw`^\s*\[(?<cpu>\d+)\]${AT}sched:sched_switch: .*prev_pid=(?<previous>\d+) .*prev_state=(?<state>\S+) ==> .*next_pid=(?<next>\d+) `,
);
const WAKING = new RegExp(String.raw`^\s*\[\d+\]${AT}sched:sched_waking: .* pid=(?<thread>\d+) `);
/** The id of the idle thread of every processor. */
const IDLE = 0;

/** `text` is the output of `perf script -F cpu,time,event,trace`, and `roles` are those of the threads by id. */
export function createTimeline(text: string, roles: ReadonlyMap<number, Role>): Timeline {
  const slices = slicesOf(text, roles);
  const sums = <Key>(begin: number, end: number, keysOf: (slice: Slice) => readonly Key[]) => {
    const result = new Map<Key, number>();
    for (const [slice, micros] of overlaps(slices, begin, end)) {
      for (const key of keysOf(slice)) add(result, key, micros);
    }
    return result;
  };
  return {
    phasesOf: (begin, end) => sums(begin, end, ({ phase }) => [phase]),
    consumersOf: (begin, end) => sums(begin, end, ({ consumers }) => consumers),
  };
}

function slicesOf(text: string, roles: ReadonlyMap<number, Role>): Slice[] {
  const threads = trackThreads(roles);
  const slices: Slice[] = [];
  let current: Omit<Slice, 'end'> | undefined;
  for (const line of text.split('\n')) {
    const { cpu, previous, state = '', next, ...switched } = SWITCH.exec(line)?.groups ?? {};
    const { thread, ...woken } = cpu === undefined ? (WAKING.exec(line)?.groups ?? {}) : {};
    if (cpu !== undefined) threads.onSwitch(cpu, Number(previous), stateAfter(state), Number(next));
    else if (thread !== undefined) threads.onWake(Number(thread));
    else continue;
    const { second, micro } = { ...switched, ...woken };
    const at = Number(second) * 1_000_000 + Number(micro);
    if (current !== undefined) slices.push({ ...current, end: at });
    const phase = currentPhase(threads.hasThread);
    current = { begin: at, phase, consumers: phase === MAIN_WAITS ? threads.consumers() : [] };
  }
  if (current !== undefined) slices.push({ ...current, end: Number.POSITIVE_INFINITY });
  return slices;
}

/**
 * Follows which threads run, and which wait. The trace misses many switches from the idle thread. So a thread that is
 * woken counts as running if a processor is idle.
 */
function trackThreads(roles: ReadonlyMap<number, Role>) {
  const states = new Map<number, State>();
  /** How many threads of a role are in a state. */
  const counts = new Map<string, number>();
  /** The running thread by processor. */
  const running = new Map<string, number>();
  const setState = (thread: number, state: State): void => {
    const role = roles.get(thread);
    if (role === undefined) return;
    const before = states.get(thread);
    if (before !== undefined) add(counts, `${role} ${before}`, -1);
    states.set(thread, state);
    add(counts, `${role} ${state}`, 1);
  };
  return {
    /** Whether any thread of the role is in the state. */
    hasThread: (role: Role, state: State): boolean => (counts.get(`${role} ${state}`) ?? 0) > 0,
    consumers: (): Consumer[] =>
      [...running.values()].filter((thread) => thread !== IDLE).map((thread) => roles.get(thread) ?? 'other'),
    onWake(thread: number): void {
      if ([...running.values()].includes(thread)) return;
      const idle = [...running].find(([, current]) => current === IDLE)?.[0];
      if (idle !== undefined) running.set(idle, thread);
      setState(thread, idle === undefined ? 'ready' : 'running');
    },
    onSwitch(cpu: string, previous: number, state: State, next: number): void {
      for (const [each, current] of running) {
        if (each !== cpu && (current === previous || current === next)) running.set(each, IDLE);
      }
      running.set(cpu, next);
      setState(previous, state);
      setState(next, 'running');
    },
  };
}

function stateAfter(previous: string): State {
  if (previous.startsWith('R')) return 'ready';
  return previous.startsWith('D') ? 'disk' : 'asleep';
}

function currentPhase(has: (role: Role, state: State) => boolean): Phase {
  if (has('main', 'running')) return 'main thread runs';
  if (has('main', 'ready')) return MAIN_WAITS;
  if (has('server', 'running')) return 'other threads of the server run';
  if (has('server', 'ready')) return 'other threads of the server wait for a processor';
  if (has('postgres', 'running')) return 'PostgreSQL runs';
  if (has('postgres', 'ready')) return 'PostgreSQL waits for a processor';
  if (has('postgres', 'disk')) return 'PostgreSQL waits for the disk';
  if (has('provider', 'running') || has('provider', 'ready')) return 'provider runs or waits for a processor';
  if (has('redis', 'running') || has('redis', 'ready')) return 'Redis runs or waits for a processor';
  if (has('generator', 'running') || has('generator', 'ready')) {
    return 'load generator runs or waits for a processor';
  }
  return 'no traced thread is active';
}
