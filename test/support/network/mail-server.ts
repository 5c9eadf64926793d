// A real mail server for tests (smtp-server), which keeps the mails that it accepts.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { SMTPServer, type SMTPServerOptions } from 'smtp-server';
import type { Pair } from './certificates.ts';

export type ReceivedMail = {
  /** Of the envelope. */
  readonly from: string;
  readonly to: readonly string[];
  /** Names in lower case; unfolded and decoded. */
  readonly headers: ReadonlyMap<string, string>;
  readonly text: string;
  /** Empty without HTML. */
  readonly html: string;
  readonly encrypted: boolean;
  /** The user that logged in. */
  readonly user: string | undefined;
};

/** The stages at which a server answers with an error. */
export type Stage = 'greeting' | 'login' | 'recipient' | 'content';

export type MailServer = {
  readonly port: number;
  readonly mails: ReceivedMail[];
  /** Connections so far. */
  connections(): number;
  /** Answers the next `times` exchanges at this stage with an error. */
  refuse(
    stage: Stage,
    refusal: { readonly code: number; readonly message: string; readonly times?: number },
  ): void;
  /** Called with each mail, before the server accepts it. */
  onMail: (mail: ReceivedMail) => void | Promise<void>;
  close(): Promise<void>;
};

export type MailServerOptions = {
  readonly port?: number;
  /** With a certificate the server offers STARTTLS, or speaks TLS from the start. */
  readonly certificate?: Pair;
  readonly implicitTls?: boolean;
  /** The login that it requires. */
  readonly login?: { readonly user: string; readonly password: string };
};

export async function startMailServer(options: MailServerOptions = {}): Promise<MailServer> {
  const { certificate, login } = options;
  const mails: ReceivedMail[] = [];
  const refusals: { stage: Stage; error: Error; left: number }[] = [];
  let connections = 0;
  const refusalAt = (stage: Stage): Error | undefined => {
    const found = refusals.find((each) => each.stage === stage && each.left > 0);
    if (found !== undefined) found.left--;
    return found?.error;
  };
  const settings: SMTPServerOptions = {
    secure: options.implicitTls === true,
    disabledCommands: certificate === undefined ? ['STARTTLS'] : [],
    authOptional: login === undefined,
    // Also without TLS, as servers do on the same machine.
    allowInsecureAuth: true,
    disableReverseLookup: true,
    closeTimeout: 200,
    ...(certificate && { cert: readFileSync(certificate.cert), key: readFileSync(certificate.key) }),
    onConnect(_session, callback) {
      connections++;
      callback(refusalAt('greeting'));
    },
    onAuth({ username, password }, _session, callback) {
      const refusal = refusalAt('login');
      if (refusal !== undefined) return callback(refusal);
      if (username === login?.user && password === login?.password) return callback(null, { user: username });
      callback(new Error('Invalid username or password'));
    },
    onRcptTo: (_address, _session, callback) => callback(refusalAt('recipient')),
    onData(stream, session, callback) {
      const chunks: Buffer[] = [];
      stream.on('data', (chunk: Buffer) => chunks.push(chunk));
      stream.on('end', async () => {
        const refusal = refusalAt('content');
        if (refusal !== undefined) return callback(refusal);
        const { mailFrom, rcptTo } = session.envelope;
        const mail = {
          ...parseMessage(Buffer.concat(chunks).toString('utf8')),
          from: mailFrom ? mailFrom.address : '',
          to: rcptTo.map(({ address }) => address),
          encrypted: session.secure,
          user: typeof session.user === 'string' ? session.user : undefined,
        };
        await server.onMail(mail);
        mails.push(mail);
        callback(null, 'accepted');
      });
    },
  };
  const smtp = new SMTPServer(settings);
  smtp.on('error', () => {}); // clients that hang up
  smtp.listen(options.port ?? 0, '127.0.0.1');
  await once(smtp.server, 'listening');
  const server: MailServer = {
    port: (smtp.server.address() as AddressInfo).port,
    mails,
    connections: () => connections,
    refuse(stage, { code, message, times = 1 }) {
      refusals.push({ stage, error: Object.assign(new Error(message), { responseCode: code }), left: times });
    },
    onMail: () => {},
    close: () => new Promise((resolve) => smtp.close(() => resolve())),
  };
  return server;
}

/** Reads a message of one text, or of alternatives. */
function parseMessage(message: string): Pick<ReceivedMail, 'headers' | 'text' | 'html'> {
  const { headers, body } = splitPart(message);
  const boundary = /boundary="?([^";]+)"?/.exec(headers.get('content-type') ?? '')?.[1];
  const parts =
    boundary === undefined
      ? [{ headers, body }]
      : body
          .split(`--${boundary}`)
          .slice(1, -1)
          .map((part) => splitPart(part.replace(/^\r\n|\r\n$/g, '')));
  const find = (type: string): string => {
    const part = parts.find((each) => each.headers.get('content-type')?.startsWith(type));
    return part === undefined ? '' : decodeBody(part).replaceAll('\r\n', '\n');
  };
  return { headers, text: find('text/plain'), html: find('text/html') };
}

type Part = { readonly headers: ReadonlyMap<string, string>; readonly body: string };

function splitPart(part: string): Part {
  const end = part.indexOf('\r\n\r\n');
  const lines = part
    .slice(0, end)
    .replace(/\r\n[ \t]+/g, ' ')
    .split('\r\n');
  const headers = lines.map((line): [string, string] => {
    const colon = line.indexOf(':');
    return [line.slice(0, colon).toLowerCase(), decodeHeader(line.slice(colon + 1).trim())];
  });
  return { headers: new Map(headers), body: part.slice(end + 4) };
}

/** RFC 2047. */
function decodeHeader(value: string): string {
  return value
    .replace(/\?=\s+=\?/g, '?==?')
    .replace(/=\?utf-8\?([QB])\?([^?]*)\?=/gi, (_, encoding: string, text: string) =>
      encoding.toUpperCase() === 'B'
        ? Buffer.from(text, 'base64').toString()
        : decodeQuotedPrintable(text.replaceAll('_', ' ')),
    );
}

function decodeBody({ headers, body }: Part): string {
  const encoding = headers.get('content-transfer-encoding')?.toLowerCase();
  if (encoding === 'base64') return Buffer.from(body, 'base64').toString();
  return encoding === 'quoted-printable' ? decodeQuotedPrintable(body.replace(/=\r\n/g, '')) : body;
}

function decodeQuotedPrintable(text: string): string {
  const bytes = text.replace(/=([0-9A-F]{2})/gi, (_, hex: string) =>
    String.fromCharCode(Number.parseInt(hex, 16)),
  );
  return Buffer.from(bytes, 'latin1').toString();
}
