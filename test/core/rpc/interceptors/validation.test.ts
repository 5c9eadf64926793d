// Fast validation: it accepts only what the validator accepts, and covers ordinary requests.
import { create, createRegistry, type DescMessage, type Message } from '@bufbuild/protobuf';
import { createValidator } from '@bufbuild/protovalidate';
import { expect } from 'chai';
import fc from 'fast-check';
import { createFastValidation } from '../../../../core/rpc/interceptors/validation.ts';
import { ListAppsRequestSchema } from '../../../../gen/hub/license/v1/license_admin_service_pb.ts';
import {
  ActivateRequestSchema,
  CheckStatusRequestSchema,
} from '../../../../gen/hub/license/v1/license_service_pb.ts';
import { ReceiveCallbackRequestSchema } from '../../../../gen/hub/payment/v1/callback_service_pb.ts';
import { AddSlotRequestSchema } from '../../../../gen/hub/payment/v1/payment_admin_service_pb.ts';
import { file_hub_validate_v1_rules } from '../../../../gen/hub/validate/v1/rules_pb.ts';

const certainlyKeeps = createFastValidation(file_hub_validate_v1_rules);
const validator = createValidator({ registry: createRegistry(file_hub_validate_v1_rules) });

const keeps = (desc: DescMessage, message: Message): boolean =>
  validator.validate(desc, message).kind === 'valid';

const text = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 300 }),
  fc.string({ unit: 'grapheme', minLength: 100, maxLength: 300 }),
  fc.constantFrom('', '1.2.3', '1..2', 'a\0b', 'line\nbreak', '\u202e', 'x'.repeat(256), '😀'.repeat(129)),
);
const activate = fc
  .record({ licenseKey: text, machineFingerprint: text, machineLabel: text, appVersion: text })
  .map((fields) => create(ActivateRequestSchema, fields));
const check = fc
  .record({ licenseId: text, machineFingerprint: fc.option(text, { nil: undefined }) })
  .map(({ licenseId, machineFingerprint }) =>
    create(CheckStatusRequestSchema, {
      licenseId,
      ...(machineFingerprint !== undefined && { machineFingerprint }),
    }),
  );
const callback = fc
  .record({ gateway: text, sessionId: text, fields: fc.dictionary(text, text, { maxKeys: 3 }) })
  .map((fields) => create(ReceiveCallbackRequestSchema, { method: 'POST', ...fields }));

const list = fc
  .record({
    pageSize: fc.oneof(fc.integer({ min: -3, max: 1_003 }), fc.constantFrom(2 ** 31 - 1, -(2 ** 31))),
    pageToken: text,
  })
  .map((fields) => create(ListAppsRequestSchema, fields));

describe('fast validation', () => {
  it('accepts no message that the validator refuses', () => {
    for (const [desc, messages] of [
      [ActivateRequestSchema, activate],
      [CheckStatusRequestSchema, check],
      [ReceiveCallbackRequestSchema, callback],
      [ListAppsRequestSchema, list],
    ] as const) {
      fc.assert(
        fc.property<[Message]>(messages, (message) => !certainlyKeeps(desc, message) || keeps(desc, message)),
        { numRuns: 500 },
      );
    }
  });

  it('covers the messages of applications, providers and hubctl lists', () => {
    const ordinary = [
      create(ActivateRequestSchema, {
        licenseKey: '7Q2M4-CSEMJ-815H3-39C1T-3VCC9',
        machineFingerprint: 'machine',
        appVersion: '2.14.0',
      }),
      create(CheckStatusRequestSchema, { licenseId: 'lic_1', machineFingerprint: 'machine' }),
      create(ReceiveCallbackRequestSchema, {
        gateway: 'gateway_one',
        method: 'POST',
        fields: { status: 'VALID' },
      }),
      create(ListAppsRequestSchema, { pageSize: 1_000 }),
    ];
    const schemas = [
      ActivateRequestSchema,
      CheckStatusRequestSchema,
      ReceiveCallbackRequestSchema,
      ListAppsRequestSchema,
    ];
    expect(ordinary.map((message, at) => certainlyKeeps(schemas[at] as DescMessage, message))).to.deep.equal([
      true,
      true,
      true,
      true,
    ]);
  });

  it('does not decide about messages with other rules', () => {
    expect(certainlyKeeps(AddSlotRequestSchema, create(AddSlotRequestSchema, {}))).to.equal(false);
  });
});
