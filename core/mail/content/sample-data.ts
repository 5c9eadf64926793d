// Sample data for previews and test mails.
import type { MailKindName } from '../entities.ts';
import type { Values } from './placeholder-values.ts';

const LICENSE_ID = 'lic_01k8e7qk3vf2tb5s0w9m4x6ydz';

const LICENSE: Readonly<Record<MailKindName, Values['licenses'][number]>> = {
  // The check symbols are wrong, so that no hub accepts it.
  license: { licenseId: LICENSE_ID, licenseKey: 'SAMPL-EKEYX-00000-00000-00000' },
  renewal: { licenseId: LICENSE_ID, expiresOn: '2027-12-31' },
  seats: { licenseId: LICENSE_ID, seatsAdded: '5' },
};

export function sampleValues(kind: MailKindName, appName: string): Values {
  return {
    customerName: 'Ada Lovelace',
    appName,
    offerName: `${appName} Pro`,
    orderId: 'ord_01k8e7v0c5eaxbgqm2tq1h9n3r',
    quantity: '1',
    amount: '9.00 USD',
    paidOn: '2026-12-31',
    downloadUrl: 'https://example.com/download',
    licenses: [LICENSE[kind]],
  };
}
