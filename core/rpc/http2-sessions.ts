// What an HTTP/2 connection may ask of the RPC port, and how long it may ask for nothing.
import { constants, type Http2Session, type ServerHttp2Session, type ServerOptions } from 'node:http2';

/**
 * Beyond most of these a client breaks the protocol or floods, and loses its connection. The ones that are Node's own
 * defaults stand here so that they stay what docs/security.md says. (CONTINUATION frames, and answers that a client
 * owes itself to read, to pings and settings, are bounded by nghttp2: 8 a header, 1000 waiting.)
 */
export const HTTP2_LIMITS: ServerOptions = {
  settings: { maxConcurrentStreams: 256, maxHeaderListSize: 16 * 1024 },
  // As by HTTP/1, and the four that begin with a colon.
  maxHeaderListPairs: 104,
  /** Megabytes; beyond it new streams are refused. */
  maxSessionMemory: 64,
  maxSettings: 32,
  maxOutstandingPings: 10,
  // Streams that are taken back as soon as they are opened (CVE-2023-44487): so many at once, and then each second.
  // A gateway takes a call back for each reader that leaves it.
  streamResetBurst: 1_000,
  streamResetRate: 100,
  maxSessionInvalidFrames: 100,
  maxSessionRejectedStreams: 100,
};

/**
 * Streams that were cut before they were done, after which a session takes no new ones, so that its client connects
 * anew. Node goes on counting what such a stream had not sent as memory of the session, and would refuse everything on
 * it in the end.
 */
const MAX_CUT_STREAMS = 32;

const LAST_STREAM = 2 ** 31 - 1;
/** A client that was told to leave, and is owed nothing any more, has so long to do it. */
const LINGER_MS = 500;
/** And one that must leave has so long to open streams that it thinks it may. */
const NOTICE_MS = 1_000;

export type Http2SessionsOptions = {
  /** Sessions without a stream are closed after so long; pings do not count. Those that do not go then are cut. */
  readonly idleMs: number;
  /** Sessions with streams are pinged so often; one that has not answered by the next time is cut. */
  readonly pingMs: number;
};

export type Http2Sessions = {
  add(session: ServerHttp2Session): void;
  /** Each client is told to go; its session ends when it does, or soon after its last stream. */
  close(): void;
};

/**
 * Pings find clients that are gone or do not read: a stream that has little to say, such as a watch, leaves nothing
 * unread by which they show.
 *
 * A client is told to open no more streams (RFC 9113, section 6.8), and ends the connection itself when it has read what
 * it is owed. Closed by the hub, the connection would refuse what is on its way and could cut what is not read yet; most
 * clients take either for a failure.
 */
export function createHttp2Sessions({ idleMs, pingMs }: Http2SessionsOptions): Http2Sessions {
  let isClosed = false;
  const leaves = new Map<Http2Session, () => void>();
  const pings = new Set<() => void>();
  let pinging: NodeJS.Timeout | undefined;
  const pingAll = (): void => {
    for (const ping of pings) ping();
  };
  return {
    add(session) {
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
    close() {
      isClosed = true;
      for (const leave of leaves.values()) leave();
    },
  };
}
