// hubctl token: service tokens.
import type { Command } from 'commander';
import { ROLES } from '../../../lib/presentation/enum-names.ts';
import type { CommandContext } from '../../command-context.ts';
import { addNoun, addVerb } from '../../command-help.ts';
import { readPages, requireField } from '../../connect/calls.ts';
import { PartialFailure } from '../../errors/failure.ts';
import { timestampOf } from '../../parse/parse-time.ts';
import { choiceOption, collect, expiresOption, maxOption, yesOption } from '../../parse/shared-options.ts';
import {
  CREATED_TOKEN,
  CREATED_TOKEN_FIELDS,
  createdTokenView,
  TOKEN,
  TOKEN_COLUMNS,
  TOKEN_FIELDS,
  tokenView,
} from '../../views/operations/token.ts';

type CreateOptions = {
  role: keyof typeof ROLES;
  name?: string;
  app?: string[];
  slot?: string[];
  expires?: Date;
  certificateSubject?: string;
};

export function registerToken(program: Command, { hub, out, requireYes }: CommandContext): void {
  const token = addNoun(
    program,
    'token',
    'Service tokens authorize callers of the hub. The hub shows a token once, when it is created, and keeps only a hash.',
  );

  addVerb(token, 'create', {
    summary: 'create a token',
    description: 'Creates a token and prints it. It is not shown again.',
    notes: [
      'Roles: admin may do everything; operator handles daily operations; service is for programs, such as a shop; viewer reads; monitor reads metrics only; gateway is for a gateway in a process of its own. With --app or --slot, the token can access these apps and slots only.',
      'If the internal port asks for client certificates, a certificate can replace the token. `openssl x509 -in client.crt -noout -subject -nameopt RFC2253,-esc_msb` prints its subject.',
    ],
    examples: [
      'hubctl token create --role viewer --output json',
      'hubctl token create --role operator --name support --app photo-lab --expires 90d',
      'hubctl token create --role service --certificate-subject "CN=shop,O=Example"',
    ],
    prints: { document: CREATED_TOKEN },
  })
    .addOption(choiceOption('--role <role>', 'role of the token', ROLES).makeOptionMandatory())
    .option('--name <text>', 'name for people and the audit log (default: the role)')
    .option('--app <app>', 'limit it to this app; repeatable', collect)
    .option('--slot <slot>', 'limit it to this slot; repeatable', collect)
    .addOption(expiresOption())
    .option('--certificate-subject <name>', 'authorize a client certificate instead of creating a token')
    .action(async ({ role, name, app = [], slot = [], expires, certificateSubject }: CreateOptions) => {
      const reply = await hub.tokens.createToken({
        name: name ?? '',
        role: ROLES[role],
        apps: app,
        slots: slot,
        expiresAt: expires && timestampOf(expires),
        certificateSubject,
      });
      const view = createdTokenView(requireField(reply.serviceToken, 'token'), reply.token);
      await out.record(view, CREATED_TOKEN_FIELDS).catch((error) => {
        throw new PartialFailure(
          `The token ${view.tokenId} could not be printed: revoke it and create another.`,
          error,
        );
      });
      if (view.token !== undefined) out.note('This is the only time the token is shown.');
    });

  addVerb(token, 'list', {
    summary: 'list the tokens',
    description: 'Lists valid tokens, newest first. It never prints the secret tokens.',
    examples: ['hubctl token list --all'],
    prints: { list: TOKEN },
  })
    .option('--all', 'include revoked and expired tokens')
    .addOption(maxOption())
    .action(async ({ all, max }: { all?: true; max?: number }) => {
      const wanted = { includeEnded: all === true };
      const pages = readPages(hub.tokens.listTokens, wanted, 'serviceTokens', tokenView);
      await out.list(pages(max), TOKEN_COLUMNS);
    });

  addVerb(token, 'revoke', {
    summary: 'revoke a token',
    description:
      'Revokes a token permanently; every hub refuses it from the next call. A token contains its id: hub_<id>_…. Asks for confirmation; without a terminal it requires --yes.',
    examples: ['hubctl token revoke tok_01k8e7qk3vf2tb5s0w9m4x6ydz --yes'],
    prints: { document: TOKEN },
  })
    .argument('<tokenId>', 'the token, tok_…')
    .addOption(yesOption())
    .action(async (tokenId: string, { yes }: { yes?: true }) => {
      const question = () => `Revoke the token ${tokenId}? This cannot be undone.`;
      await requireYes({ yes, verb: 'revoke', question, otherwise: 'Nothing was revoked.' });
      const reply = await hub.tokens.revokeToken({ tokenId });
      await out.record(tokenView(reply.serviceToken), TOKEN_FIELDS);
    });
}
