// What limited tokens reach: every RPC of the contract, about things inside the scope, outside of it, and about nothing.
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  type DescMethodStreaming,
  type DescMethodUnary,
  getOption,
  ScalarType,
} from '@bufbuild/protobuf';
import { Code, ConnectError, createClient, type Transport } from '@connectrpc/connect';
import { expect } from 'chai';
import { access, Role, Subject, subject } from '../../../gen/hub/access/v1/access_pb.ts';
import { AccessService } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { TokenService } from '../../../gen/hub/access/v1/token_service_pb.ts';
import { CustomerService } from '../../../gen/hub/customer/v1/customer_service_pb.ts';
import { ErrorDetailSchema } from '../../../gen/hub/error/v1/error_pb.ts';
import { LicenseAdminService } from '../../../gen/hub/license/v1/license_admin_service_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { OfferService } from '../../../gen/hub/order/v1/offer_service_pb.ts';
import { transportTo } from '../../support/hub/hub.ts';
import { issueLicense } from '../../support/hub/license.ts';
import {
  addDuplicate,
  addRefund,
  callBack,
  callbackFields,
  createSession,
  GATEWAYS,
  type GatewayName,
  type Payments,
  pay,
  SLOTS,
  startPayments,
} from '../../support/hub/payment.ts';
import { buy, createOffer } from '../../support/hub/sales.ts';
import { activate } from '../../support/network/rest.ts';
import { contractServices } from './contract-services.ts';

/** One of each kind of thing, by Subject, that belong to one app and one slot. */
type Things = Readonly<Record<number, string>>;

const methods = (await contractServices()).flatMap((service) => service.methods);
const ours = methods.filter(({ parent }) => parent.typeName.startsWith('hub.'));
const open = ours.filter((method) => getOption(method, access).anyScope);
const limited = ours.filter((method) => !open.includes(method));

/** What belongs to an app. An order belongs to an app and to a slot; the rest belongs to a slot. */
const APPS: ReadonlySet<number> = new Set([
  Subject.APP,
  Subject.LICENSE,
  Subject.LICENSE_KEY,
  Subject.SEAT,
  Subject.CUSTOMER,
  Subject.OFFER,
  Subject.MAIL,
]);

