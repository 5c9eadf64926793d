// A connection of the driver that finds its server as libpq does, and is an ordinary connection afterwards.
import { lookup } from 'node:dns/promises';
import { isIP, type Socket } from 'node:net';
import pg from 'pg';
import { codeOf } from '../../../lib/caught-error.ts';
import { unlessAborted } from '../../../lib/net/deadline.ts';
import { type ConnectionTarget, isSocket, type Server } from './connection-string.ts';
import type { TargetSession } from './parameters.ts';
import { createSessionCheck, Refused, type SessionCheck, WrongSession } from './session-check.ts';
import { openTransport, TlsFailed, type Transport, type TransportOptions, Unreachable } from './transport.ts';

/** What is missing from the driver's types. */
type Driver = {
  stream: Socket;
  _connecting: boolean;
  _ending: boolean;
  attachListeners(stream: Socket): void;
};

type Failure = { readonly at: string; readonly error: NodeJS.ErrnoException };

/** None of the servers can be used. */
export class NoServer extends Error {
  override readonly name = 'NoServer';
  /** The last code of the failures, which tells whether a retry may help. */
  readonly code: string | undefined;

  constructor(failures: readonly Failure[]) {
    super(failures.map(({ at, error }) => `${at}: ${error.message}`).join('; '));
    this.code = failures.findLast(({ error }) => error.code !== undefined)?.error.code;
  }
}

class TimedOut extends Error {
  override readonly name = 'TimedOut';
  readonly code = 'ETIMEDOUT';
}

const CANNOT_CONNECT_NOW = '57P03';

export class ServerConnection extends pg.Connection {
  /** The current server, or the one being tried. */
  server: Server;
  readonly #target: ConnectionTarget;
  /** Hides the events of a session from the client until the session is accepted. */
  #check: SessionCheck | undefined;
  readonly #stop = new AbortController();

  constructor(target: ConnectionTarget) {
    super({});
    this.#target = target;
    this.server = target.servers[0];
  }

