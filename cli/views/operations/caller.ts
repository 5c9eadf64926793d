// JSON schema and columns of the authenticated caller.
import type { GetCallerResponse } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { ROLES, wordFor } from '../../../lib/presentation/words.ts';
import { requireField } from '../../connect/require-field.ts';
import type { Target } from '../../connect/target.ts';
import { id, list, object, optional, text, time, type ValueOf, word } from '../../output/json-schema.ts';
import type { Column } from '../../output/table.ts';
import { rfc3339, shortTime } from '../cells.ts';
import { scopeText } from './token.ts';

export const CALLER = object(
  'Caller',
  {
    context: optional(text("the hub's context; missing for the local hub and for an address")),
    server: text('address of the hub'),
    hubVersion: text(),
    hubTime: time(),
    tokenId: id('tok'),
    name: text(),
    role: word(ROLES),
    apps: list(text()),
    slots: list(text()),
  },
  { message: 'hub.access.v1.GetCallerResponse' },
);
export type CallerView = ValueOf<typeof CALLER>;

export function callerView(caller: GetCallerResponse, { server, context }: Target): CallerView {
  return {
    ...(context !== undefined && { context }),
    server,
    hubVersion: caller.hubVersion,
    hubTime: rfc3339(requireField(caller.hubTime, 'clock')),
    tokenId: caller.tokenId,
    name: caller.name,
    role: wordFor(ROLES, caller.role),
    apps: caller.apps,
    slots: caller.slots,
  };
}

export const CALLER_FIELDS: readonly Column<CallerView>[] = [
  { title: 'Context', cell: (item) => item.context },
  { title: 'Server', cell: (item) => item.server },
  { title: 'Hub', cell: (item) => item.hubVersion },
  { title: 'Its time', cell: (item) => shortTime(item.hubTime) },
  { title: 'Token id', cell: (item) => item.tokenId },
  { title: 'Name', cell: (item) => item.name },
  { title: 'Role', cell: (item) => item.role },
  { title: 'Scope', cell: scopeText },
];
