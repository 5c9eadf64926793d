// hubctl customer: the people and companies that own licenses.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { readPages } from '../../connect/calls.ts';
import { usageError } from '../../errors/failure.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parsePair, parseText } from '../../parse/parse-number.ts';
import { collect, maxOption, yesOption } from '../../parse/shared-options.ts';
import {
  CUSTOMER,
  CUSTOMER_COLUMNS,
  CUSTOMER_FIELDS,
  CUSTOMERS,
  customerView,
} from '../../views/licensing/customer.ts';

type CreateOptions = {
  name: string;
  email?: string;
  externalRef?: string;
  metadata?: Record<string, string>;
  idempotencyKey?: string;
};

type ListOptions = { app?: string; search?: string; email?: string; externalRef?: string; max?: number };

type UpdateOptions = Partial<Omit<CreateOptions, 'idempotencyKey'>> & {
  removeEmail?: true;
  removeExternalRef?: true;
  removeMetadata?: string[];
};

const EXAMPLE_ID = 'cus_01k8e7qk3vf2tb5s0w9m4x6ydz';

export const registerCustomer = nounOf(
  'customer',
  'The people and companies that own licenses. A license belongs to at most one customer.',
  [addCreateVerb, addListVerb, addShowVerb, addUpdateVerb, addEraseVerb],
);

function addCreateVerb(customer: Command, { hub, out }: CommandContext): void {
  addVerb(customer, 'create', {
    summary: 'create a customer',
    description: 'Creates a customer.',
    examples: [
      'hubctl customer create --name "Ada Lovelace" --email ada@example.com --external-ref CRM-118 --metadata plan=gold',
    ],
    prints: { document: CUSTOMER },
  })
    .requiredOption('--name <text>', 'name, which signed licenses contain', parseText)
    .option('--email <address>', 'email address', parseText)
    .option('--external-ref <text>', 'identifier in another system; unique', parseText)
    .option('--metadata <name=value>', 'your own data; repeatable', parsePair)
    .option('--idempotency-key <key>', 'a repeat with the same key returns the customer of the first call')
    .action(async ({ name, email, externalRef, metadata = {}, idempotencyKey }: CreateOptions) => {
      const reply = await hub.customers.createCustomer({
        name,
        metadata,
        email,
        externalRef,
        idempotencyKey,
      });
      await out.record(customerView(reply.customer), CUSTOMER_FIELDS);
    });
}

function addListVerb(customer: Command, { hub, out }: CommandContext): void {
  addVerb(customer, 'list', {
    summary: 'list or search customers',
    description:
      'Lists customers, newest first. Filters combine with AND. A search for fewer than three characters covers the newest 10,000 customers.',
    examples: ['hubctl customer list --search lovelace --output json'],
    prints: { document: CUSTOMERS },
  })
    .option('--search <text>', 'only with this text in the name, email or external reference', parseText)
    .option('--email <address>', 'only with this email address')
    .option('--external-ref <text>', 'only with exactly this external reference')
    .option('--app <app>', 'only with a license of this app')
    .addOption(maxOption())
    .action(async ({ app, search, email, externalRef, max }: ListOptions) => {
      const wanted = { app, search, email, externalRef };
      const pages = readPages(hub.customers.listCustomers, wanted, 'customers', customerView);
      await out.list(pages(max), CUSTOMER_COLUMNS, {
        within: { items: 'customers', count: 'count' },
        none: 'No customer matches.',
      });
    });
}

function addShowVerb(customer: Command, { hub, out }: CommandContext): void {
  addVerb(customer, 'show', {
    summary: 'show a customer',
    description: 'Shows a customer. `hubctl license list` lists its licenses.',
    examples: [`hubctl customer show ${EXAMPLE_ID}`],
    prints: { document: CUSTOMER },
  })
    .argument('<customerId>', 'the customer, cus_…')
    .action(async (customerId: string) => {
      const reply = await hub.customers.getCustomer({ customerId });
      await out.record(customerView(reply.customer), CUSTOMER_FIELDS);
    });
}

function addUpdateVerb(customer: Command, { hub, out }: CommandContext): void {
  addVerb(customer, 'update', {
    summary: 'change a customer',
    description:
      'Changes the given fields and keeps the others. Machines get a new name when they next activate.',
    examples: [`hubctl customer update ${EXAMPLE_ID} --email ada@example.org --metadata plan=silver`],
    prints: { document: CUSTOMER },
  })
    .argument('<customerId>', 'the customer, cus_…')
    .option('--name <text>', 'name, which signed licenses contain', parseText)
    .option('--email <address>', 'email address', parseText)
    .option('--external-ref <text>', 'identifier in another system; unique', parseText)
    .option('--metadata <name=value>', 'add or replace this entry of your own data; repeatable', parsePair)
    .option('--remove-email', 'remove the email address')
    .option('--remove-external-ref', 'remove the external reference')
    .option('--remove-metadata <name>', 'remove this entry of your own data; repeatable', collect)
    .action(async (customerId: string, options: UpdateOptions) => {
      const { name, email, externalRef, metadata = {} } = options;
      const paths = changedPaths(options);
      if (paths.length === 0) throw usageError('Give at least one field to change, such as --name.');
      const request = {
        customerId,
        updateMask: { paths },
        metadata,
        ...omitUndefined({ name, email, externalRef }),
      };
      const reply = await hub.customers.updateCustomer(request);
      await out.record(customerView(reply.customer), CUSTOMER_FIELDS);
    });
}

function changedPaths(options: UpdateOptions): string[] {
  const { name, email, removeEmail, externalRef, removeExternalRef } = options;
  const { metadata = {}, removeMetadata = [] } = options;
  if (email !== undefined && removeEmail) throw usageError('Give --email or --remove-email, not both.');
  if (externalRef !== undefined && removeExternalRef)
    throw usageError('Give --external-ref or --remove-external-ref, not both.');
  return [
    ...(name === undefined ? [] : ['name']),
    ...(email === undefined && !removeEmail ? [] : ['email']),
    ...(externalRef === undefined && !removeExternalRef ? [] : ['external_ref']),
    ...[...Object.keys(metadata), ...removeMetadata].map((entry) => `metadata.${entry}`),
  ];
}

function addEraseVerb(customer: Command, { hub, out, requireYes }: CommandContext): void {
  addVerb(customer, 'erase', {
    summary: 'erase the personal data of a customer',
    description:
      'Erases the name, email, external reference and metadata of a customer, also in charge sessions with its email, in their callbacks and in the audit log. Keeps money, seats and licenses: revoke those first if they should end. This cannot be undone. Asks for confirmation; without a terminal it requires --yes.',
    examples: [`hubctl customer erase ${EXAMPLE_ID} --yes`],
    prints: { document: CUSTOMER },
  })
    .argument('<customerId>', 'the customer, cus_…')
    .addOption(yesOption())
    .action(async (customerId: string, { yes }: { yes?: true }) => {
      const question = async () => {
        const { name, email } = customerView((await hub.customers.getCustomer({ customerId })).customer);
        const who = email === undefined ? name : `${name} (${email})`;
        const sessions = email === undefined ? '' : ', also in the charge sessions with this email';
        return [
          `Erase ${customerId}, ${who}?`,
          `Removes name, email, external reference and metadata${sessions}. Keeps money, seats and licenses.`,
          'This cannot be undone.',
        ].join(' ');
      };
      await requireYes({ yes, verb: 'erase', question, otherwise: 'Nothing was erased.' });
      const reply = await hub.customers.eraseCustomer({ customerId });
      await out.record(customerView(reply.customer), CUSTOMER_FIELDS);
    });
}