  /** Called by the client; host and port are those of the target. */
  connect(): void {
    const driver = this.#driver;
    driver._connecting = true;
    this.#check = () => false;
    this.emit = (event, ...args) => this.#check?.(event, args[0]) || super.emit(event, ...args);
    this.#find().catch((error: Error) => {
      this.#accept();
      driver.stream.destroy();
      if (!driver._ending) this.emit('error', error);
      this.emit('end');
    });
  }

  override end(): void {
    if (this.#check === undefined) {
      super.end();
      return;
    }
    this.#driver._ending = true;
    this.#stop.abort(new Error('Connection terminated'));
  }

  /** Passes all further events to the client. Restores the driver's method, because a session emits many. */
  #accept(): void {
    this.#check = undefined;
    this.emit = super.emit;
  }

  get #driver(): Driver {
    return this as unknown as Driver;
  }

  async #find(): Promise<void> {
    const { targetSession } = this.#target;
    // libpq looks for a standby first, then for any server.
    const rounds: TargetSession[] = targetSession === 'prefer-standby' ? ['standby', 'any'] : [targetSession];
    const failures: Failure[] = [];
    for (const round of rounds) {
      for (const server of this.#order()) if (await this.#tryServer(server, round, failures)) return;
    }
    throw oneOf(failures);
  }

  #order(): readonly Server[] {
    const { servers, loadBalance } = this.#target;
    if (!loadBalance) return servers;
    return servers
      .map((server) => ({ server, at: Math.random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ server }) => server);
  }

  /**
   * Adds the reason to `failures` if the server cannot be used.
   * @throws Error that ends the search
   */
  async #tryServer(server: Server, round: TargetSession, failures: Failure[]): Promise<boolean> {
    this.server = server;
    const { host, port } = server;
    const name = isSocket(host) ? `${host}/.s.PGSQL.${port}` : `${host}:${port}`;
    const attempt = async (at: string, work: () => Promise<void>): Promise<Error | undefined> => {
      try {
        await work();
        return undefined;
      } catch (error) {
        if (this.#stop.signal.aborted) throw error;
        // Only errors are thrown.
        const failure = error instanceof Refused ? error.cause : (error as Error);
        failures.push({ at, error: failure });
        return failure;
      }
    };
    let addresses: readonly string[] = [];
    const unknown = await attempt(name, async () => {
      addresses = await this.#addressesOf(server);
    });
    if (unknown !== undefined) return false;
    for (const address of addresses) {
      const at = addresses.length > 1 ? `${name} (${address})` : name;
      const failure = await attempt(at, () => this.#tryAddress(server, address, round));
      if (failure === undefined) return true;
      if (failure instanceof Unreachable || failure instanceof TimedOut) continue;
      if (failure instanceof WrongSession || codeOf(failure) === CANNOT_CONNECT_NOW) return false;
      // As in libpq: the others are not tried after a refusal, such as one of a password.
      throw oneOf(failures);
    }
    return false;
  }

  async #addressesOf({ host, address }: Server): Promise<readonly string[]> {
    if (isSocket(host)) return [''];
    if (address !== undefined || isIP(host) !== 0) return [address ?? host];
    return await this.#limited(async (signal) => {
      const looking = lookup(host, { all: true, order: 'verbatim' });
      const found = await unlessAborted(looking, signal).catch((error) => {
        throw signal.aborted ? error : new Unreachable(error);
      });
      return found.map((each) => each.address);
    });
  }

  /** With TLS and without, in the order of sslmode. */
  async #tryAddress(server: Server, address: string, round: TargetSession): Promise<void> {
    const { sslMode } = this.#target;
    const start = (tls: TransportOptions['tls']): Promise<void> =>
      this.#limited(async (signal) => {
        const transport = await openTransport({ target: this.#target, server, address, tls, signal });
        await this.#begin(transport, round, signal);
      });
    if (sslMode === 'disable') return await start('no');
    if (sslMode === 'allow') {
      return await start('no').catch((error) => {
        if (error instanceof Refused && !isSocket(server.host)) return start('require');
        throw error;
      });
    }
    if (sslMode !== 'prefer') return await start('require');
    return await start('prefer').catch((error) => {
      if (error instanceof TlsFailed || (error instanceof Refused && error.encrypted)) return start('no');
      throw error;
    });
  }

  async #limited<T>(work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const timeout = AbortSignal.timeout(this.#target.connectTimeoutMs);
    try {
      return await work(AbortSignal.any([timeout, this.#stop.signal]));
    } catch (error) {
      if (timeout.aborted && !this.#stop.signal.aborted) throw new TimedOut('timeout expired');
      throw error;
    }
  }

  /** Starts the session on the stream, and decides whether to keep it. */
  #begin({ stream, encrypted }: Transport, round: TargetSession, signal: AbortSignal): Promise<void> {
    const driver = this.#driver;
    driver.stream = stream;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let began = false;
    const fail = (error: Error): void => {
      stream.removeAllListeners('data').destroy();
      reject(error);
    };
    const aborted = (): void => fail(signal.reason);
    signal.addEventListener('abort', aborted, { once: true });
    stream.on('error', (error: NodeJS.ErrnoException) => {
      if (!began) return fail(error);
      // A server may close first when a session ends.
      if (driver._ending && (error.code === 'ECONNRESET' || error.code === 'EPIPE')) return;
      this.emit('error', error);
    });
    stream.on('close', () => {
      if (began) this.emit('end');
      else fail(Object.assign(new Error('Connection terminated unexpectedly'), { code: 'ECONNRESET' }));
    });
    this.#check = createSessionCheck({
      connection: this,
      channelBinding: this.#target.parameters.channel_binding,
      encrypted,
      round,
      fail,
      keep: () => {
        began = true;
        this.#accept();
        signal.removeEventListener('abort', aborted);
        resolve();
      },
    });
    driver.attachListeners(stream);
    this.emit('connect'); // the client sends its startup message
    return promise;
  }
}

function oneOf(failures: readonly Failure[]): Error {
  const [only] = failures;
  return only !== undefined && failures.length === 1 ? only.error : new NoServer(failures);
}
