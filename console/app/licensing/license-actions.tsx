// What the caller may do with a license in its state.
import { type License, LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { Confirm } from '../components/confirm.tsx';
import { useSignedIn } from '../sign-in-state.ts';
import { EditLicense } from './edit-license.tsx';
import { Rekey, ShowKey } from './license-key.tsx';
import { RenewLicense } from './renew-license.tsx';
import { TransferLicense } from './transfer-license.tsx';

type LicenseProps = { readonly license: License };

export function LicenseActions(props: LicenseProps) {
  const { license } = props;
  const { may } = useSignedIn();
  const isRevoked = license.state === LicenseState.REVOKED;
  const isSuspended = license.suspendedAt !== undefined;
  return (
    <>
      {may('licenses.updateLicense') && <EditLicense {...props} />}
      {may('licenses.renewLicense') && !isRevoked && license.expiresAt && <RenewLicense {...props} />}
      {may('licenses.transferLicense') && may('customers.listCustomers') && <TransferLicense {...props} />}
      {may('licenses.getLicenseKey') && license.keyDerivable && <ShowKey {...props} />}
      {may('licenses.rekeyLicense') && !isRevoked && <Rekey {...props} />}
      {may('licenses.suspendLicense') && !isRevoked && !isSuspended && <Suspend {...props} />}
      {may('licenses.resumeLicense') && isSuspended && <Resume {...props} />}
      {may('licenses.revokeLicense') && !isRevoked && <Revoke {...props} />}
      {may('licenses.reinstateLicense') && isRevoked && <Reinstate {...props} />}
    </>
  );
}

function Suspend({ license }: LicenseProps) {
  const { hub } = useSignedIn();
  const { licenseId, keyHint } = license;
  const suspend = async (reason: string): Promise<string> => {
    await hub.licenses.suspendLicense({ licenseId, reason });
    return `The license …${keyHint} is suspended.`;
  };
  return (
    <Confirm action="Suspend" question="Suspend this license?" asksReason dangerous run={suspend}>
      <p>
        Activation and soft checks fail on all machines until you resume the license. {offlineText(license)}
      </p>
      <p>Machines keep their seats. Resuming undoes it.</p>
    </Confirm>
  );
}

function Resume({ license }: LicenseProps) {
  const { hub } = useSignedIn();
  const { licenseId, keyHint } = license;
  const resume = async (): Promise<string> => {
    await hub.licenses.resumeLicense({ licenseId });
    return `The license …${keyHint} is resumed.`;
  };
  return (
    <Confirm action="Resume" question="Resume this license?" run={resume}>
      <p>
        Machines have kept their seats, and their next check reports the license as valid, unless it has
        expired. The suspension does not extend it.
      </p>
    </Confirm>
  );
}

function Revoke({ license }: LicenseProps) {
  const { hub } = useSignedIn();
  const { licenseId, keyHint } = license;
  const revoke = async (reason: string): Promise<string> => {
    await hub.licenses.revokeLicense({ licenseId, reason });
    return `The license …${keyHint} is revoked.`;
  };
  return (
    <Confirm action="Revoke" question="Revoke this license?" word={keyHint} asksReason dangerous run={revoke}>
      <p>
        {license.customer ? `${license.customer} is` : 'Its customer is'} refused activation and soft checks
        from now on, on all machines. {offlineText(license)} It can be reinstated.
      </p>
    </Confirm>
  );
}

function Reinstate({ license }: LicenseProps) {
  const { hub } = useSignedIn();
  const { licenseId, keyHint } = license;
  const reinstate = async (): Promise<string> => {
    await hub.licenses.reinstateLicense({ licenseId });
    return `The license …${keyHint} is valid again.`;
  };
  return (
    <Confirm action="Reinstate" question="Undo the revocation?" run={reinstate}>
      <p>Machines keep their seats. Their next check reports the license as valid.</p>
    </Confirm>
  );
}

function offlineText({ leaseDays }: License): string {
  return leaseDays === undefined
    ? 'A machine that stays offline keeps working: its copy has no lease.'
    : `A machine that stays offline stops when its lease ends, after ${leaseDays} days at most.`;
}
