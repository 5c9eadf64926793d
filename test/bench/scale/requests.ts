// What is asked of a hub on a populated database: each request about another license, or another session.
import { formatId } from '../../../core/ids.ts';
import { digest, fingerprintAt, keyAt, licenseAt, type Population, sessionAt } from './population.ts';

export const OPERATIONS = ['status', 'activate', 'reactivate', 'callback'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** Whole HTTP/1.1 requests, all written before the first is sent. They are spread over everything there is. */
export function requestsFor(
  operation: Operation,
  population: Population,
  count: number,
  turn: number,
): string[] {
  const of = operation === 'callback' ? population.sessions : population.licenses;
  return Array.from({ length: count }, (_, number) =>
    request(operation, population, pick(of, number + turn * count)),
  );
}

/** The machine that an `activate` of this turn gives a seat. */
function newMachine(index: number): string {
  return digest('new-machine', index);
}

/** Every row once before any comes again, as far apart as can be. */
function pick(of: number, number: number): number {
  return Math.floor((number * GOLDEN_RATIO * of) % of);
}
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

function request(operation: Operation, population: Population, index: number): string {
  switch (operation) {
    case 'status': {
      const { id } = licenseAt(population, index);
      return `GET /v1/status/${formatId('lic', id)}?fp=${fingerprintAt(index)} HTTP/1.1\r\nHost: hub\r\n\r\n`;
    }
    case 'activate':
      return activation(index, newMachine(index));
    case 'reactivate':
      return activation(index, fingerprintAt(index));
    case 'callback': {
      const { sessionId, merchantTransactionId, proof } = sessionAt(population, index - (index % 2));
      // Of no consequence: what is measured is that it is journaled.
      const fields = `status=UNATTEMPTED&tran_id=${merchantTransactionId}&val_id=${proof}&amount=100.00&currency=BDT`;
      return post(
        `/v1/webhooks/gateway_one?session_id=${sessionId}`,
        'application/x-www-form-urlencoded',
        fields,
      );
    }
  }
}

function activation(index: number, machineFingerprint: string): string {
  const body = JSON.stringify({
    licenseKey: keyAt(index),
    machineFingerprint,
    machineLabel: 'desk',
    appVersion: '2.15.0',
  });
  return post('/v1/activate', 'application/json', body);
}

/** `body` has to be ASCII. */
function post(target: string, type: string, body: string): string {
  return `POST ${target} HTTP/1.1\r\nHost: hub\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
