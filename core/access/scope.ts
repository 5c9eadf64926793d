// Checks requests of limited tokens: each must concern an app or slot within the token's scope, and nothing
// else.
import {
  type DescField,
  type DescMessage,
  type DescMethod,
  getOption,
  hasOption,
  type Message,
  type MessageShape,
} from '@bufbuild/protobuf';
import { reflect } from '@bufbuild/protobuf/reflect';
import { Code, ConnectError } from '@connectrpc/connect';
import { access, Subject, subject } from '../../gen/hub/access/v1/access_pb.ts';
import { HubError, type HubErrorCode } from '../errors.ts';
import type { Caller } from './caller.ts';
import type { Scope } from './entities.ts';

/**
 * Finds the slug of the app, or the name of the slot, that owns a resource. Takes any text; undefined if
 * there is no such resource, or no owner. A customer has several owners: the result is one of `among`, if any
 * is.
 */
export type FindOwner = Readonly<
  Record<OwnedResource, (value: string, among: readonly string[]) => Promise<string | undefined>>
>;

type OwnedResource =
  | 'app'
  | 'license'
  | 'licenseKey'
  | 'seat'
  | 'slot'
  | 'chargeSession'
  | 'callback'
  | 'duplicatePayment'
  | 'refund'
  | 'feeRule'
  | 'customer'
  | 'offer'
  | 'orderApp'
  | 'orderSlot'
  | 'mail';

/** The owner that a resource must have within the scope of the token. */
type SubjectRule = {
  readonly resource: OwnedResource;
  readonly owner: keyof Scope;
  /** A resource outside the scope is reported as if it did not exist. */
  readonly unknown: Extract<HubErrorCode, `${string}_unknown`>;
};

const RULES: Readonly<Record<Subject, readonly SubjectRule[]>> = {
  [Subject.UNSPECIFIED]: [],
  [Subject.APP]: [{ resource: 'app', owner: 'apps', unknown: 'app_unknown' }],
  [Subject.LICENSE]: [{ resource: 'license', owner: 'apps', unknown: 'license_unknown' }],
  [Subject.LICENSE_KEY]: [{ resource: 'licenseKey', owner: 'apps', unknown: 'license_key_unknown' }],
  [Subject.SEAT]: [{ resource: 'seat', owner: 'apps', unknown: 'seat_unknown' }],
  [Subject.SLOT]: [{ resource: 'slot', owner: 'slots', unknown: 'slot_unknown' }],
  [Subject.CHARGE_SESSION]: [{ resource: 'chargeSession', owner: 'slots', unknown: 'session_unknown' }],
  [Subject.CALLBACK]: [{ resource: 'callback', owner: 'slots', unknown: 'callback_unknown' }],
  [Subject.DUPLICATE_PAYMENT]: [
    { resource: 'duplicatePayment', owner: 'slots', unknown: 'duplicate_payment_unknown' },
  ],
  [Subject.REFUND]: [{ resource: 'refund', owner: 'slots', unknown: 'refund_unknown' }],
  [Subject.CUSTOMER]: [{ resource: 'customer', owner: 'apps', unknown: 'customer_unknown' }],
  [Subject.FEE_RULE]: [{ resource: 'feeRule', owner: 'slots', unknown: 'fee_rule_unknown' }],
  [Subject.OFFER]: [{ resource: 'offer', owner: 'apps', unknown: 'offer_unknown' }],
  [Subject.ORDER]: [
    { resource: 'orderApp', owner: 'apps', unknown: 'order_unknown' },
    { resource: 'orderSlot', owner: 'slots', unknown: 'order_unknown' },
  ],
  [Subject.MAIL]: [{ resource: 'mail', owner: 'apps', unknown: 'mail_unknown' }],
};

/** Whether limited tokens may call an RPC with any request. Any token may read the schema. */
export function isOpenToAnyScope(method: DescMethod): boolean {
  if (method.parent.typeName.startsWith('grpc.reflection.')) return true;
  return hasOption(method, access) && getOption(method, access).anyScope;
}

/** A request field that names a resource; `path` leads to it through nested messages. */
export type SubjectField = { readonly path: readonly DescField[]; readonly subject: Subject };

/** The fields of an RPC's request that name resources. */
export function subjectFields(method: DescMethod): readonly SubjectField[] {
  return fieldsOf(method.input, []);
}

function fieldsOf(message: DescMessage, path: readonly DescField[]): SubjectField[] {
  return message.fields.flatMap((field) => {
    const fieldPath = [...path, field];
    if (field.fieldKind === 'message' && !path.some((above) => above.parent === field.message)) {
      return fieldsOf(field.message, fieldPath);
    }
    const option = getOption(field, subject);
    if (option === Subject.UNSPECIFIED) return [];
    // The check does not read lists.
    if (field.fieldKind !== 'scalar') throw new Error(`${field.toString()} cannot be a subject`);
    return [{ path: fieldPath, subject: option }];
  });
}

export type CheckScope = (caller: Caller, method: DescMethod, request: Message) => Promise<void>;

/**
 * Checks that all resources of a limited caller's request are within its scope, and that there is at least
 * one.
 *
 * @throws HubError `…_unknown` for a resource outside the scope, as if it did not exist
 * @throws ConnectError PermissionDenied for a request that names no resource
 */
export function createCheckScope(findOwner: FindOwner): CheckScope {
  const cache = new WeakMap<DescMethod, readonly SubjectField[]>();
  const fieldsFor = (method: DescMethod): readonly SubjectField[] => {
    const fields = cache.get(method) ?? subjectFields(method);
    cache.set(method, fields);
    return fields;
  };

  return async ({ scope }, method, request) => {
    if (scope === undefined || isOpenToAnyScope(method)) return;
    const fields = fieldsFor(method);
    const given = fields.flatMap(({ path, subject }) => {
      const value = readPath(method.input, request, path);
      return value === undefined ? [] : (RULES[subject] ?? []).map((rule) => ({ rule, value, path }));
    });
    if (given.length === 0) throw resourceRequired(method, fields);
    for (const { rule, value, path } of given) {
      const owner = await findOwner[rule.resource](value, scope[rule.owner]);
      if (owner !== undefined && scope[rule.owner].includes(owner)) continue;
      // `license_key_unknown` is about a license key.
      const name = rule.unknown.replace(/_unknown$/, '').replaceAll('_', ' ');
      const message = `the scope of this token has no such ${name}`;
      throw new HubError(rule.unknown, message, { field: nameOf(path) });
    }
  };
}

/** The text in a field, or undefined if it is not set. */
function readPath(
  desc: DescMessage,
  message: Message,
  [field, ...rest]: readonly DescField[],
): string | undefined {
  if (field === undefined) return undefined;
  const reflected = reflect(desc, message as MessageShape<typeof desc>);
  if (!reflected.isSet(field)) return undefined;
  const value: unknown = reflected.get(field);
  if (field.fieldKind !== 'message') return typeof value === 'string' ? value : undefined;
  const inner = reflected.get(field);
  return readPath(field.message, inner.message, rest);
}

function nameOf(path: readonly DescField[]): string {
  return path.map(({ localName }) => localName).join('.');
}

function resourceRequired(method: DescMethod, fields: readonly SubjectField[]): ConnectError {
  const names = fields.map(({ path }) => nameOf(path)).join(' or ');
  const call = `${method.parent.typeName}/${method.name}`;
  const message =
    names === ''
      ? `a token limited to apps or slots may not call ${call}`
      : `a token limited to apps or slots may call ${call} only with ${names}`;
  return new ConnectError(message, Code.PermissionDenied);
}
