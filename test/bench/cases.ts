// The seven benchmark cases. Each one is a stream of complete HTTP requests.
import { InvalidArgumentError } from 'commander';
import {
  APP,
  type LicenseData,
  MACHINE,
  machineOf,
  makeSessions,
  SEATS,
  type SessionData,
  type SessionKind,
  type TestDatabase,
} from './test-data.ts';

export const CASE_NAMES = [
  'status',
  'activate',
  'reactivate',
  'callback',
  'settle',
  'settle_order',
  'public_key',
] as const;
export type CaseName = (typeof CASE_NAMES)[number];

export const CASES_HELP = `comma-separated list of ${CASE_NAMES.join(', ')}; default: all`;

/** Parses a comma-separated list. */
export function parseCases(text: string): CaseName[] {
  return text.split(',').map((word) => {
    const name = CASE_NAMES.find((each) => each === word);
    if (name === undefined) throw new InvalidArgumentError(`There is no case ${word}. Give a ${CASES_HELP}.`);
    return name;
  });
}

export type Case = {
  readonly name: CaseName;
  readonly title: string;
  /** The floor of this case: bare node:http, or the bare peer's statements. */
  readonly floor: 'http' | 'sql';
  /** The project's target at 32 connections: the hub's throughput over the peer's, and the peer's CPU time over the hub's. */
  readonly target: number;
  /**
   * Selects the rows that requests write, one per request, on both sides. Undefined if they write none.
   */
  readonly effects?: string;
  /** Prepares the data for at most `most` requests, and returns a function that yields them one by one. */
  prepare(database: TestDatabase | undefined, most: number): Promise<() => string | undefined>;
};

export function createCases(licenses: readonly LicenseData[]): readonly Case[] {
  let sessionBatch = 0;
  // The list is never empty.
  const licenseAt = (index: number): LicenseData => licenses[index % licenses.length] as LicenseData;
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
  const callbacks = async (
    database: TestDatabase | undefined,
    count: number,
    status: string,
    kind: SessionKind = 'plain',
  ) => {
    const sessions = makeSessions(count, sessionBatch++);
    await database?.addSessions(sessions, kind);
    let sent = 0;
    return (): string | undefined => {
      const session = sessions[sent++];
      if (session === undefined) return undefined;
      return callbackRequest(session, status);
    };
  };
  return [
    {
      name: 'status',
      title: 'Soft check',
      floor: 'sql',
      target: 3,
      async prepare(database) {
        await database?.resetSeats(licenses);
        let sent = 0;
        return () => get(`/v1/status/${licenseAt(sent++).licenseId}?fp=${machineOf(0)}`);
      },
    },
    {
      name: 'activate',
      title: 'Activation, new seat',
      effects: 'select from seat where released_at is null',
      floor: 'sql',
      target: 2.5,
      async prepare(database) {
        await database?.resetSeats(licenses);
        return activations((index) => {
          const seat = 1 + Math.floor(index / licenses.length);
          return seat < SEATS ? seat : undefined;
        });
      },
    },
    {
      name: 'reactivate',
      title: 'Activation, same seat',
      floor: 'sql',
      target: 3.5,
      async prepare(database) {
        await database?.resetSeats(licenses);
        return activations(() => 0);
      },
    },
    {
      name: 'callback',
      title: 'Journaled callback',
      effects: 'select from callback',
      floor: 'sql',
      target: 2.5,
      // This status has no effect: the hub does not query the provider and settles nothing.
      prepare: (database, most) => callbacks(database, most, 'UNATTEMPTED'),
    },
    {
      name: 'settle',
      title: 'Settlement',
      effects: "select from charge_session where status = 'success'",
      floor: 'sql',
      target: 2,
      prepare: (database, most) => callbacks(database, most, 'VALID'),
    },
    {
      name: 'settle_order',
      title: 'Settlement with an order',
      effects: "select from sales_order where state = 'fulfilled'",
      floor: 'sql',
      target: 2,
      prepare: (database, most) => callbacks(database, most, 'VALID', 'order'),
    },
    {
      name: 'public_key',
      title: 'Public key',
      floor: 'http',
      target: 2,
      prepare: async () => () => get(`/v1/apps/${APP}/public-key`),
    },
  ];
}

/** The callback of gateway_one to this session. The provider confirms its payment if `status` is VALID: provider.ts. */
export function callbackRequest(
  { sessionId, transactionId }: SessionData,
  status: string,
  validationId = `V-${transactionId}`,
): string {
  return post(`/v1/webhooks/gateway_one?session_id=${sessionId}`, 'application/x-www-form-urlencoded', {
    text: `status=${status}&tran_id=${transactionId}&val_id=${validationId}&amount=100.00&currency=BDT&card_type=VISA`,
  });
}

function get(target: string): string {
  return `GET ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n`;
}

/** `text` must be ASCII. */
function post(target: string, type: string, { text }: { readonly text: string }): string {
  return `POST ${target} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: ${type}\r\nContent-Length: ${text.length}\r\n\r\n${text}`;
}
