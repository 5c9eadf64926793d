// Limits of HTTP/2 connections to the RPC port, and when an idle one is closed.
import { constants, type Http2Session, type ServerHttp2Session, type ServerOptions } from 'node:http2';

/**
 * A client beyond most of these limits violates the protocol or floods, and is disconnected. Node's own
 * defaults are repeated here, so that they stay what docs/security.md says. nghttp2 limits CONTINUATION
 * frames (8 per header) and unread replies to pings and settings (1000).
 */
export const HTTP2_LIMITS: ServerOptions = {
  settings: { maxConcurrentStreams: 256, maxHeaderListSize: 16 * 1024 },
  // As with HTTP/1, and the four pseudo-headers.
  maxHeaderListPairs: 104,
  /** Megabytes; beyond it new streams are refused. */
  maxSessionMemory: 64,
  maxSettings: 32,
  maxOutstandingPings: 10,
  // Rapid reset (CVE-2023-44487): a burst, then a rate per second. A gateway resets a call for each client
  // that leaves.
  streamResetBurst: 1_000,
  streamResetRate: 100,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
};

/**
 * After this number of streams that were reset before they were done, a session accepts no new ones, so that
 * its client reconnects. Node keeps counting the unsent bytes of such streams as memory of the session, and
 * would in the end refuse every stream.
 */
const MAX_CUT_STREAMS = 32;

const LAST_STREAM = 2 ** 31 - 1;
/** How long a client may take to close a session after GOAWAY and its last stream. */
const LINGER_MS = 500;
/** How long a client may open streams after GOAWAY, if its session must end. */
const NOTICE_MS = 1_000;

export type Http2SessionsOptions = {
  /** Sessions without a stream are closed after this time; pings do not count. */
  readonly idleMs: number;
  /**
   * Interval of pings to sessions with streams. A session that has not replied by the next ping is destroyed.
   */
  readonly pingMs: number;
};

/**
 * Pings find clients that are gone or do not read. A stream that sends little, such as a watch, would not
 * show it.
 *
 * GOAWAY (RFC 9113, section 6.8) tells a client to open no more streams, and the client closes the connection
 * when it has read all responses. If the hub closed it, requests on their way would be refused and responses
 * could be cut; most clients treat either as a failure.
 */
export function createHttp2Sessions({ idleMs, pingMs }: Http2SessionsOptions) {
  let isClosed = false;
  const leaves = new Map<Http2Session, () => void>();
  const pings = new Set<() => void>();
  let pinging: NodeJS.Timeout | undefined;
  const pingAll = (): void => {
    for (const ping of pings) ping();
  };
  return {
    add(session: ServerHttp2Session): void {
      let streams = 0;
      let cut = 0;
      let isLeaving = false;
      let isUnanswered = false;
      let timer: NodeJS.Timeout | undefined;
      let notice: NodeJS.Timeout | undefined;
      const end = (): void => {
        session.close();
        timer = setTimeout(() => session.destroy(), idleMs);
      };
      const leave = (): void => {
        if (isLeaving || session.destroyed) return;
        isLeaving = true;
        session.goaway(constants.NGHTTP2_NO_ERROR, LAST_STREAM);
        waitIfIdle();
      };
      const waitIfIdle = (): void => {
        clearTimeout(timer);
        if (streams > 0 || session.destroyed) return;
        timer = isLeaving ? setTimeout(end, LINGER_MS) : setTimeout(leave, idleMs);
      };
      const ping = (): void => {
        if (isUnanswered) session.destroy();
        else if (streams > 0 && !session.destroyed) {
          isUnanswered = session.ping(() => {
            isUnanswered = false;
          });
        }
      };
      leaves.set(session, leave);
      if (isClosed) leave();
      pings.add(ping);
      pinging ??= setInterval(pingAll, pingMs).unref();
      waitIfIdle();
      session.on('stream', (stream) => {
        streams += 1;
        clearTimeout(timer);
        stream.once('close', () => {
          streams -= 1;
          if (stream.rstCode !== constants.NGHTTP2_NO_ERROR) cut += 1;
          if (cut === MAX_CUT_STREAMS) {
            leave();
            notice ??= setTimeout(() => session.close(), NOTICE_MS);
          }
          waitIfIdle();
        });
      });
      session.once('close', () => {
        clearTimeout(timer);
        clearTimeout(notice);
        leaves.delete(session);
        pings.delete(ping);
        if (pings.size > 0) return;
        clearInterval(pinging);
        pinging = undefined;
      });
    },
    /**
     * Sends GOAWAY to every client. A session ends when its client closes it, or soon after its last stream.
     */
    close(): void {
      isClosed = true;
      for (const leave of leaves.values()) leave();
    },
  };
}
