// Takes a CPU profile of a server under load through its Node.js inspector.
import type { CpuProfile } from './cpu-profile.ts';
import { withSourceLocations } from './source-locations.ts';

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
    async stop() {
      const { profile } = (await send('Profiler.stop')) as { profile: CpuProfile }; // documented
      return withSourceLocations(profile);
    },
    close: () => socket.close(),
  };
}
