// Checks a new session: whether the server refuses it, and whether it matches `target_session_attrs`.
import type pg from 'pg';
import type { TargetSession } from './parameters.ts';

/** Gets each event of a connection while its session begins; true hides the event from the client. */
export type SessionCheck = (event: string | symbol, message: unknown) => boolean;

/** The server refused before the login. libpq then tries again with TLS, or without. */
export class Refused extends Error {
  override readonly name = 'Refused';
  override readonly cause: Error;
  readonly encrypted: boolean;

  constructor(cause: Error, encrypted: boolean) {
    super(cause.message);
    this.cause = cause;
    this.encrypted = encrypted;
  }
}

/** The session does not match `target_session_attrs`. */
export class WrongSession extends Error {
  override readonly name = 'WrongSession';
  // The code of a write on a standby: a primary may be available soon.
  readonly code = '25006';
}

export type SessionCheckOptions = {
  readonly connection: pg.Connection;
  readonly channelBinding: string | undefined;
  readonly encrypted: boolean;
  readonly round: TargetSession;
  /** The session cannot be used. */
  fail(error: Error): void;
  /** The client uses this session. */
  keep(): void;
};

/** The members of the driver's messages that are read here. */
type Message = {
  readonly parameterName?: string;
  readonly parameterValue?: string;
  readonly mechanisms?: readonly string[];
  readonly fields?: readonly unknown[];
};

const STATE = `select current_setting('transaction_read_only'),
  case when pg_is_in_recovery() then 'on' else 'off' end`;

export function createSessionCheck(options: SessionCheckOptions): SessionCheck {
  const { connection, channelBinding, encrypted, round, fail, keep } = options;
  const reported = new Map<string, string>();
  let loggedIn = false;
  let bound = false;
  let hasQueried = false;

  const decide = (isReadOnly: boolean, isStandby: boolean): boolean => {
    const wrong = mismatch(round, isReadOnly, isStandby);
    if (wrong === undefined) keep();
    else fail(new WrongSession(wrong));
    return wrong !== undefined;
  };
  const requireBinding = (): boolean => {
    if (channelBinding !== 'require' || bound) return false;
    fail(new Error('the server does not offer channel binding, and channel_binding=require asks for it'));
    return true;
  };
  const onReady = (): boolean => {
    if (round === 'any') return decide(false, false);
    const [readOnly, standby] = [
      reported.get('default_transaction_read_only'),
      reported.get('in_hot_standby'),
    ];
    if (readOnly !== undefined && standby !== undefined)
      return decide(readOnly === 'on' || standby === 'on', standby === 'on');
    // A pooler does not forward all parameters that a server reports.
    hasQueried = true;
    connection.query(STATE);
    return true;
  };

  return (event, given) => {
    const message = (given ?? {}) as Message; // a message as the driver parses it
    switch (event) {
      case 'errorMessage':
        fail(loggedIn || hasQueried ? (given as Error) : new Refused(given as Error, encrypted));
        return true;
      case 'error': // the client cannot continue, for example without a password
        fail(given as Error);
        return true;
      case 'authenticationSASL':
        bound = encrypted && (message.mechanisms ?? []).includes('SCRAM-SHA-256-PLUS');
        return requireBinding();
      case 'authenticationCleartextPassword':
      case 'authenticationMD5Password':
        return requireBinding();
      case 'authenticationOk':
        loggedIn = true;
        return requireBinding();
      case 'parameterStatus':
        reported.set(String(message.parameterName), String(message.parameterValue));
        return false;
      case 'dataRow': {
        const [readOnly, standby] = message.fields ?? [];
        reported.set('default_transaction_read_only', String(readOnly));
        reported.set('in_hot_standby', String(standby));
        return true;
      }
      case 'rowDescription':
      case 'commandComplete':
        return true;
      case 'readyForQuery':
        return onReady();
      default:
        return false;
    }
  };
}

/** Why a session does not match, in libpq's words; undefined if it does. */
function mismatch(round: TargetSession, isReadOnly: boolean, isStandby: boolean): string | undefined {
  const hint = `, and target_session_attrs=${round} requires another one`;
  if (round === 'read-write' && isReadOnly) return `session is read-only${hint}`;
  if (round === 'read-only' && !isReadOnly) return `session is not read-only${hint}`;
  if (round === 'primary' && isStandby) return `server is in hot standby mode${hint}`;
  if (round === 'standby' && !isStandby) return `server is not in hot standby mode${hint}`;
  return undefined;
}
