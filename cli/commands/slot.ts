// hubctl slot: the accounts at payment providers.
import { type Command, Option } from 'commander';
import { NO_DEADLINE } from '../call-options.ts';
import type { Context } from '../context.ts';
import { readCredentials } from '../credentials.ts';
import { CliError, EXIT } from '../failure.ts';
import { addPair } from '../quantities.ts';
import { part } from '../reply.ts';
import { SLOT_COLUMNS, SLOT_ENVIRONMENTS, SLOT_FIELDS, slotView } from '../views/slot.ts';

type AddOptions = {
  gateway: string;
  name: string;
  environment: keyof typeof SLOT_ENVIRONMENTS;
  baseUrl?: string;
  credentialsFile?: string;
  option?: Record<string, string>;
};

const CREDENTIALS_HELP = `
The file is a JSON object: {"storeId", "storePassword"} for gateway_one,
{"username", "password", "appKey", "appSecret"} for gateway_two. Without one, the
credentials are asked for at the terminal, unseen. The hub seals them, and shows
them to nobody.
`;

export function registerSlot(program: Command, context: Context): void {
  const { hub, out } = context;
  const slot = program
    .command('slot')
    .summary('payment slots')
    .description('Accounts at payment providers. Their credentials are sealed and never shown again.');
  const print = async (found: Parameters<typeof slotView>[0] | undefined) =>
    out.record(slotView(part(found, 'slot')), SLOT_FIELDS);

  slot
    .command('add')
    .summary('add a payment slot')
    .description('Adds an account at a payment provider.')
    .requiredOption('--gateway <name>', 'gateway_one or gateway_two')
    .requiredOption('--name <name>', 'name of the slot: lower-case letters, digits and dashes')
    .addOption(
      new Option('--environment <where>', 'where its payments are real')
        .choices(Object.keys(SLOT_ENVIRONMENTS))
        .makeOptionMandatory(),
    )
    .option('--base-url <url>', "address of the provider's API; in production, by default the provider's own")
    .option('--credentials-file <file>', 'JSON file of the credentials, or - for standard input')
    .option('--option <name=value>', 'an option of the gateway; repeatable', addPair)
    .addHelpText(
      'after',
      `${CREDENTIALS_HELP}\nExample:\n  hubctl slot add --gateway gateway_one --name main --environment sandbox --base-url https://sandbox.example --credentials-file one.json`,
    )
    .action(async ({ gateway, name, environment, baseUrl, credentialsFile, option }: AddOptions) => {
      const credentials = await readCredentials(context, gateway, credentialsFile);
      const { paymentAdmin } = await hub();
      const reply = await paymentAdmin.addSlot({
        name,
        gateway,
        environment: SLOT_ENVIRONMENTS[environment],
        baseUrl: baseUrl ?? '',
        credentials,
        options: option ?? {},
      });
      await print(reply.slot);
    });

  slot
    .command('list')
    .summary('list payment slots')
    .description('Lists the payment slots by name.')
    .addHelpText('after', '\nExample:\n  hubctl slot list')
    .action(async () => {
      const { paymentAdmin } = await hub();
      const { slots } = await paymentAdmin.listSlots({});
      const count = await out.list([slots.map(slotView)], SLOT_COLUMNS);
      if (count === 0) out.note('No slots yet. Add one with `hubctl slot add`.');
    });

  slot
    .command('show')
    .summary('show a payment slot')
    .description('Shows a payment slot, without its credentials.')
    .argument('<slot>', 'name of the slot')
    .addHelpText('after', '\nExample:\n  hubctl slot show main')
    .action(async (name: string) => {
      const { paymentAdmin } = await hub();
      await print((await paymentAdmin.getSlot({ slot: name })).slot);
    });

  slot
    .command('rotate')
    .summary('replace the credentials of a slot')
    .description('Replaces all credentials of a slot. Calls under way finish with the old ones.')
    .argument('<slot>', 'name of the slot')
    .option('--credentials-file <file>', 'JSON file of the credentials, or - for standard input')
    .addHelpText(
      'after',
      `${CREDENTIALS_HELP}\nExample:\n  hubctl slot rotate main --credentials-file one.json`,
    )
    .action(async (name: string, { credentialsFile }: { credentialsFile?: string }) => {
      const { paymentAdmin } = await hub();
      const { gateway } = part((await paymentAdmin.getSlot({ slot: name })).slot, 'slot');
      const credentials = await readCredentials(context, gateway, credentialsFile);
      await print((await paymentAdmin.rotateSlotCredentials({ slot: name, credentials })).slot);
    });

  for (const [verb, disabled, description] of [
    ['disable', true, 'Disables a slot: it takes no new sessions, and still settles old ones.'],
    ['enable', false, 'Enables a slot that was disabled.'],
  ] as const) {
    slot
      .command(verb)
      .summary(`${verb} a payment slot`)
      .description(description)
      .argument('<slot>', 'name of the slot')
      .addHelpText('after', `\nExample:\n  hubctl slot ${verb} main`)
      .action(async (name: string) => {
        const { paymentAdmin } = await hub();
        await print((await paymentAdmin.setSlotDisabled({ slot: name, disabled })).slot);
      });
  }

  slot
    .command('test')
    .summary("try a slot's credentials")
    .description(
      'Makes a harmless call to the provider and says whether the credentials work. Exits 1 if they do not.',
    )
    .argument('<slot>', 'name of the slot')
    .addHelpText('after', '\nExample:\n  hubctl slot test main')
    .action(async (name: string) => {
      const { paymentAdmin } = await hub();
      const { ok, detail, durationMs } = await paymentAdmin.testSlot({ slot: name }, NO_DEADLINE);
      await out.record({ slot: name, ok, detail, durationMs }, [
        { title: 'Slot', cell: (item) => item.slot },
        { title: 'Credentials', cell: (item) => (item.ok ? 'work' : 'do not work') },
        { title: 'Provider says', cell: (item) => item.detail },
        { title: 'Took', cell: (item) => `${item.durationMs} ms` },
      ]);
      if (!ok)
        throw new CliError('slot_test_failed', EXIT.failed, `The slot ${name} does not work: ${detail}`);
    });
}
