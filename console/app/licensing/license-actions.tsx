// What the caller may do with a license in its state.
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { type License, LicenseState } from '../../../gen/hub/license/v1/license_pb.ts';
import { mayPickCustomer } from '../customers/customer-picker.tsx';
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
  const { may } = who;
  const isRevoked = license.state === LicenseState.REVOKED;
  const isSuspended = license.suspendedAt !== undefined;
  return (
    <>
      {may(method.updateLicense) && <EditLicense {...props} />}
      {may(method.renewLicense) && !isRevoked && license.expiresAt && <RenewLicense {...props} />}
      {may(method.transferLicense) && mayPickCustomer(who) && <TransferLicense {...props} />}
      {may(method.getLicenseKey) && license.keyDerivable && <ShowKey {...props} />}
      {may(method.rekeyLicense) && !isRevoked && <Rekey {...props} />}
      {may(method.suspendLicense) && !isRevoked && !isSuspended && <Suspend {...props} />}
      {may(method.resumeLicense) && isSuspended && <Resume {...props} />}
      {may(method.revokeLicense) && !isRevoked && <Revoke {...props} />}
      {may(method.reinstateLicense) && isRevoked && <Reinstate {...props} />}
    </>
  );
}
