// The certificates of the RPC port, read from files and again when the files change.
import { X509Certificate } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { createSecureContext, type SecureContextOptions } from 'node:tls';
import type { Logger } from 'pino';
import { codeOf, messageOf } from '../../../lib/caught-error.ts';
import { readSecretFile } from '../../../lib/files/secret-file.ts';

export type TlsFiles = {
  /** PEM: the certificate, then its chain. */
  readonly cert: string;
  /** PEM, without a passphrase, readable only by the hub. */
  readonly key: string;
  /** PEM: the CA of client certificates. Undefined: clients are not asked for a certificate. */
  readonly clientCa: string | undefined;
};

export type TlsSource = Awaited<ReturnType<typeof openTls>>;

/** Polls the content: file watchers miss changes of mounts and links. */
const POLL_MS = 2_000;

/** Rejects with an Error that names the file and what is wrong. */
export async function openTls(files: TlsFiles, logger: Logger) {
  const listeners: ((certificates: SecureContextOptions) => void)[] = [];
  let current = await readCertificates(files);
  let lastFailure = '';

  /** Reads the files now. An invalid file is logged once and changes nothing. */
  const reload = async (): Promise<void> => {
    try {
      const found = await readCertificates(files);
      lastFailure = '';
      if (isSame(found, current)) return;
      current = found;
      for (const listener of listeners) listener(found);
      logger.info('the RPC port has new certificates');
    } catch (error) {
      const reason = messageOf(error);
      if (reason !== lastFailure) logger.error({ reason }, 'the RPC port keeps its certificates');
      lastFailure = reason;
    }
  };

  const timer = setInterval(() => void reload(), POLL_MS).unref();
  return {
    asksClients: files.clientCa !== undefined,
    /** The last valid certificates. */
    current: () => current,
    /** When the hub's own certificate expires. */
    expiresAt: () => new X509Certificate(String(current.cert)).validToDate,
    /** Calls `listener` with new certificates. */
    onChange: (listener: (certificates: SecureContextOptions) => void) => listeners.push(listener),
    reload,
    close: () => clearInterval(timer),
  };
}

async function readCertificates({ cert, key, clientCa }: TlsFiles): Promise<SecureContextOptions> {
  const found = {
    cert: await read(cert, 'HUB_RPC_TLS_CERT'),
    key: readKey(key),
    ...(clientCa !== undefined && { ca: await read(clientCa, 'HUB_RPC_TLS_CLIENT_CA') }),
  };
  try {
    createSecureContext(found);
  } catch (error) {
    const reason = messageOf(error);
    throw new Error(`HUB_RPC_TLS_CERT, HUB_RPC_TLS_KEY: ${cert} and ${key} cannot be used: ${reason}`, {
      cause: error,
    });
  }
  return found;
}

async function read(path: string, setting: string): Promise<string> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    throw new Error(`${setting}: ${path} cannot be read (${error.code})`, { cause: error });
  });
  if (/-----BEGIN CERTIFICATE-----/.test(text)) return text;
  throw new Error(`${setting}: ${path} holds no certificate in PEM`);
}

function readKey(path: string): string {
  try {
    return readSecretFile(path, 'TLS key');
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    throw new Error(`HUB_RPC_TLS_KEY: ${path} cannot be read (${code})`, { cause: error });
  }
}

function isSame(one: SecureContextOptions, other: SecureContextOptions): boolean {
  return one.cert === other.cert && one.key === other.key && one.ca === other.ca;
}
