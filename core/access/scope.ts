// What limited tokens may do: a request has to be about an app or a slot of theirs, and about none besides.
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
 * Finds the slug of the app, or the name of the slot, to which something in the hub belongs. Undefined if it is
 * unknown, or belongs to none. Takes any text.
 */
export type FindOwner = Readonly<Record<OwnedThing, (value: string) => Promise<string | undefined>>>;

export type OwnedThing =
  | 'app'
  | 'license'
  | 'licenseKey'
  | 'seat'
  | 'slot'
  | 'chargeSession'
  | 'callback'
  | 'duplicatePayment'
  | 'feeRule';

type SubjectRule = {
  readonly thing: OwnedThing;
  readonly owner: keyof Scope;
  /** The refusal: for a limited token, what is outside its scope is as good as not there. */
  readonly unknown: HubErrorCode;
  readonly name: string;
};

const RULES: Readonly<Record<Subject, SubjectRule | undefined>> = {
  [Subject.UNSPECIFIED]: undefined,
  [Subject.APP]: { thing: 'app', owner: 'apps', unknown: 'app_unknown', name: 'app' },
  [Subject.LICENSE]: { thing: 'license', owner: 'apps', unknown: 'license_unknown', name: 'license' },
  [Subject.LICENSE_KEY]: {
    thing: 'licenseKey',
    owner: 'apps',
    unknown: 'license_key_unknown',
    name: 'license key',
  },
  [Subject.SEAT]: { thing: 'seat', owner: 'apps', unknown: 'seat_unknown', name: 'seat' },
  [Subject.SLOT]: { thing: 'slot', owner: 'slots', unknown: 'slot_unknown', name: 'slot' },
  [Subject.CHARGE_SESSION]: {
    thing: 'chargeSession',
    owner: 'slots',
    unknown: 'session_unknown',
    name: 'session',
  },
  [Subject.CALLBACK]: { thing: 'callback', owner: 'slots', unknown: 'callback_unknown', name: 'callback' },
  [Subject.DUPLICATE_PAYMENT]: {
    thing: 'duplicatePayment',
    owner: 'slots',
    unknown: 'duplicate_payment_unknown',
    name: 'duplicate payment',
  },
  [Subject.FEE_RULE]: { thing: 'feeRule', owner: 'slots', unknown: 'fee_rule_unknown', name: 'fee rule' },
};

/** Whether limited tokens may call an RPC whatever its request is about. The schema is no secret between tokens. */
export function isOpenToAnyScope(method: DescMethod): boolean {
  if (method.parent.typeName.startsWith('grpc.reflection.')) return true;
  return hasOption(method, access) && getOption(method, access).anyScope;
}

/** A request field that says what the request is about; `path` leads to it through messages. */
export type SubjectField = { readonly path: readonly DescField[]; readonly subject: Subject };

/** The fields of an RPC's request that say what it is about. */
export function subjectFields(method: DescMethod): readonly SubjectField[] {
  return fieldsOf(method.input, []);
}

function fieldsOf(message: DescMessage, path: readonly DescField[]): SubjectField[] {
  return message.fields.flatMap((field) => {
    const way = [...path, field];
    if (field.fieldKind === 'message' && !path.some((above) => above.parent === field.message)) {
      return fieldsOf(field.message, way);
    }
    const said = getOption(field, subject);
    if (said === Subject.UNSPECIFIED) return [];
    // A list of subjects would be passed by unseen.
    if (field.fieldKind !== 'scalar') throw new Error(`${field.toString()} cannot be a subject`);
    return [{ path: way, subject: said }];
  });
}

export type CheckScope = (caller: Caller, method: DescMethod, request: Message) => Promise<void>;

/**
 * Refuses a limited caller's request unless it is about something of the caller's, and about nothing else.
 *
 * @throws HubError `…_unknown` for what is outside the scope, as if it were not there
 * @throws ConnectError PermissionDenied for a request that is about nothing in particular
 */
export function createCheckScope(findOwner: FindOwner): CheckScope {
  const known = new WeakMap<DescMethod, readonly SubjectField[]>();
  const fieldsFor = (method: DescMethod): readonly SubjectField[] => {
    const fields = known.get(method) ?? subjectFields(method);
    known.set(method, fields);
    return fields;
  };

  return async ({ scope }, method, request) => {
    if (scope === undefined || isOpenToAnyScope(method)) return;
    const fields = fieldsFor(method);
    const given = fields.flatMap(({ path, subject }) => {
      const value = readPath(method.input, request, path);
      const rule = RULES[subject];
      return value === undefined || rule === undefined ? [] : [{ rule, value, path }];
    });
    if (given.length === 0) throw aboutNothing(method, fields);
    for (const { rule, value, path } of given) {
      const owner = await findOwner[rule.thing](value);
      if (owner !== undefined && scope[rule.owner].includes(owner)) continue;
      throw new HubError(rule.unknown, `the scope of this token has no such ${rule.name}`, {
        field: path.map(({ localName }) => localName).join('.'),
      });
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

function aboutNothing(method: DescMethod, fields: readonly SubjectField[]): ConnectError {
  const names = fields.map(({ path }) => path.map(({ localName }) => localName).join('.')).join(' or ');
  const remedy = names === '' ? 'is not for limited tokens' : `needs ${names} from a limited token`;
  return new ConnectError(`${method.parent.typeName}/${method.name} ${remedy}`, Code.PermissionDenied);
}
