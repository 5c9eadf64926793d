// A request with a slow body, in progress when a hub stops.
import { openRaw } from '../../gateway/server/raw-socket.ts';
import { until } from '../until.ts';

const BODY = JSON.stringify({ licenseKey: 'no such key', machineFingerprint: 'machine-1' });

export type SlowRequest = {
  /** Sends the rest, and resolves with the whole response when the hub closes the connection. */
  finish(): Promise<string>;
  /** Resolves when the hub closes the connection. */
  closed(): Promise<unknown>;
};

/**
 * Starts an activation with an unknown key. The hub has begun to read it, and most of its body is
 * outstanding.
 */
export async function beginRequest(gatewayUrl: string): Promise<SlowRequest> {
  const connection = await openRaw(Number(new URL(gatewayUrl).port));
  connection.socket.write(
    `POST /v1/activate HTTP/1.1\r\nHost: hub\r\nContent-Type: application/json\r\nContent-Length: ${BODY.length}\r\nExpect: 100-continue\r\n\r\n`,
  );
  await until(() => connection.received().includes('100 Continue'), 'the hub reads the body');
  connection.socket.write(BODY.slice(0, 10));
  return {
    async finish() {
      connection.socket.write(BODY.slice(10));
      await connection.closed();
      return connection.received().split('100 Continue\r\n\r\n')[1] ?? '';
    },
    closed: () => connection.closed(),
  };
}
