// Divides the time of requests by what they wait for, from the events of the scheduler.

const MAIN_WAITS = 'main thread waits for a processor';

/** What a request waits for. The first one that applies at a moment counts, so the parts add up to the request. */
type Part =
  | 'main thread runs'
  | typeof MAIN_WAITS
  | 'other threads of the server run'
  | 'other threads wait for a processor'
  | 'PostgreSQL runs'
  | 'PostgreSQL waits for a processor'
  | 'PostgreSQL waits for the disk'
  | 'provider runs or waits for a processor'
  | 'Redis runs or waits for a processor'
  | 'load generator runs or waits for a processor'
  | 'rest';

type State = 'running' | 'ready' | 'disk' | 'asleep';
export type Role = 'main' | 'server' | 'postgres' | 'provider' | 'redis' | 'generator';

export type Timeline = {
  /** Microseconds of each part from `begin` to `end`, which are microseconds of the monotonic clock. */
  partsOf(begin: number, end: number): ReadonlyMap<Part, number>;
  /** Microseconds of the processors by user, while the main thread waits for one. */
  usersOf(begin: number, end: number): ReadonlyMap<User, number>;
};

/** Who uses a processor. `another`: the kernel, or another program. */
type User = Role | 'another';

type Slice = {
  readonly begin: number;
  readonly part: Part;
  /** Of the processors, if the main thread waits for one. */
  readonly users: readonly User[];
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
    for (let index = Math.max(0, firstAfter(begin, slices) - 1); index < slices.length; index++) {
      const slice = slices[index];
      if (slice === undefined || slice.begin >= end) break;
      const until = Math.min(end, slices[index + 1]?.begin ?? end);
      const micros = Math.max(0, until - Math.max(begin, slice.begin));
      for (const key of keysOf(slice)) add(result, key, micros);
    }
    return result;
  };
  return {
    partsOf: (begin, end) => sums(begin, end, ({ part }) => [part]),
    usersOf: (begin, end) => sums(begin, end, ({ users }) => users),
  };
}

function slicesOf(text: string, roles: ReadonlyMap<number, Role>): Slice[] {
  const processors = trackProcessors(roles);
  const slices: Slice[] = [];
  for (const line of text.split('\n')) {
    const { cpu, previous, state = '', next, ...switched } = SWITCH.exec(line)?.groups ?? {};
    const { thread, ...woken } = cpu === undefined ? (WAKING.exec(line)?.groups ?? {}) : {};
    if (cpu !== undefined) processors.change(cpu, Number(previous), stateAfter(state), Number(next));
    else if (thread !== undefined) processors.wake(Number(thread));
    else continue;
    const { second, micro } = { ...switched, ...woken };
    const part = currentPart(processors.is);
    const users = part === MAIN_WAITS ? processors.users() : [];
    slices.push({ begin: Number(second) * 1_000_000 + Number(micro), part, users });
  }
  return slices;
}

/** Follows which threads run, and which wait. */
function trackProcessors(roles: ReadonlyMap<number, Role>) {
  const states = new Map<number, State>();
  /** How many threads of a role are in a state. */
  const counts = new Map<string, number>();
  /** The running thread by processor. */
  const running = new Map<string, number>();
  const enter = (thread: number, state: State): void => {
    const role = roles.get(thread);
    if (role === undefined) return;
    const before = states.get(thread);
    if (before !== undefined) add(counts, `${role} ${before}`, -1);
    states.set(thread, state);
    add(counts, `${role} ${state}`, 1);
  };
  return {
    is: (role: Role, state: State): boolean => (counts.get(`${role} ${state}`) ?? 0) > 0,
    users: (): User[] =>
      [...running.values()]
        .filter((thread) => thread !== IDLE)
        .map((thread) => roles.get(thread) ?? 'another'),
    /**
     * The trace misses many switches from the idle thread. So a thread that is woken counts as running if a
     * processor is idle.
     */
    wake(thread: number): void {
      if ([...running.values()].includes(thread)) return;
      const idle = [...running].find(([, current]) => current === IDLE)?.[0];
      if (idle !== undefined) running.set(idle, thread);
      enter(thread, idle === undefined ? 'ready' : 'running');
    },
    change(cpu: string, previous: number, state: State, next: number): void {
      for (const [each, current] of running) {
        const isElsewhere = current === previous || (current === next && next !== IDLE);
        if (each !== cpu && isElsewhere) running.set(each, IDLE);
      }
      running.set(cpu, next);
      enter(previous, state);
      enter(next, 'running');
    },
  };
}

function stateAfter(previous: string): State {
  if (previous.startsWith('R')) return 'ready';
  return previous.startsWith('D') ? 'disk' : 'asleep';
}

function currentPart(is: (role: Role, state: State) => boolean): Part {
  if (is('main', 'running')) return 'main thread runs';
  if (is('main', 'ready')) return MAIN_WAITS;
  if (is('server', 'running')) return 'other threads of the server run';
  if (is('server', 'ready')) return 'other threads wait for a processor';
  if (is('postgres', 'running')) return 'PostgreSQL runs';
  if (is('postgres', 'ready')) return 'PostgreSQL waits for a processor';
  if (is('postgres', 'disk')) return 'PostgreSQL waits for the disk';
  if (is('provider', 'running') || is('provider', 'ready')) return 'provider runs or waits for a processor';
  if (is('redis', 'running') || is('redis', 'ready')) return 'Redis runs or waits for a processor';
  if (is('generator', 'running') || is('generator', 'ready')) {
    return 'load generator runs or waits for a processor';
  }
  return 'rest';
}

/** The index of the first slice that begins after `time`, by binary search. */
function firstAfter(time: number, slices: readonly Slice[]): number {
  let [low, high] = [0, slices.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((slices[middle]?.begin ?? 0) > time) high = middle;
    else low = middle + 1;
  }
  return low;
}

function add<Key>(to: Map<Key, number>, key: Key, number: number): void {
  to.set(key, (to.get(key) ?? 0) + number);
}
