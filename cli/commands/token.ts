// hubctl token: who may call the hub.
import { type Command, Option } from 'commander';
import { timestampOf } from '../calendar.ts';
import { requireYes } from '../confirm.ts';
import { PartialFailure } from '../failure.ts';
import { addNoun, addVerb } from '../manual.ts';
import { pages } from '../pages.ts';
import { part } from '../reply.ts';
import { list } from '../shapes.ts';
import { expiresOption, maxOption, yesOption } from '../shared-options.ts';
import type { Tools } from '../tools.ts';
import {
  CREATED_TOKEN,
  CREATED_TOKEN_FIELDS,
  createdTokenView,
  ROLES,
  TOKEN,
  TOKEN_COLUMNS,
  TOKEN_FIELDS,
  tokenView,
} from '../views/token.ts';

type CreateOptions = {
  role: keyof typeof ROLES;
  name?: string;
  app?: string[];
  slot?: string[];
  expires?: Date;
  certificateSubject?: string;
};

export function registerToken(program: Command, tools: Tools): void {
  const { hub, out } = tools;
  const token = addNoun(program, 'token', {
    group: 'Administration:',
    summary: 'service tokens',
    description:
      'Service tokens: who may call the hub, and what for. The hub shows a token once, when it is created, and keeps only a hash.',
  });

  addVerb(token, 'create', {
    summary: 'create a token',
    description: 'Creates a token and prints it, this once.',
    notes: [
      'Roles: admin may do everything; operator runs the daily business; service is for programs; viewer reads; monitor reads metrics alone. With --app or --slot the token is limited to these: everything else is not there for it.',
      "A certificate takes the place of the token where the hub's internal port asks for client certificates. Its subject is what `openssl x509 -in client.crt -noout -subject -nameopt RFC2253,-esc_msb` prints.",
    ],
    examples: [
      'hubctl token create --role viewer --output json',
      'hubctl token create --role operator --name support --app photo-lab --expires 90d',
      'hubctl token create --role service --certificate-subject "CN=shop,O=Example"',
    ],
    prints: { document: CREATED_TOKEN },
  })
    .addOption(
      new Option('--role <role>', 'what it is trusted with')
        .choices(Object.keys(ROLES))
        .makeOptionMandatory(),
    )
    .option('--name <text>', 'name for people and the audit log (default: the role)')
    .option('--app <app>', 'limit it to this app; repeatable', collect)
    .option('--slot <slot>', 'limit it to this slot; repeatable', collect)
    .addOption(expiresOption())
    .option('--certificate-subject <name>', 'make no token, but let a client certificate stand for one')
    .action(async ({ role, name, app = [], slot = [], expires, certificateSubject }: CreateOptions) => {
      const { tokens } = await hub('tokens');
      const reply = await tokens.createToken({
        name: name ?? '',
        role: ROLES[role],
        apps: app,
        slots: slot,
        ...(expires && { expiresAt: timestampOf(expires) }),
        ...(certificateSubject !== undefined && { certificateSubject }),
      });
      const view = createdTokenView(part(reply.serviceToken, 'token'), reply.token);
      await out.record(view, CREATED_TOKEN_FIELDS).catch((error) => {
        throw new PartialFailure(
          `Nobody saw the token ${view.tokenId}: revoke it and create another.`,
          error,
        );
      });
      if (view.token !== undefined) out.note('This is the only time the token is shown.');
    });

  addVerb(token, 'list', {
    summary: 'list the tokens',
    description: 'Lists the tokens that are good now, newest first; never the tokens themselves.',
    examples: ['hubctl token list --all'],
    prints: { document: list(TOKEN) },
  })
    .option('--all', 'revoked and expired ones too')
    .addOption(maxOption())
    .action(async ({ all, max }: { all?: true; max?: number }) => {
      const { tokens } = await hub('tokens');
      const fetchPage = async (page: { pageSize: number; pageToken: string }) => {
        const { serviceTokens, nextPageToken } = await tokens.listTokens({
          includeEnded: all === true,
          ...page,
        });
        return { items: serviceTokens.map(tokenView), next: nextPageToken };
      };
      await out.list(pages(fetchPage, max), TOKEN_COLUMNS);
    });

  addVerb(token, 'revoke', {
    summary: 'revoke a token',
    description:
      'Revokes a token for good; every hub refuses it from the next call on. The id of a token is also part of it: hub_<id>_…. Asks first; off a terminal it wants --yes.',
    examples: ['hubctl token revoke tok_01k8e7qk3vf2tb5s0w9m4x6ydz --yes'],
    prints: { document: TOKEN },
  })
    .argument('<tokenId>', 'the token, tok_…')
    .addOption(yesOption())
    .action(async (tokenId: string, { yes }: { yes?: true }) => {
      const question = () => `Revoke the token ${tokenId}? This cannot be taken back.`;
      await requireYes(tools, { yes, verb: 'revoke', question, otherwise: 'Nothing was revoked.' });
      const { tokens } = await hub('tokens');
      const reply = await tokens.revokeToken({ tokenId });
      await out.record(tokenView(part(reply.serviceToken, 'token')), TOKEN_FIELDS);
    });
}

function collect(value: string, before: string[] = []): string[] {
  return [...before, value];
}
