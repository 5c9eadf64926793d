// What is asked of the servers: six cases, each a stream of whole HTTP requests.
import { APP, MACHINE, machineOf, makeSessions, SEATS, type StockLicense, type Warehouse } from './stock.ts';

export type CaseName = 'status' | 'activate' | 'reactivate' | 'callback' | 'settle' | 'public_key';

export type Case = {
  readonly name: CaseName;
  readonly title: string;
  /** The floor of this case: bare node:http, or the bare statements of the peer. */
  readonly floor: 'http' | 'sql';
  /** Hub over what it is compared with, at 32 connections, that the project sets itself; and over whom. */
  readonly mark: { readonly ratio: number; readonly over: 'peer' | 'floor' };
  /** What each request leaves behind, one row each; undefined where it leaves nothing. The same at both sides. */
  readonly leaves?: string;
  /** Puts the data in place for at most `most` requests, and gives them one by one. */
  prepare(warehouse: Warehouse | undefined, most: number): Promise<() => string | undefined>;
};

export function createCases(licenses: readonly StockLicense[]): readonly Case[] {
  let sessionBatch = 0;
  /** What the seats of a database were put in place for last. */
  const seatsFor = new Map<Warehouse, CaseName>();
  const resetSeats = async (warehouse: Warehouse | undefined, name: CaseName): Promise<void> => {
    if (warehouse === undefined) return;
    // A soft check leaves them as they are.
    if (name !== 'status' || seatsFor.get(warehouse) !== name) await warehouse.resetSeats(licenses);
    seatsFor.set(warehouse, name);
  };
  const licenseAt = (index: number): StockLicense => licenses[index % licenses.length] as StockLicense; // there are some
  const activations = (seatOf: (index: number) => number | undefined) => {
    let sent = 0;
    return (): string | undefined => {
      const index = sent++;
      const seat = seatOf(index);
      if (seat === undefined) return undefined;
      const { licenseKey } = licenseAt(index);
      const machineFingerprint = machineOf(seat);
      return post('/v1/activate', 'application/json', {
        text: JSON.stringify({
          licenseKey,
          machineFingerprint,
          machineLabel: MACHINE.label,
          appVersion: MACHINE.appVersion,
        }),
      });
    };
  };
  const callbacks = async (warehouse: Warehouse | undefined, count: number, status: string) => {
    const sessions = makeSessions(count, sessionBatch++);
    await warehouse?.addSessions(sessions);
    let sent = 0;
    return (): string | undefined => {
      const session = sessions[sent++];
      if (session === undefined) return undefined;
      const { sessionId, transactionId } = session;
      return post(`/v1/webhooks/gateway_one?session_id=${sessionId}`, 'application/x-www-form-urlencoded', {
        text: `status=${status}&tran_id=${transactionId}&val_id=V-${transactionId}&amount=100.00&currency=BDT&card_type=VISA`,
      });
    };
  };
  return [
    {
      name: 'status',
      title: 'Soft check of a seated machine',
      floor: 'sql',
      mark: { ratio: 2, over: 'peer' },
      async prepare(warehouse) {
        await resetSeats(warehouse, 'status');
        let sent = 0;
        return () => get(`/v1/status/${licenseAt(sent++).licenseId}?fp=${machineOf(0)}`);
      },
    },
    {
      name: 'activate',
      title: 'Activation, new seat',
      leaves: 'select from seat where released_at is null',
      floor: 'sql',
      mark: { ratio: 2, over: 'peer' },
      async prepare(warehouse) {
        await resetSeats(warehouse, 'activate');
        return activations((index) => {
          const seat = 1 + Math.floor(index / licenses.length);
          return seat < SEATS ? seat : undefined;
        });
      },
    },
    {
      name: 'reactivate',
      title: 'Activation, same seat again',
      floor: 'sql',
      mark: { ratio: 2.5, over: 'peer' },
      async prepare(warehouse) {
        await resetSeats(warehouse, 'reactivate');
        return activations(() => 0);
      },
    },
    {
      name: 'callback',
      title: 'Callback, journaled',
      leaves: 'select from callback',
      floor: 'sql',
      mark: { ratio: 2, over: 'peer' },
      // A status of no consequence: nothing is asked, nothing is settled.
      prepare: (warehouse, most) => callbacks(warehouse, most, 'UNATTEMPTED'),
    },
    {
      name: 'settle',
      title: 'Callback, verified and settled',
      leaves: "select from charge_session where status = 'success'",
      floor: 'sql',
      mark: { ratio: 1.5, over: 'peer' },
      prepare: (warehouse, most) => callbacks(warehouse, most, 'VALID'),
    },
    {
      name: 'public_key',
      title: 'Public key',
      floor: 'http',
      mark: { ratio: 0.8, over: 'floor' },
      prepare: async () => () => get(`/v1/apps/${APP}/public-key`),
    },
  ];
}

function get(target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
}

/** `text` has to be ASCII. */
function post(target: string, type: string, { text }: { readonly text: string }): string {
  return `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}
