// Takes a CPU profile of a server under load through its Node.js inspector.

/** The inspector's format: https://chromedevtools.github.io/devtools-protocol/v8/Profiler/ */
export type CpuProfile = {
  readonly nodes: readonly ProfileNode[];
  /** The node id of each sample. */
  readonly samples: readonly number[];
  /** Microseconds of the monotonic clock, as `process.hrtime` has it. */
  readonly startTime: number;
  /** Microseconds from one sample to the next. */
  readonly timeDeltas: readonly number[];
};

export type ProfileNode = {
  readonly id: number;
  readonly callFrame: { readonly functionName: string; readonly url: string };
  readonly children?: readonly number[];
};

export type Profiler = { start(): Promise<void>; stop(): Promise<CpuProfile>; close(): void };

const SAMPLE_EVERY_MICROS = 200;

export async function connectProfiler(address: string): Promise<Profiler> {
  const socket = new WebSocket(address);
  const { promise: opened, resolve, reject } = Promise.withResolvers<void>();
  socket.addEventListener('open', () => resolve());
  socket.addEventListener('error', () => reject(new Error(`no inspector at ${address}`)));
  await opened;
  let lastId = 0;
  const send = (method: string, params: object = {}): Promise<unknown> =>
    new Promise((answered) => {
      const id = ++lastId;
      const listen = ({ data }: MessageEvent): void => {
        const message = JSON.parse(String(data));
        if (message.id !== id) return;
        socket.removeEventListener('message', listen);
        answered(message.result);
      };
      socket.addEventListener('message', listen);
      socket.send(JSON.stringify({ id, method, params }));
    });
  await send('Profiler.enable');
  await send('Profiler.setSamplingInterval', { interval: SAMPLE_EVERY_MICROS });
  return {
    start: async () => void (await send('Profiler.start')),
    stop: async () => ((await send('Profiler.stop')) as { profile: CpuProfile }).profile, // documented
    close: () => socket.close(),
  };
}
