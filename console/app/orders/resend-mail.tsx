// Sends a mail about an order again, after it said what this does.
import type { Mail } from '../../../gen/hub/mail/v1/mail_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { ShortId } from '../components/inline.tsx';
import { type SignedIn, useSignedIn } from '../signed-in.ts';

export function mayResendMails({ may }: SignedIn): boolean {
  return may(MailService.method.resendMail);
}

export function ResendMail({ mail: { mailId, orderId } }: { readonly mail: Mail }) {
  const { hub } = useSignedIn();
  const run = async (): Promise<string> => {
    await hub.mails.resendMail({ mailId });
    return 'The hub sends the mail again.';
  };
  return (
    <Confirm action="Send again" question="Send this mail again?" run={run}>
      <p class="value">
        The hub composes the mail of order <ShortId id={orderId} /> anew and sends it at once, to the present
        address of the customer.
      </p>
      <p>If that fails, the hub tries again.</p>
    </Confirm>
  );
}
