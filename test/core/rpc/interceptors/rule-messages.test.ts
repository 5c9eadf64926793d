import { create } from '@bufbuild/protobuf';
import { ConnectError } from '@connectrpc/connect';
import { expect } from 'chai';
import { plainMessage } from '../../../../core/rpc/interceptors/rule-messages.ts';
import { createFindBrokenRules } from '../../../../core/rpc/interceptors/validation.ts';
import { RevokeLicenseRequestSchema } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub } from '../../../support/hub/hub.ts';

describe('messages of rules', () => {
  it('have a singular, and say that a value must not be empty', () => {
    const messages = {
      'must be at least 1 characters': 'must not be empty',
      'map must be at least 1 entries': 'must not be empty',
      'must contain at least 1 item(s)': 'must not be empty',
      'must be at least 16 characters': 'must be at least 16 characters',
      'must be at most 1 characters': 'must be at most 1 character',
      'must be at most 1 bytes': 'must be at most 1 byte',
      'must be at most 11 characters': 'must be at most 11 characters',
      'must contain no more than 1 item(s)': 'must contain no more than 1 item',
      'must contain no more than 64 item(s)': 'must contain no more than 64 items',
      'map must be at most 1 entries': 'must have at most 1 entry',
      'map must be at most 50 entries': 'must have at most 50 entries',
    };
    for (const [given, plain] of Object.entries(messages)) expect(plainMessage(given)).to.equal(plain);
  });

  it('are those of broken rules', async () => {
    const broken = await createFindBrokenRules(RevokeLicenseRequestSchema)(
      create(RevokeLicenseRequestSchema),
    );
    expect(broken).to.deep.equal([
      { field: 'licenseId', message: 'must not be empty' },
      { field: 'reason', message: 'must not be empty' },
    ]);
  });

  it('reach the caller', async () => {
    const hub = await startHub();
    try {
      const error = await hub.admin.revokeLicense({ licenseId: '', reason: '' }).then(
        () => undefined,
        (thrown) => ConnectError.from(thrown),
      );
      expect(error?.rawMessage).to.equal(
        'license_id: must not be empty [string.min_len], and 1 more violation',
      );
    } finally {
      await hub.stop();
    }
  });
});
