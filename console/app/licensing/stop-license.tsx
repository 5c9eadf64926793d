// Suspends and resumes, revokes and reinstates a license.
import { Confirm } from '../components/confirm.tsx';
import type { LicenseActionProps } from './action-props.ts';

export function Suspend({ who, license, onDone }: LicenseActionProps) {
  const { licenseId, keyHint } = license;
  const suspend = async (reason: string): Promise<string> => {
    await who.hub.licenses.suspendLicense({ licenseId, reason });
    await onDone();
    return `The license …${keyHint} is suspended.`;
  };
  return (
    <Confirm action="Suspend" question="Suspend this license?" asksReason dangerous run={suspend}>
      <p>
        Activation and status checks fail on all machines until you resume the license. {offlineText(license)}
      </p>
      <p>Machines keep their seats. Resuming undoes it.</p>
    </Confirm>
  );
}

export function Resume({ who, license, onDone }: LicenseActionProps) {
  const { licenseId, keyHint } = license;
  const resume = async (): Promise<string> => {
    await who.hub.licenses.resumeLicense({ licenseId });
    await onDone();
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

export function Revoke({ who, license, onDone }: LicenseActionProps) {
  const { licenseId, keyHint } = license;
  const revoke = async (reason: string): Promise<string> => {
    await who.hub.licenses.revokeLicense({ licenseId, reason });
    await onDone();
    return `The license …${keyHint} is revoked.`;
  };
  return (
    <Confirm action="Revoke" question="Revoke this license?" word={keyHint} asksReason dangerous run={revoke}>
      <p>
        {license.customer ? `${license.customer} is` : 'Its customer is'} refused activation and status checks
        from now on, on all machines. {offlineText(license)} It can be reinstated.
      </p>
    </Confirm>
  );
}

export function Reinstate({ who, license, onDone }: LicenseActionProps) {
  const { licenseId, keyHint } = license;
  const reinstate = async (): Promise<string> => {
    await who.hub.licenses.reinstateLicense({ licenseId });
    await onDone();
    return `The license …${keyHint} is valid again.`;
  };
  return (
    <Confirm action="Reinstate" question="Undo the revocation?" run={reinstate}>
      <p>Machines keep their seats. Their next check reports the license as valid.</p>
    </Confirm>
  );
}

function offlineText({ leaseDays }: LicenseActionProps['license']): string {
  return leaseDays === undefined
    ? 'A machine that stays offline keeps working: its copy has no lease.'
    : `A machine that stays offline stops when its lease ends, after ${leaseDays} days at most.`;
}
