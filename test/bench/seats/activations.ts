// Activates machines by the statement of the hub, on one connection, and measures how long each batch takes.
import pg from 'pg';
import {
  findOrAllocateSeats,
  type SeatRequest,
} from '../../../core/license/activation/find-or-allocate-seats.ts';
import { type LicenseData, MACHINE, machineOf, SEATS } from '../test-data.ts';

export type BatchOptions = {
  readonly count: number;
  /** Machines in a batch. No two of them share a license. */
  readonly size: number;
  /** Whether the machines have no seat yet. If false, each has one. */
  readonly areNew: boolean;
  /** Whether the commit waits until the disk has the write-ahead log. */
  readonly flush?: boolean;
};

export class Activations {
  readonly #databaseUrl: string;
  readonly #licenses: readonly LicenseData[];
  #pool: pg.Pool;
  #requests = 0;

  /** `licenses`: all those of the database. Each has one seat, that of `machineOf(0)`. */
  constructor(databaseUrl: string, licenses: readonly LicenseData[]) {
    this.#databaseUrl = databaseUrl;
    this.#licenses = licenses;
    this.#pool = poolOf(databaseUrl);
  }

  /** Settings of a database apply to new connections only. */
  async reconnect(): Promise<void> {
    await this.#pool.end();
    this.#pool = poolOf(this.#databaseUrl);
  }

  /** The microseconds of each batch, one after the other. */
  async activate({ count, size, areNew, flush = false }: BatchOptions): Promise<number[]> {
    await this.#pool.query(`set synchronous_commit = ${flush ? 'on' : 'off'}`);
    const micros: number[] = [];
    for (let done = 0; done < count; done++) {
      const requests = Array.from({ length: size }, () => this.#nextMachine(areNew));
      const begun = performance.now();
      const found = await findOrAllocateSeats(requests, 'skip', {
        pool: this.#pool,
        clock: () => new Date(),
        seatsTaken: { inc() {} },
      });
      micros.push((performance.now() - begun) * 1_000);
      for (const each of found) {
        if (each instanceof Error) throw each;
        if (areNew !== (each.newSeat !== undefined))
          throw new Error('a new machine got no seat, or a known one did');
      }
    }
    return micros;
  }

  stop(): Promise<void> {
    return this.#pool.end();
  }

  #nextMachine(isNew: boolean): SeatRequest {
    const index = this.#requests++;
    const seat = 1 + Math.floor(index / this.#licenses.length);
    if (seat >= SEATS) throw new Error('the licenses have no more free seats: use fewer rounds');
    return {
      keyHash: this.#licenses[index % this.#licenses.length]?.keyHash ?? Buffer.of(),
      machineFingerprint: machineOf(isNew ? seat : 0),
      machineLabel: MACHINE.label,
      appVersion: MACHINE.appVersion,
    };
  }
}

function poolOf(connectionString: string): pg.Pool {
  // As the hub's connections: batches differ in length, and PostgreSQL would plan each one again.
  return new pg.Pool({ connectionString, max: 1, options: '-c plan_cache_mode=force_generic_plan' });
}
