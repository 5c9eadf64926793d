// Builds the requests to a hub on a populated database, spread over its licenses and sessions.
import { formatId } from '../../../core/ids.ts';
import {
  APP_VERSION,
  digest,
  fingerprintAt,
  keyAt,
  labelAt,
  licenseAt,
  type Population,
  pick,
  sessionAt,
} from './population.ts';

export const OPERATIONS = ['status', 'activate', 'reactivate', 'callback'] as const;
export type Operation = (typeof OPERATIONS)[number];

/** `same`: the same licenses or sessions in every turn. `spread`: others for every turn and operation. */
export const TARGETS = ['same', 'spread'] as const;
export type Targets = (typeof TARGETS)[number];

/**
 * The number of targets that stay the same. PostgreSQL keeps their blocks in memory at every size. The smallest population has
 * about as many sessions of gateway_one.
 */
export const SAME_TARGETS = 500;

export type Load = {
  readonly operation: Operation;
  readonly targets: Targets;
  readonly count: number;
  readonly turn: number;
};

/** Complete HTTP/1.1 requests, generated before the first one is sent. */
export function requestsFor(load: Load, population: Population): string[] {
  return numbersOf(load).map(({ target, number }) =>
    request(load.operation, population, indexOf(load.operation, population, target), number),
  );
}

/** The ids of the licenses that the requests of a load concern. */
export function licensesOf(load: Load, population: Population): string[] {
  if (load.operation === 'callback') return [];
  const indexes = numbersOf(load).map(({ target }) => indexOf(load.operation, population, target));
  return [...new Set(indexes)].map((index) => licenseAt(population, index).id);
}

function numbersOf({
  operation,
  targets,
  count,
  turn,
}: Load): { readonly target: number; readonly number: number }[] {
  const others = SAME_TARGETS + OPERATIONS.indexOf(operation) * TARGETS_PER_OPERATION;
  return Array.from({ length: count }, (_, position) => {
    const number = position + turn * count;
    return { target: targets === 'same' ? number % SAME_TARGETS : others + number, number };
  });
}

const TARGETS_PER_OPERATION = 1_000_000;

/** Spreads the targets over the whole population. */
function indexOf(operation: Operation, population: Population, target: number): number {
  return operation === 'callback'
    ? pick(population.sessions, target)
    : // Every other license never expires.
      2 * pick(population.licenses / 2, target) + 1;
}

/** The machine of an activation: each one is new, also if its license had an earlier one. */
function newMachine(index: number, number: number): string {
  return digest(`new-machine-${index}`, number);
}

function request(operation: Operation, population: Population, index: number, number: number): string {
  switch (operation) {
    case 'status': {
      const { id } = licenseAt(population, index);
      return `GET /v1/status/${formatId('lic', id)}?fp=${fingerprintAt(index)} HTTP/1.1\r\nHost: hub\r\n\r\n`;
    }
    case 'activate':
      return activation(index, newMachine(index, number));
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
    // Those of the made seats, so that a known machine changes nothing.
    machineLabel: labelAt(index),
    appVersion: APP_VERSION,
  });
  return post('/v1/activate', 'application/json', body);
}

/** `body` must be ASCII. */
function post(target: string, type: string, body: string): string {
  return `POST ${target} HTTP/1.1\r\nHost: hub\r\nContent-Type: ${type}\r\nContent-Length: ${body.length}\r\n\r\n${body}`;
}
