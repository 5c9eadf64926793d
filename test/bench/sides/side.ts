// The sides of a comparison: a server in its own process, or the statements of a server without the server.
import type { CaseName } from '../cases.ts';
import type { Throughput } from '../load/closed-loop.ts';
import type { TestDatabase } from '../test-data.ts';

export type SideName = 'hub' | 'other' | 'peer' | 'bare' | 'floor' | 'batched';

type Process = {
  readonly name: SideName;
  readonly pid: number;
  /** Fills the side's database. Undefined if it has none. */
  readonly database: TestDatabase | undefined;
  stop(): Promise<void>;
};

export type Server = Process & {
  readonly port: number;
  /** Opens the Node.js inspector of the process and resolves with its address. */
  inspect(): Promise<string>;
};

export type Statements = Process & {
  /** Runs the statements of a case for the given time and concurrency. */
  run(load: {
    readonly caseName: CaseName;
    readonly connections: number;
    readonly seconds: number;
  }): Promise<Throughput>;
};

export type Side = Server | Statements;
