// Invalid values that may replace a counter in Redis.
import type { ChainableCommander } from 'ioredis';

export type Corruption = {
  readonly about: string;
  /** Writes the value to a key that does not exist. */
  readonly write: (batch: ChainableCommander) => ChainableCommander;
};

export function corruptions(key: string): Corruption[] {
  return [
    { about: 'a list', write: (batch) => batch.rpush(key, 'a', 'list') },
    { about: 'a hash', write: (batch) => batch.hset(key, 'a', 'hash') },
    { about: 'text', write: (batch) => batch.set(key, 'no number', 'EX', 30) },
    { about: 'nothing', write: (batch) => batch.set(key, '', 'EX', 30) },
    { about: 'a fraction', write: (batch) => batch.set(key, '1.5', 'EX', 30) },
    { about: 'a count to which none can be added', write: (batch) => batch.set(key, '9223372036854775807') },
    { about: 'a negative count', write: (batch) => batch.set(key, '-9223372036854775808', 'EX', 30) },
    { about: 'an absurd count', write: (batch) => batch.set(key, '2000000000', 'EX', 30) },
    { about: 'a count that never ends', write: (batch) => batch.set(key, '1000') },
    { about: 'a count of a year', write: (batch) => batch.set(key, '1000', 'EX', 365 * 24 * 3_600) },
  ];
}
