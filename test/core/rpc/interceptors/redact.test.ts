// What the log may show of messages: every message of the contract, with a canary in every field that is secret.
import { createFileRegistry, type DescField, type DescMessage } from '@bufbuild/protobuf';
import { type ReflectMessage, reflect } from '@bufbuild/protobuf/reflect';
import { expect } from 'chai';
import { redacted } from '../../../../core/rpc/interceptors/redact.ts';
import { createCanaries } from '../../../support/hub/canaries.ts';
import { buildImage } from '../../contract/build-image.ts';

/** Fields that sound like secrets and are none. */
const PUBLIC = ['page_token', 'next_page_token', 'idempotency_key', 'public_key'];
/** The names of the credentials of a slot, and whether an endpoint receives license keys. */
const NAMES_ONLY = [
  'hub.event.v1.Endpoint.include_keys',
  'hub.event.v1.EndpointSettings.include_keys',
  'hub.payment.v1.Gateway.credentials',
];
const SOUNDS_SECRET = /(^|_)(key|token|secret|password|passphrase|credential|fingerprint)s?$/;
const NESTING = 3;

describe('logged messages', () => {
  let messages: DescMessage[];
  before(async () => {
    const registry = createFileRegistry(await buildImage());
    messages = [...registry]
      .filter((type) => type.kind === 'message' && type.typeName.startsWith('hub.'))
      .flatMap((type) => (type.kind === 'message' ? [type] : []));
  });

  const isSecret = (field: DescField): boolean => field.proto.options?.debugRedact === true;

  it('hide all fields that the API marks as secret, at any depth', () => {
    const { make, found } = createCanaries();
    let secrets = 0;
    const fill = (message: ReflectMessage, depth: number): ReflectMessage => {
      for (const field of message.fields) {
        if (isSecret(field)) secrets++;
        if (field.fieldKind === 'scalar' && message.get(field) === '') {
          message.set(field, isSecret(field) ? make() : 'shown');
        } else if (field.fieldKind === 'map' && field.mapKind === 'scalar' && isSecret(field)) {
          message.get(field).set('name', make());
        } else if (field.fieldKind === 'message' && depth < NESTING) {
          message.set(field, fill(reflect(field.message), depth + 1));
        } else if (field.fieldKind === 'list' && field.listKind === 'message' && depth < NESTING) {
          message.get(field).add(fill(reflect(field.message), depth + 1));
        }
      }
      return message;
    };
    for (const schema of messages) {
      const filled = fill(reflect(schema), 0);
      const shown = JSON.stringify(redacted(schema, filled.message));
      expect(found(shown), schema.typeName).to.deep.equal([]);
      const texts = schema.fields.filter(
        (field) => field.fieldKind === 'scalar' && filled.get(field) === 'shown',
      );
      if (texts.length > 0) expect(shown, schema.typeName).to.contain('"shown"');
    }
    expect(secrets).to.be.greaterThan(10);
  });

  it('show that a secret is present, and omit an absent one', () => {
    const schema = messages.find(({ typeName }) => typeName === 'hub.license.v1.ActivateRequest');
    if (schema === undefined) throw new Error('there is no ActivateRequest');
    const message = reflect(schema);
    const [key, label] = ['license_key', 'machine_label'].map((name) =>
      schema.fields.find((field) => field.name === name),
    );
    if (key?.fieldKind !== 'scalar' || label?.fieldKind !== 'scalar') throw new Error('they are texts');
    message.set(key, '7Q2M4-KEY');
    message.set(label, 'My laptop');
    expect(redacted(schema, message.message)).to.deep.equal({
      licenseKey: '[secret]',
      machineLabel: 'My laptop',
    });
    expect(message.get(key), 'the message itself stays as it is').to.equal('7Q2M4-KEY');
  });

  it('belong to an API that marks every field with a secret name as secret', () => {
    const fields = messages.flatMap(({ fields }) => fields);
    const open = fields.filter(
      (field) =>
        SOUNDS_SECRET.test(field.name) &&
        field.message === undefined &&
        !PUBLIC.includes(field.name) &&
        !isSecret(field),
    );
    expect(open.map(({ parent, name }) => `${parent.typeName}.${name}`)).to.deep.equal(NAMES_ONLY);
    expect(fields.filter(isSecret).length).to.be.greaterThan(8);
  });
});
