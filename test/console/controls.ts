// The controls of a page of the console as tests use them, and a token of each role.
import { createClient } from '@connectrpc/connect';
import type { Locator, Page } from 'playwright-core';
import { Role } from '../../gen/hub/access/v1/access_pb.ts';
import { TokenService } from '../../gen/hub/access/v1/token_service_pb.ts';
import type { TestHub } from '../support/hub/hub.ts';

export type Controls = {
  main(): Locator;
  dialog(): Locator;
  /** Opens the dialog of an action. */
  begin(action: string): Promise<void>;
  /** Presses a button of the dialog. */
  submit(name: string): Promise<void>;
  /** A field of the dialog. */
  field(label: string): Locator;
  /** Waits for an announcement. */
  said(text: string): Promise<void>;
};

/** @param page the page that is open at the time of the call */
export function createControls(page: () => Page): Controls {
  const main = (): Locator => page().getByRole('main');
  const dialog = (): Locator => page().getByRole('dialog');
  return {
    main,
    dialog,
    begin: (action) => main().getByRole('button', { name: action, exact: true }).click(),
    submit: (name) => dialog().getByRole('button', { name, exact: true }).click(),
    field: (label) => dialog().getByLabel(label, { exact: true }),
    said: (text) => page().locator('[aria-live=polite].toast', { hasText: text }).waitFor(),
  };
}

export type RoleTokens = Readonly<Record<'operator' | 'viewer' | 'ofApp', string>>;

/** Tokens of an operator, of a viewer, and of a service that is limited to an app. */
export async function createRoleTokens(hub: TestHub, app: string): Promise<RoleTokens> {
  const tokens = createClient(TokenService, hub.transport);
  const make = async (name: string, role: Role, apps: string[] = []): Promise<string> =>
    (await tokens.createToken({ name, role, apps })).token;
  return {
    operator: await make('desk', Role.OPERATOR),
    viewer: await make('wall', Role.VIEWER),
    ofApp: await make('shop', Role.SERVICE, [app]),
  };
}
