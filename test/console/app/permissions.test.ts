// The calls that the console offers, compared with the rules of the hub: every RPC by each kind of caller.
import { create, type DescMethod, fromJson, type JsonValue, type Message } from '@bufbuild/protobuf';
import { createContextValues } from '@connectrpc/connect';
import { expect } from 'chai';
import { canCall } from '../../../console/app/permissions.ts';
import { createAuthorize } from '../../../core/access/authorize.ts';
import type { Scope } from '../../../core/access/entities.ts';
import { roleFromProto } from '../../../core/access/roles.ts';
import { createCheckScope, type FindOwner, subjectFields } from '../../../core/access/scope.ts';
import { Role } from '../../../gen/hub/access/v1/access_pb.ts';
import { MailService } from '../../../gen/hub/mail/v1/mail_service_pb.ts';
import { ROLES } from '../../../lib/presentation/enum-names.ts';
import { contractServices } from '../../core/access/contract-services.ts';

const METHODS = (await contractServices())
  .flatMap((service) => service.methods)
  .filter(({ parent }) => parent.typeName.startsWith('hub.'));

const OF_APP = { apps: ['notes'], slots: [] };
const SCOPES: Readonly<Record<string, { apps: string[]; slots: string[] }>> = {
  'without limits': { apps: [], slots: [] },
  'limited to an app': OF_APP,
  'limited to a slot': { apps: [], slots: ['store'] },
  'limited to an app and a slot': { apps: ['notes'], slots: ['store'] },
};

/** Every resource belongs to the first app or slot of the token, if it has one. */
const findOwner: FindOwner = new Proxy({} as FindOwner, {
  get: () => async (_value: string, among: readonly string[]) => among[0],
});
const checkScope = createCheckScope(findOwner);

describe('the console', () => {
  it('lets an operator who is limited to an app send a mail again', () => {
    expect(canCall({ role: Role.OPERATOR, ...OF_APP }, MailService.method.resendMail)).to.equal(true);
  });

  for (const [name, role] of Object.entries(ROLES)) {
    for (const [limits, scope] of Object.entries(SCOPES)) {
      it(`offers the role ${name} ${limits} exactly the calls that the hub accepts`, async () => {
        const offered = METHODS.filter((method) => canCall({ role, ...scope }, method));
        const accepted: DescMethod[] = [];
        for (const method of METHODS) if (await isAccepted(role, scope, method)) accepted.push(method);
        expect(offered.map(String)).to.deep.equal(accepted.map(String));
      });
    }
  }
});

/** Whether the hub accepts a request that names one resource, or none. */
async function isAccepted(role: Role, scope: Scope, method: DescMethod): Promise<boolean> {
  const isLimited = scope.apps.length + scope.slots.length > 0;
  const known = { name: 'reader', role: roleFromProto(role), ...(isLimited && { scope }) };
  const authorize = createAuthorize(async () => known);
  try {
    const caller = await authorize(method, () => new Headers(), createContextValues());
    if (caller === undefined) return true; // the RPC is public
    await Promise.any(requestsOf(method).map((request) => checkScope(caller, method, request)));
    return true;
  } catch {
    return false;
  }
}

/** An empty request, and one for each field that can name a resource. */
function requestsOf(method: DescMethod): Message[] {
  const named = subjectFields(method).map(({ path }) => {
    const json = path.reduceRight<JsonValue>((inner, { jsonName }) => ({ [jsonName]: inner }), 'a name');
    return fromJson(method.input, json);
  });
  return [create(method.input), ...named];
}
