// Messages of the hub as hubctl prints them.
import { create } from '@bufbuild/protobuf';
import { timestampFromDate } from '@bufbuild/protobuf/wkt';
import { expect } from 'chai';
import { SIGNING_KEY_STATES } from '../../../cli/views/licensing/app.ts';
import { licenseView } from '../../../cli/views/licensing/license.ts';
import { SLOT_ENVIRONMENTS } from '../../../cli/views/payments/slot.ts';
import { LicenseSchema, LicenseState, SigningKeyState } from '../../../gen/hub/license/v1/license_pb.ts';
import { SlotEnvironment } from '../../../gen/hub/payment/v1/payment_pb.ts';
import { LICENSE_STATES } from '../../../lib/presentation/enum-names.ts';

const ISSUED = timestampFromDate(new Date('2026-03-01T10:30:00.250Z'));

describe('views', () => {
  it('have a word for each state of the API', () => {
    const words = (states: object) =>
      Object.fromEntries(
        Object.entries(states)
          .filter(([name, value]) => typeof value === 'number' && name !== 'UNSPECIFIED')
          .map(([name, value]) => [name.toLowerCase(), value]),
      );
    expect(LICENSE_STATES).to.deep.equal(words(LicenseState));
    expect(SIGNING_KEY_STATES).to.deep.equal(words(SigningKeyState));
    expect(SLOT_ENVIRONMENTS).to.deep.equal(words(SlotEnvironment));
  });

  it('omit what a license does not have and sort its limits', () => {
    const license = create(LicenseSchema, {
      licenseId: 'lic_1',
      app: 'demo',
      keyHint: 'ABCDE',
      state: LicenseState.ACTIVE,
      seats: { limit: -1, used: 2 },
      limits: { projects: -1n, exports: 9007199254740991n },
      createdAt: ISSUED,
      termsVersion: 1,
      keyGeneration: 1,
      keyDerivable: true,
    });
    const view = licenseView(license);
    expect(JSON.stringify(view)).to.equal(
      '{"licenseId":"lic_1","app":"demo","keyHint":"ABCDE","state":"active","seats":-1,"seatsUsed":2,' +
        '"limits":{"exports":9007199254740991,"projects":-1},"ownLimits":{},"features":[],"graceDays":0,' +
        '"createdAt":"2026-03-01T10:30:00.250Z","metadata":{},"signedMetadata":[],"termsVersion":1,' +
        '"keyGeneration":1,"keyDerivable":true}',
    );
  });
});
