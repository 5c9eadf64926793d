// The terms and the history of a license.
import type { License } from '../../../gen/hub/license/v1/license_pb.ts';
import { periodText } from '../../../lib/presentation/calendar.ts';
import { Facts, pairFacts } from '../components/facts.tsx';
import { limitsText, Moment, Seats, WholeId } from '../components/inline.tsx';
import { linkTo } from '../route.ts';

export function LicenseFacts({ license }: { readonly license: License }) {
  const { customerId, validFor, suspendedAt, revokedAt, graceEndsAt } = license;
  return (
    <Facts
      facts={[
        ['License', <WholeId key="id" id={license.licenseId} />],
        ['App', license.app],
        ['Key ends with', <code key="key">{license.keyHint}</code>],
        [
          'Key',
          license.keyDerivable ? `number ${license.keyGeneration}` : 'imported; the hub cannot show it',
        ],
        [
          'Customer',
          customerId && (
            <a href={linkTo(['customers', customerId])}>{license.customer || 'erased customer'}</a>
          ),
        ],
        ['Seats', <Seats key="seats" seats={license.seats} />],
        ['Limit profile', license.limitProfile],
        ['Limits', limitsText(license.limits)],
        ['Features', license.features.join(', ')],
        ['Offline lease', license.leaseDays === undefined ? 'no bound' : `${license.leaseDays} days`],
        ['Valid', validFor && `${periodText(validFor)} from the first activation`],
        ['Expires', !validFor && <Moment key="expires" at={license.expiresAt} none="never" />],
        ['Grace ends', graceEndsAt],
        ['Last active', license.lastActiveOn ?? 'never'],
        ['Terms version', license.termsVersion],
        ['Issued', license.createdAt],
        ['Suspended', suspendedAt],
        ['Why suspended', license.suspendReason],
        ['Revoked', revokedAt],
        ['Reason', license.revokeReason],
        ...pairFacts(license.metadata, 'Metadata: '),
        ['Signed metadata', license.signedMetadata.join(', ')],
      ]}
    />
  );
}
