// What the caller may do with a license in its state.
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { type License, LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { mayPickCustomer } from '../customers/customer-picker.tsx';
import { canCall } from '../permissions.ts';
import { useSignedIn } from '../signed-in.ts';
import { EditLicense } from './edit-license.tsx';
import { Rekey, ShowKey } from './license-key.tsx';
import { RenewLicense } from './renew-license.tsx';
import { Reinstate, Resume, Revoke, Suspend } from './stop-license.tsx';
import { TransferLicense } from './transfer-license.tsx';

export function LicenseActions(props: { readonly license: License }) {
  const { license } = props;
  const who = useSignedIn();
  const { method } = LicenseAdminService;
  const may = (name: keyof typeof method): boolean => canCall(who.caller, method[name]);
  const isRevoked = license.state === LicenseState.REVOKED;
  const isSuspended = license.suspendedAt !== undefined;
  return (
    <>
      {may('updateLicense') && <EditLicense {...props} />}
      {may('renewLicense') && !isRevoked && license.expiresAt && <RenewLicense {...props} />}
      {may('transferLicense') && mayPickCustomer(who) && <TransferLicense {...props} />}
      {may('getLicenseKey') && license.keyDerivable && <ShowKey {...props} />}
      {may('rekeyLicense') && !isRevoked && <Rekey {...props} />}
      {may('suspendLicense') && !isRevoked && !isSuspended && <Suspend {...props} />}
      {may('resumeLicense') && isSuspended && <Resume {...props} />}
      {may('revokeLicense') && !isRevoked && <Revoke {...props} />}
      {may('reinstateLicense') && isRevoked && <Reinstate {...props} />}
    </>
  );
}
