// What went wrong, and what to do about it, in the words of one who reads this at night.
import { Code, ConnectError } from '@connectrpc/connect';

/** A sentence or two. */
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
      return 'The hub did not answer in time. It may be overloaded; its log tells more.';
    case Code.Internal:
      return `The hub failed: ${said} Its log has the reason, under the time of now.`;
    case Code.Unavailable:
      return `The hub cannot do this now: ${said}`;
    case Code.Unknown:
      return 'The hub cannot be reached. Is it running, and is the way to it open (tunnel, VPN, proxy)?';
    default:
      return said;
  }
}

function sentence(text: string): string {
  const trimmed = text.trim();
  if (trimmed === '') return 'No reason was given.';
  const begun = trimmed.charAt(0).toUpperCase() + trimmed.slice(1);
  return /[.!?]$/.test(begun) ? begun : `${begun}.`;
}
