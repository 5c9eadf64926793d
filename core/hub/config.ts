// What a hub is started with: its configuration, and what its process provides.
import type { Logger } from 'pino';
import type { Gather, Metrics } from '../../lib/metrics/metrics.ts';
import type { Readiness } from '../../lib/net/readiness.ts';
import type { AttemptLimiter } from '../access/failed-attempts.ts';
import type { Clock } from '../clock.ts';
import type { MailConfig } from '../mail/sending/send-mail.ts';
import type { PaymentConfig } from '../payment/module-options.ts';
import type { ReadConsoleFile } from '../rpc/endpoints/console.ts';
import type { TlsFiles } from '../rpc/server/tls.ts';
import type { Secret } from '../secret.ts';
import type { DatabaseAddress } from '../storage/connection/database-address.ts';
import type { MasterKeySource } from '../storage/secrets/load-key-ring.ts';

export type HubConfig = {
  readonly version: string;
  /** Undefined: the embedded PostgreSQL in the data directory. */
  readonly databaseUrl: Secret<string> | undefined;
  /** Undefined: the first schema of the role's search path. */
  readonly databaseSchema?: string | undefined;
  readonly databasePooler?: DatabaseAddress['pooler'];
  /** The address of the same database without the pooler. */
  readonly databaseDirectUrl?: Secret<string> | undefined;
  readonly dataDir: string;
  /** Address the RPC port binds. */
  readonly host: string;
  /** 0 takes any free port. */
  readonly rpcPort: number;
  /** Certificates of the RPC port. Undefined: plaintext. */
  readonly rpcTls?: TlsFiles | undefined;
  readonly masterKey: MasterKeySource;
  /** File for the head of the audit chain. Default: in the data directory. */
  readonly auditHeadFile?: string | undefined;
  /** Maximum number of database connections of this process. */
  readonly poolSize: number;
  /**
   * Whether it migrates the schema and creates partitions: one of several processes that start together does.
   */
  readonly preparesDatabase: boolean;
  /** Maximum number of calls that run at the same time on the RPC port. */
  readonly maxInFlight: number;
  /** Maximum number of connections to the RPC port from one address; 0: no limit. */
  readonly connectionsPerClient: number;
  readonly payment: PaymentConfig;
  /** Networks in CIDR form that endpoints may be in although they are not public. */
  readonly eventAllowNetworks: readonly string[];
  /** Undefined: the hub sends no mail. */
  readonly mail?: MailConfig | undefined;
};

export type HubParts = {
  readonly logger: Logger;
  /** One for each process. */
  readonly metrics: Metrics;
  /** Collects the metrics of other processes that serve the same ports. */
  readonly gather?: Gather | undefined;
  /** Replaces the clock of the database. */
  readonly clock?: Clock;
  /** Limits attempts with wrong tokens. Default: no limit. */
  readonly attemptLimiter?: AttemptLimiter;
  /** Reads the files of the console. Default: no console. */
  readonly console?: ReadConsoleFile;
  /** Called when the hub cannot continue; the caller has to stop it. */
  readonly onFatal?: (error: Error) => void;
  /** Whether the process wants requests. Default: always. */
  readonly readiness?: Pick<Readiness, 'state' | 'onDrain'>;
};
