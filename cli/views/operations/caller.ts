// JSON schema and columns of the authenticated caller.
import type { GetCallerResponse } from '../../../gen/hub/access/v1/access_service_pb.ts';
import { ROLES } from '../../../lib/presentation/enum-names.ts';
import type { Target } from '../../connect/choose-hub.ts';
import { type Column, columnsOf } from '../../output/table.ts';
import * as json from '../schema.ts';
import { scopeText } from './token.ts';

export const CALLER = json.view('Caller', 'hub.access.v1.GetCallerResponse', {
  context: json.optional(json.text("the hub's context; missing for the local hub and for an address")),
  server: json.text('address of the hub'),
  hubVersion: json.text(),
  hubTime: json.time(),
  tokenId: json.id('tok'),
  name: json.text(),
  role: json.word(ROLES),
  apps: json.list(json.text()),
  slots: json.list(json.text()),
});
export type CallerView = json.ValueOf<typeof CALLER>;

export const callerView = (caller: GetCallerResponse, { server, context }: Target): CallerView =>
  json.viewOf(CALLER, caller, { server, context });

export const CALLER_FIELDS: readonly Column<CallerView>[] = [
  ...columnsOf(CALLER, 'context', 'server', { hubVersion: 'Hub', hubTime: 'Its time', tokenId: 'Token id' }),
  ...columnsOf(CALLER, 'name', 'role'),
  { title: 'Scope', cell: scopeText },
];
