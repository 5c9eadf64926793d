// Explains an RPC error, and what to do about it.
import { Code, ConnectError } from '@connectrpc/connect';

/** Returns one or two sentences. */
export function explain(error: unknown): string {
  const { code, rawMessage, metadata } = ConnectError.from(error);
  const said = sentence(rawMessage);
  switch (code) {
    case Code.Unauthenticated:
      return 'The hub does not accept this token. It may be mistyped, expired or revoked.';
    case Code.PermissionDenied:
      return `Your token may not do this: ${said}`;
    case Code.ResourceExhausted: {
      const seconds = metadata.get('retry-after');
      return `${said}${seconds ? ` Try again in ${seconds} seconds.` : ''}`;
    }
    case Code.DeadlineExceeded:
      return 'The hub did not answer in time. It may be overloaded; see its log.';
    case Code.Internal:
      return `The hub failed: ${said} See its log at the current time.`;
    case Code.Unavailable:
      return `The hub cannot do this now: ${said}`;
    case Code.Unknown:
      return 'The hub cannot be reached. Check that it is running and that the connection to it (tunnel, VPN, proxy) is up.';
    default:
      return said;
  }
}

/** Begins with a capital and ends with a full stop. */
export function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'No reason was given.';
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
