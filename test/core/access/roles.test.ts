// What a separate gateway and a shop may call: every RPC of the contract against a list.
import { type DescMethod, type DescMethodUnary, getOption } from '@bufbuild/protobuf';
import { Code, ConnectError, createClient } from '@connectrpc/connect';
import { expect } from 'chai';
import { accessRule } from '../../../core/access/authorize.ts';
import { Role, Subject, subject } from '../../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { startHub, type TestHub, transportTo } from '../../support/hub/hub.ts';
import { issueLicense, type TestLicense } from '../../support/hub/license.ts';
import { contractServices } from './contract-services.ts';

const methods = (await contractServices())
  .flatMap((service) => service.methods)
  .filter(({ parent }) => parent.typeName.startsWith('hub.'));

const GATEWAY_MAY = [
  'GetCaller',
  'Activate',
  'CheckStatus',
  'Deactivate',
  'GetFreeLimits',
  'GetJwks',
  'GetPublicKey',
  'GetReturnAddress',
  'ReceiveCallback',
  'BuyOffer',
  'GetClaimedOrder',
  'GetOfferPage',
];

/** Reads and changes of licenses; each needs a token that is limited to apps. */
const SHOP_MAY_WITH_AN_APP = [
  'GetCustomer',
  'IssueLicenses',
  'ListCustomers',
  'RekeyLicense',
  'RenewLicense',
  'ResumeLicense',
  'SuspendLicense',
  'UpdateLicense',
  'ListEvents',
  'WatchEvents',
];

const SHOP_MAY_NEVER = [
  'RevokeLicense',
  'ReinstateLicense',
  'TransferLicense',
  'CreateApp',
  'UpdateApp',
  'RotateSigningKey',
  'WithdrawSigningKey',
  'SetLimitProfile',
  'GetLicenseKey',
  'EraseCustomer',
  'CreateCustomer',
  'UpdateCustomer',
  'ListAuditEntries',
  'ExportAuditLog',
  'CreateToken',
];

describe('the role', () => {
  let hub: TestHub;
  before(async () => {
    hub = await startHub();
  });
  after(() => hub.stop());

  const createToken = async (role: Role, apps: string[] = []) =>
    (await createClient(TokenService, hub.transport).createToken({ role, apps })).token;
  const adminAs = (token: string) => createClient(LicenseAdminService, transportTo(hub.rpcUrl, token));

  it('gateway may call what the public gateway passes on, and nothing else', () => {
    const allowed = methods.filter((method) => accessRule(method).roles.has('gateway'));
    expect(namesOf(allowed)).to.deep.equal([...GATEWAY_MAY].sort());
    expect(methods.filter((method) => accessRule(method).appScopedRoles.has('gateway'))).to.deep.equal([]);
  });

  it('shop may sell and see orders, and nothing else, with a token that is limited to an app', () => {
    const allowed = methods.filter((method) => accessRule(method).appScopedRoles.has('shop'));
    expect(namesOf(allowed)).to.deep.equal([
      'CreateChargeSession',
      'GetOffer',
      'GetOrder',
      'ListOffers',
      'ListOrders',
    ]);
    const always = methods.filter((method) => accessRule(method).roles.has('shop'));
    expect(namesOf(always)).to.deep.equal(['GetCaller']);
  });

  it('gateway cannot issue, read or re-key a license', async () => {
    const { app, licenseId } = await issueLicense(hub.admin);
    for (const token of [await createToken(Role.GATEWAY), await createToken(Role.GATEWAY, [app])]) {
      const gateway = adminAs(token);
      expect(await codeOf(gateway.issueLicenses({ app }))).to.equal(Code.PermissionDenied);
      expect(await codeOf(gateway.getLicense({ licenseId }))).to.equal(Code.PermissionDenied);
      expect(await codeOf(gateway.rekeyLicense({ licenseId }))).to.equal(Code.PermissionDenied);
    }
  });

  it('service changes licenses only with an app', () => {
    const allowed = methods.filter((method) => accessRule(method).appScopedRoles.has('service'));
    expect(namesOf(allowed)).to.deep.equal([...SHOP_MAY_WITH_AN_APP].sort());
    const never = methods.filter(({ name }) => SHOP_MAY_NEVER.includes(name));
    expect(namesOf(never)).to.deep.equal([...SHOP_MAY_NEVER].sort());
    for (const method of never) {
      const { roles, appScopedRoles } = accessRule(method);
      expect(roles.has('service') || appScopedRoles.has('service'), method.name).to.equal(false);
    }
  });

  it('service without an app gets an error that says what it needs', async () => {
    const error = await adminAs(await createToken(Role.SERVICE))
      .issueLicenses({ app: 'a' })
      .catch(String);
    expect(error).to.contain('only with a token limited to apps');
  });

  it('service with an app changes licenses of that app and sees none of another', async () => {
    const own = await issueLicense(hub.admin, { customer: 'Own' });
    const other = await issueLicense(hub.admin, { customer: 'Other' });
    const token = await createToken(Role.SERVICE, [own.app]);
    const anywhere = await createToken(Role.SERVICE);
    const [inside, outside] = [await thingsOf(own), await thingsOf(other)];
    const unary = methods.filter(({ methodKind }) => methodKind === 'unary');
    for (const method of unary.filter(({ name }) => SHOP_MAY_WITH_AN_APP.includes(name))) {
      for (const field of method.input.fields) {
        const about = getOption(field, subject);
        if (about === Subject.UNSPECIFIED) continue;
        const call = (by: string, things: Things) =>
          codeOf(callAny(by, method, { [field.localName]: things[about] ?? '' }));
        const what = `${method.name} by ${field.name}`;
        expect(await call(token, inside), what).not.to.equal(Code.PermissionDenied);
        expect(await call(token, outside), what).to.equal(Code.NotFound);
        expect(await call(anywhere, inside), what).to.equal(Code.PermissionDenied);
      }
    }
    expect((await adminAs(token).issueLicenses({ app: own.app })).licenses).to.have.lengthOf(1);
    expect(await codeOf(adminAs(token).revokeLicense({ licenseId: own.licenseId, reason: 'x' }))).to.equal(
      Code.PermissionDenied,
    );
  });

  type Things = Readonly<Record<number, string>>;

  async function thingsOf({ app, licenseId }: TestLicense): Promise<Things> {
    const { license } = await hub.admin.getLicense({ licenseId });
    const customerId = license?.customerId ?? '';
    return { [Subject.APP]: app, [Subject.LICENSE]: licenseId, [Subject.CUSTOMER]: customerId };
  }

  function callAny(token: string, method: DescMethod, request: Record<string, unknown>): Promise<unknown> {
    return transportTo(hub.rpcUrl, token).unary(
      method as DescMethodUnary, // those of SHOP_MAY_WITH_AN_APP are
      undefined,
      undefined,
      undefined,
      request,
    );
  }
});

function namesOf(found: readonly DescMethod[]): string[] {
  return found.map(({ name }) => name).sort();
}

async function codeOf(call: Promise<unknown>): Promise<Code | undefined> {
  return call.then(
    () => undefined,
    (error) => ConnectError.from(error).code,
  );
}
