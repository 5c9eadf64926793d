// Sends one mail over SMTP, and says whether another attempt may succeed.
import { readFileSync } from 'node:fs';
import type {
  Mail as NodeMailer,
  NodemailerError,
  SMTPPoolOptions,
  SMTPPoolSentMessageInfo,
} from 'nodemailer';
import { codeOf, messageOf } from '../../../lib/caught-error.ts';
import { unlessAborted, withDeadline } from '../../../lib/net/deadline.ts';
import { onDemand } from '../../../lib/on-demand.ts';
import type { Secret } from '../../secret.ts';
import type { Content } from '../content/placeholder-values.ts';
import { type Recipient, withoutRecipient } from './redact.ts';
import { isMailAddress, type MailFrom, parseSmtpUrl } from './smtp-address.ts';

export type MailConfig = {
  /** `smtp://` or `smtps://`. */
  readonly smtpUrl: Secret<string>;
  readonly from: MailFrom;
  /** PEM file: certificate authority of the mail server. */
  readonly caFile?: string | undefined;
};

export type OutgoingMail = Content & {
  readonly to: Recipient;
  /** Without angle brackets. */
  readonly messageId: string;
};

/** Texts contain no email address, and not the name of the recipient. */
export type SendResult =
  | { readonly kind: 'sent'; readonly response: string }
  /** Another attempt may succeed. */
  | { readonly kind: 'deferred'; readonly problem: string; readonly response: string }
  /** The server refuses this mail. */
  | { readonly kind: 'refused'; readonly problem: string; readonly response: string }
  /** The hub is stopping; the server may have accepted the mail or not. */
  | { readonly kind: 'aborted' };

export type Mailer = ReturnType<typeof createMailer>;

export type MailerOptions = {
  readonly config: MailConfig;
  /** Maximum milliseconds to send a mail, connection included. Default: a minute. */
  readonly timeoutMs?: number;
  /** Aborts mails in progress. */
  readonly signal?: AbortSignal;
};

/** Connections of one process. */
export const MAX_CONNECTIONS = 4;
export const SEND_TIMEOUT_MS = 60_000;
/** Servers may close a connection that is idle for five minutes. */
const IDLE_MS = 60_000;
const MAX_RESPONSE_BYTES = 64 * 1024;
const KEPT_CHARACTERS = 500;

export function createMailer({ config, timeoutMs = SEND_TIMEOUT_MS, signal }: MailerOptions) {
  const { from } = config;
  // After a failure, the next mail reads the file again.
  const transport = onDemand(() => openTransport(config, timeoutMs));
  return {
    /** The domain of the addresses of mails and of their Message-IDs. */
    domain: from.address.split('@').at(-1) ?? '',

    /** Never rejects. */
    async send(mail: OutgoingMail, limitMs = timeoutMs): Promise<SendResult> {
      const { to, subject, text, html, messageId } = mail;
      if (!isMailAddress(to.address)) {
        const problem = 'the hub cannot mail to the form of this email address: correct it';
        return { kind: 'refused', problem, response: '' };
      }
      try {
        const opened = await transport.get();
        const info = await withDeadline(limitMs, signal, (ending) =>
          opened.sendMail({
            from: { ...from },
            to: { name: onOneLine(to.name), address: to.address },
            // Not taken from the headers.
            envelope: { from: from.address, to: [to.address] },
            subject: onOneLine(subject),
            text,
            ...(html !== '' && { html }),
            messageId: `<${messageId}>`,
            // RFC 3834: no automatic answers.
            headers: { 'Auto-Submitted': 'auto-generated' },
            disableFileAccess: true,
            disableUrlAccess: true,
            signal: ending,
          }),
        );
        return { kind: 'sent', response: shorten(withoutRecipient(info.response, to)) };
      } catch (error) {
        if (signal?.aborted) return { kind: 'aborted' };
        return failureOf(error, to, limitMs);
      }
    },

    /** Connects and logs in. @throws Error that says why it cannot, without the password */
    async verify(): Promise<void> {
      const opened = await transport.get();
      try {
        await withDeadline(timeoutMs, signal, (ending) => unlessAborted(opened.verify(), ending));
      } catch (error) {
        const { problem, response } = failureOf(error, { name: '', address: '' }, timeoutMs);
        throw new Error(response === '' ? problem : `${problem}: ${response}`);
      }
    },

    /** Closes all connections. */
    close(): void {
      void transport.existing().then((opened) => opened?.close({ force: true }));
    },
  };
}

