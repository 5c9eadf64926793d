// Builds the requests to a hub on a populated database, spread over its licenses and sessions.
import { formatId } from '../../../core/ids.ts';
import { digest, fingerprintAt, keyAt, licenseAt, type Population, sessionAt } from './population.ts';

export const OPERATIONS = ['status', 'activate', 'reactivate', 'callback'] as const;
export type Operation = (typeof OPERATIONS)[number];

/**
 * Complete HTTP/1.1 requests, generated before the first one is sent and spread over the whole population.
 */
export function requestsFor(
  operation: Operation,
  population: Population,
  count: number,
  turn: number,
): string[] {
  const at = (number: number): number =>
    operation === 'callback'
      ? pick(population.sessions, number)
      : // Every other license never expires.
        2 * pick(population.licenses / 2, number) + 1;
  return Array.from({ length: count }, (_, position) => {
    const number = position + turn * count;
    return request(operation, population, at(number), number);
  });
}

/** The machine of an activation: each one is new, also if its license had an earlier one. */
function newMachine(number: number): string {
  return digest('new-machine', number);
}

/** Visits every row once before it repeats one, with neighbors as far apart as possible. */
function pick(of: number, number: number): number {
  return Math.floor((number * GOLDEN_RATIO * of) % of);
}
const GOLDEN_RATIO = (Math.sqrt(5) - 1) / 2;

function request(operation: Operation, population: Population, index: number, number: number): string {
  switch (operation) {
    case 'status': {
      const { id } = licenseAt(population, index);
      return `GET /v1/status/${formatId('lic', id)}?fp=${fingerprintAt(index)} HTTP/1.1\r\nHost: hub\r\n\r\n`;
    }
    case 'activate':
      return activation(index, newMachine(number));
    case 'reactivate':
      return activation(index, fingerprintAt(index));
    case 'callback': {
      const { sessionId, merchantTransactionId, proof } = sessionAt(population, index - (index % 2));
      // This status has no effect: the case measures only the journal entry.
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

/** `body` must be ASCII. */
function post(target: string, type: string, body: string): string {
  return `POST ${target} HTTP/1.1\r\nHost: hub\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
