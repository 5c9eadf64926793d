// What is measured: a server in a process of its own, or the statements of one without the server.
import type { CaseName } from '../cases.ts';
import type { Throughput } from '../load/closed-loop.ts';
import type { Warehouse } from '../stock.ts';

export type SideName = 'hub' | 'other' | 'peer' | 'bare' | 'floor' | 'joined';

type Process = {
  readonly name: SideName;
  readonly pid: number;
  /** Fills the database behind it; undefined if it has none. */
  readonly warehouse: Warehouse | undefined;
  stop(): Promise<void>;
};

export type Server = Process & {
  readonly port: number;
  /** Opens the inspector of its Node.js; the address of that. */
  inspect(): Promise<string>;
};

export type Statements = Process & {
  /** Does those of a case for so long, for so many requests at a time. */
  run(load: {
    readonly caseName: CaseName;
    readonly connections: number;
    readonly seconds: number;
  }): Promise<Throughput>;
};

export type Side = Server | Statements;