type Transport = NodeMailer<SMTPPoolSentMessageInfo, SMTPPoolOptions>;

/** The library is loaded with the first mail: hubs without SMTP never need it. */
async function openTransport({ smtpUrl, caFile }: MailConfig, timeoutMs: number): Promise<Transport> {
  const { host, port, tls, login } = parseSmtpUrl(smtpUrl.reveal());
  const ca = caFile === undefined ? undefined : readFileSync(caFile, 'utf8');
  const { createTransport } = await import('nodemailer');
  return createTransport({
    pool: true,
    host,
    port,
    secure: tls === 'implicit',
    requireTLS: tls === 'starttls',
    ignoreTLS: tls === 'off',
    ...(login && { auth: { user: login.user, pass: login.password.reveal() }, forceAuth: true }),
    // Explicit, because an environment variable could turn it off.
    tls: { rejectUnauthorized: true, ...(ca !== undefined && { ca }) },
    maxConnections: MAX_CONNECTIONS,
    // The queue of the hub retries.
    maxRequeues: 0,
    idleTimeout: IDLE_MS,
    connectionTimeout: timeoutMs,
    greetingTimeout: timeoutMs,
    socketTimeout: timeoutMs,
    maxResponseSize: MAX_RESPONSE_BYTES,
  });
}

type Failure = Extract<SendResult, { kind: 'deferred' | 'refused' }>;

/**
 * Codes of failures that are about this mail. A refused login or greeting is about the configuration or the
 * server.
 */
const ABOUT_MAIL: readonly unknown[] = ['EENVELOPE', 'EMESSAGE'];

function failureOf(error: unknown, to: Recipient, timeoutMs: number): Failure {
  const { response = '', responseCode = 0 } = error as Partial<NodemailerError>;
  const isPermanent = responseCode >= 500 && ABOUT_MAIL.includes(codeOf(error));
  return {
    kind: isPermanent ? 'refused' : 'deferred',
    problem: reasonOf(error, responseCode, timeoutMs),
    response: shorten(withoutRecipient(String(response), to)),
  };
}

const REASONS: Readonly<Record<string, string>> = {
  ECONNREFUSED: 'the mail server refuses connections',
  ECONNRESET: 'the mail server closed the connection',
  ECONNECTION: 'the mail server closed the connection',
  ESOCKET: 'the connection to the mail server failed',
  EDNS: 'the name of the mail server does not resolve',
  ETIMEDOUT: 'the mail server does not answer in time',
  ETLS: 'the mail server does not offer TLS, or its certificate is not trusted',
  EAUTH: 'the mail server refuses the user or the password of HUB_SMTP_URL',
  ENOAUTH: 'the mail server does not offer a login, but HUB_SMTP_URL has a user and a password',
  EPROTOCOL: 'the mail server does not speak SMTP',
  ENOENT: 'the file of HUB_SMTP_CA cannot be read',
  EACCES: 'the file of HUB_SMTP_CA cannot be read',
};

/** A sentence of the hub's own: messages of the library may contain addresses. */
function reasonOf(error: unknown, responseCode: number, timeoutMs: number): string {
  if (error instanceof Error && error.name === 'TimeoutError') return tooLate(timeoutMs);
  const code = String(codeOf(error) ?? '');
  if (code === 'EABORT') return tooLate(timeoutMs);
  const cause = messageOf(error);
  if (/certificate|self-signed|altname/i.test(cause))
    return 'the certificate of the mail server is not trusted';
  if (ABOUT_MAIL.includes(code) && responseCode > 0) {
    return responseCode >= 500
      ? 'the mail server refuses the mail'
      : 'the mail server does not accept the mail at the moment';
  }
  if (code === 'ESOCKET' && /ECONNREFUSED/.test(cause)) return 'the mail server refuses connections';
  return REASONS[code] ?? `the mail could not be sent${/^[A-Z][A-Z0-9_]*$/.test(code) ? ` (${code})` : ''}`;
}

const tooLate = (timeoutMs: number): string => `the mail was not accepted within ${timeoutMs / 1000} seconds`;

/** Control characters could add headers. */
function onOneLine(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}]+/gu, ' ').trim();
}

function shorten(text: string): string {
  return [...onOneLine(text)].slice(0, KEPT_CHARACTERS).join('');
}
