// What is measured: a server in a process of its own.
import type { Warehouse } from '../stock.ts';

export type SideName = 'hub' | 'peer' | 'floor';

export type Side = {
  readonly name: SideName;
  readonly port: number;
  readonly pid: number;
  /** Fills the database behind it; undefined if it has none. */
  readonly warehouse: Warehouse | undefined;
  stop(): Promise<void>;
};