describe('a limited token', () => {
  let payments: Payments;
  let inside: Things;
  let outside: Things;
  /** Things that belong to no app and to no slot. */
  let nobodys: Things;
  let token: string;
  let appOnly: string;
  let slotOnly: string;

  before(async () => {
    // No mail server listens at this port: mails stay in the queue.
    const mail = { smtpUrl: 'smtp://127.0.0.1:9', mailFrom: { name: '', address: 'shop@example.com' } };
    payments = await startPayments({ settings: mail });
    inside = await makeThings('gateway_one');
    outside = await makeThings('gateway_two');
    nobodys = await makeNobodys();
    const apps = [inside[Subject.APP] ?? ''];
    const slots = [inside[Subject.SLOT] ?? ''];
    [token, appOnly, slotOnly] = await Promise.all([
      createToken({ apps, slots }),
      createToken({ apps }),
      createToken({ slots }),
    ]);
  });
  after(() => payments.stop());

  it('gets its limits', async () => {
    const caller = await createClient(AccessService, to(token)).getCaller({});
    expect(caller.apps).to.deep.equal([inside[Subject.APP]]);
    expect(caller.slots).to.deep.equal([inside[Subject.SLOT]]);
  });

  it('may freely call only RPCs about itself', () => {
    expect(open.map(({ name }) => name)).to.deep.equal(['GetCaller']);
  });

  for (const method of limited) {
    const fields = subjectsOf(method.input);
    const name = `${method.parent.typeName}/${method.name}`;

    it(`${name}: is refused if the request names no app or slot`, async () => {
      expect(await outcome(token, method, {})).to.equal('refused');
    });

    for (const { path, about } of fields) {
      const fieldName = path.map((field) => field.name).join('.');
      it(`${name}: by ${fieldName} reaches only objects in its scope`, async () => {
        const call = (by: string, things: Things) =>
          outcome(by, method, requestWith(path, things[about] ?? ''));
        expect(await call(token, inside), 'inside').to.equal('admitted');
        for (const other of about === Subject.ORDER
          ? [appOnly, slotOnly]
          : [APPS.has(about) ? slotOnly : appOnly]) {
          expect(await call(other, inside), 'inside, of the other kind').to.equal('not there');
        }
        expect(await call(token, outside), 'outside').to.equal('not there');
        if (about in nobodys) expect(await call(token, nobodys), "nobody's").to.equal('not there');
        for (const text of ['\0', 'no such', 'é'.repeat(300)]) {
          expect(await call(token, { [about]: text }), text).to.equal('not there');
        }
      });
    }
  }

  it('gets the same error for objects outside its scope as for unknown ones', async () => {
    const [method] = ours.filter(({ name }) => name === 'GetLicense');
    if (method === undefined) throw new Error('there is no GetLicense');
    const [path] = subjectsOf(method.input).map((field) => field.path);
    const ask = async (licenseId: string) => {
      const error = await failure(token, method, requestWith(path ?? [], licenseId));
      return { message: error?.message, details: JSON.stringify(error?.findDetails(ErrorDetailSchema)) };
    };
    expect(await ask(outside[Subject.LICENSE] ?? '')).to.deep.equal(
      await ask('lic_01k8e7qk3vf2tb5s0w9m4x6ydz'),
    );
  });

  it('cannot erase a customer, whose charge sessions can be in any slot', async () => {
    const { hub, sessions } = payments;
    const email = 'victim@example.com';
    const { session } = await sessions.createChargeSession({
      slot: outside[Subject.SLOT] ?? '',
      amount: { minorUnits: 10_000n, currency: 'BDT' },
      customer: { name: 'Victim', email },
    });
    const own = createClient(LicenseAdminService, to(appOnly));
    const { licenses } = await own.issueLicenses({ app: inside[Subject.APP] ?? '', customerEmail: email });
    const customerId = licenses[0]?.license?.customerId ?? '';
    const customers = createClient(CustomerService, to(appOnly));
    const { customer } = await customers.getCustomer({ customerId });
    expect(customer?.email).to.equal(email);

    const error = await customers.eraseCustomer({ customerId }).catch(ConnectError.from);
    expect(error).to.be.instanceOf(ConnectError).and.to.include({ code: Code.PermissionDenied });

    const { sessionId = '' } = session ?? {};
    expect((await sessions.getChargeSession({ sessionId })).session?.customer).to.include({ email });
    await createClient(CustomerService, hub.transport).eraseCustomer({ customerId });
    expect((await sessions.getChargeSession({ sessionId })).session?.customer?.email ?? '').to.equal('');
  });

  it('is checked against every request field that identifies something, or one beside it', () => {
    const silent = limited
      .filter((method) => subjectsOf(method.input).length > 0)
      .flatMap((method) => method.input.fields)
      .filter((field) => field.scalar === ScalarType.STRING && /(^|_)(app|slot|id|key)$/.test(field.name))
      .filter((field) => getOption(field, subject) === Subject.UNSPECIFIED)
      .map((field) => field.toString());
    expect(silent).to.deep.equal([
      'field hub.license.v1.IssueLicensesRequest.idempotency_key',
      // Filters the licenses of an app.
      'field hub.license.v1.ListLicensesRequest.customer_id',
      'field hub.license.v1.UpdateLicenseRequest.idempotency_key',
      'field hub.license.v1.RenewLicenseRequest.idempotency_key',
      'field hub.license.v1.RekeyLicenseRequest.idempotency_key',
      'field hub.payment.v1.CreateChargeSessionRequest.idempotency_key',
      'field hub.payment.v1.CreateRefundRequest.idempotency_key',
    ]);
  });

  function to(bearer: string): Transport {
    return transportTo(payments.hub.rpcUrl, bearer);
  }

  async function createToken(scope: { apps?: string[]; slots?: string[] }): Promise<string> {
    const tokens = createClient(TokenService, payments.hub.transport);
    return (await tokens.createToken({ role: Role.ADMIN, ...scope })).token;
  }

  async function makeThings(gateway: GatewayName): Promise<Things> {
    const { hub, admin } = payments;
    const { app, licenseId } = await issueLicense(hub.admin, { customer: gateway });
    // Of another license: the calls of these tests give that one a new key.
    const keyed = await issueLicense(hub.admin, { app });
    const { licenseKey } = keyed;
    const { license } = await hub.admin.getLicense({ licenseId });
    await activate(hub.gatewayUrl, licenseKey, 'machine-1');
    const { seats } = await hub.admin.listSeats({ licenseId: keyed.licenseId });
    const session = await createSession(payments, gateway);
    await callBack(hub.gatewayUrl, gateway, callbackFields(session, 'cancelled'));
    const { callbacks } = await admin.listCallbacks({ sessionId: session.sessionId });
    const slot = SLOTS[gateway];
    const terms = { name: 'processing', slot, basisPoints: 150, slotsMayOverride: true };
    const { rule } = await admin.addFeeRule({ rule: terms });
    const sales = { payments, app, offers: createClient(OfferService, hub.transport) };
    const offer = await createOffer(sales, 'pro');
    const sold = await buy(sales, offer, { gateway });
    await pay(payments, sold.session);
    const order = sold.session.sessionId;
    const { mails } = await createClient(MailService, hub.transport).listMails({ order });
    return {
      [Subject.MAIL]: mails[0]?.mailId ?? '',
      [Subject.OFFER]: offer,
      [Subject.ORDER]: order,
      [Subject.APP]: app,
      [Subject.LICENSE]: licenseId,
      [Subject.LICENSE_KEY]: licenseKey,
      [Subject.SEAT]: seats[0]?.seatId ?? '',
      [Subject.CUSTOMER]: license?.customerId ?? '',
      [Subject.SLOT]: slot,
      [Subject.CHARGE_SESSION]: session.sessionId,
      [Subject.CALLBACK]: callbacks[0]?.callbackId ?? '',
      [Subject.FEE_RULE]: rule?.feeRuleId ?? '',
      [Subject.DUPLICATE_PAYMENT]: await addDuplicate(payments, session),
      [Subject.REFUND]: await addRefund(payments, session),
    };
  }

  async function makeNobodys(): Promise<Things> {
    const { hub, admin } = payments;
    for (const gateway of GATEWAYS) {
      const stray = { status: 'FAILED', tran_id: 'stray', paymentID: 'stray' };
      await callBack(hub.gatewayUrl, gateway, stray);
    }
    const { callbacks } = await admin.listCallbacks({});
    const { rule } = await admin.addFeeRule({ rule: { name: 'tax', basisPoints: 10 } });
    const stray = callbacks.find(({ sessionId }) => sessionId === '')?.callbackId ?? '';
    return { [Subject.CALLBACK]: stray, [Subject.FEE_RULE]: rule?.feeRuleId ?? '' };
  }

  type Outcome = 'admitted' | 'refused' | 'not there';

  async function outcome(bearer: string, method: DescMethod, request: Request): Promise<Outcome> {
    const error = await failure(bearer, method, request);
    if (error === undefined) return 'admitted';
    // A domain error has a detail: the call was let through to fail with it.
    const isDomainError = error.findDetails(ErrorDetailSchema).length > 0;
    if (error.code === Code.PermissionDenied && !isDomainError) return 'refused';
    const isOutside = error.rawMessage.startsWith('the scope of this token');
    if (isOutside) expect(error.findDetails(ErrorDetailSchema)[0]?.code).to.match(/_unknown$/);
    return isOutside ? 'not there' : 'admitted';
  }

  /** Whatever else a call fails for, it was let through to fail for it. */
  async function failure(
    bearer: string,
    method: DescMethod,
    request: Request,
  ): Promise<ConnectError | undefined> {
    const left = new AbortController();
    const headers = { authorization: `Bearer ${bearer}` };
    try {
      if (isUnary(method)) {
        await to(bearer).unary(method, undefined, undefined, headers, request);
      } else {
        const streaming = method as DescMethodStreaming; // not unary
        const { message } = await to(bearer).stream(
          streaming,
          left.signal,
          undefined,
          headers,
          once(request),
        );
        await message[Symbol.asyncIterator]().next();
      }
      return undefined;
    } catch (error) {
      return ConnectError.from(error);
    } finally {
      left.abort();
    }
  }
});

type Request = Record<string, unknown>;
type SubjectPath = { readonly path: readonly DescField[]; readonly about: number };

/** What the contract says a request is about, read without the code under test. */
function subjectsOf(message: DescMessage, above: readonly DescField[] = []): SubjectPath[] {
  return message.fields.flatMap((field) => {
    const path = [...above, field];
    const about = getOption(field, subject);
    if (about !== Subject.UNSPECIFIED) return [{ path, about }];
    const inner = field.fieldKind === 'message' && above.length < 3 ? field.message : undefined;
    return inner ? subjectsOf(inner, path) : [];
  });
}

function requestWith(path: readonly DescField[], value: string): Request {
  return path.reduceRight<unknown>((inner, { localName }) => ({ [localName]: inner }), value) as Request; // of at least one field
}

function isUnary(method: DescMethod): method is DescMethodUnary {
  return method.methodKind === 'unary';
}

async function* once<T>(value: T): AsyncIterable<T> {
  yield value;
}
