// hubctl slot: accounts at payment providers.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf, type Register } from '../../command-help.ts';
import { NO_DEADLINE, requireField } from '../../connect/calls.ts';
import { CliError, EXIT, usageError } from '../../errors/failure.ts';
import type { Output } from '../../output/output.ts';
import { addWatch, type ListingOptions, printList } from '../../output/watch-list.ts';
import { readCredentials } from '../../parse/credentials.ts';
import { omitUndefined } from '../../parse/omit-undefined.ts';
import { parsePair } from '../../parse/parse-number.ts';
import { choiceOption, collect, credentialsOption } from '../../parse/shared-options.ts';
import {
  SLOT,
  SLOT_COLUMNS,
  SLOT_ENVIRONMENTS,
  SLOT_FIELDS,
  SLOT_TEST,
  SLOT_TEST_FIELDS,
  slotView,
} from '../../views/payments/slot.ts';

type AddOptions = {
  gateway: string;
  environment: keyof typeof SLOT_ENVIRONMENTS;
  baseUrl?: string;
  credentialsFile?: string;
  option?: Record<string, string>;
  holdRisky?: boolean;
  returnOrigin?: string[];
};

type UpdateOptions = Pick<AddOptions, 'option' | 'holdRisky'> & {
  /** False with `--no-return-origin`. */
  returnOrigin?: string[] | false;
};

const ABOUT_CREDENTIALS =
  'The file is a JSON object of credentials by name: `hubctl gateway list` lists them. Without a file, hubctl prompts for them without echo. The hub encrypts them and never shows them.';

const HOLD_RISKY = 'hold payments that the provider rates risky for review, instead of settling them';

const RETURN_ORIGIN =
  'origin of a shop to which customers may return after the checkout, such as https://shop.example.com; repeatable';

/** @throws CliError (usage) if `--option` contradicts `--hold-risky` */
function slotOptions(option: Record<string, string>, holdRisky?: boolean): Record<string, string> {
  if (holdRisky === undefined) return option;
  const riskyPayments = holdRisky ? 'hold' : 'settle';
  if ((option['riskyPayments'] ?? riskyPayments) !== riskyPayments) {
    throw usageError('--option riskyPayments and --hold-risky contradict each other: give one of them.');
  }
  return { ...option, riskyPayments };
}

export const registerSlot = nounOf(
  'slot',
  'Accounts at payment providers. Their credentials are encrypted and never shown again.',
  [
    addAddVerb,
    addListVerb,
    addShowVerb,
    addUpdateVerb,
    addRotateVerb,
    switchVerb('disable', 'Disables a slot: it takes no new sessions, and still settles old ones.'),
    switchVerb('enable', 'Enables a disabled slot.'),
    addTestVerb,
  ],
);

function addAddVerb(slot: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  addVerb(slot, 'add', {
    summary: 'add a payment slot',
    description: 'Adds an account at a payment provider.',
    notes: [ABOUT_CREDENTIALS],
    examples: [
      'hubctl slot add main --gateway gateway_one --environment sandbox --base-url https://sandbox.example --credentials-file one.json',
    ],
    prints: { document: SLOT },
  })
    .argument('<name>', 'name of the slot: lower-case letters, digits, inner dashes')
    .requiredOption('--gateway <gateway>', 'gateway, such as gateway_one')
    .addOption(
      choiceOption(
        '--environment <where>',
        'whether it charges real money',
        SLOT_ENVIRONMENTS,
      ).makeOptionMandatory(),
    )
    .option('--base-url <url>', "address of the provider's API; in production, by default the provider's own")
    .addOption(credentialsOption())
    .option('--option <name=value>', 'an option of the gateway; repeatable', parsePair)
    .option('--hold-risky', HOLD_RISKY)
    .option('--return-origin <url>', RETURN_ORIGIN, collect)
    .action(async (name: string, options: AddOptions) => {
      const { gateway, environment, baseUrl, credentialsFile, option = {}, holdRisky } = options;
      const credentials = await credentialsFor(commandContext, gateway, credentialsFile);
      const reply = await hub.paymentAdmin.addSlot({
        name,
        gateway,
        environment: SLOT_ENVIRONMENTS[environment],
        baseUrl: baseUrl ?? '',
        credentials,
        options: slotOptions(option, holdRisky),
        returnOrigins: options.returnOrigin ?? [],
      });
      await printSlot(out, reply.slot);
    });
}

function addListVerb(slot: Command, commandContext: CommandContext): void {
  const { hub } = commandContext;
  const listing = addVerb(slot, 'list', {
    summary: 'list payment slots',
    description: 'Lists the payment slots by name.',
    examples: ['hubctl slot list'],
    prints: { list: SLOT },
  });
  addWatch(listing).action(async (options: ListingOptions) => {
    const listed = {
      async *pages() {
        yield (await hub.paymentAdmin.listSlots({})).slots.map(slotView);
      },
      columns: SLOT_COLUMNS,
      newestFirst: false,
      none: 'No slots yet. Add one with `hubctl slot add`.',
    };
    await printList(commandContext, listed, options);
  });
}

function addShowVerb(slot: Command, { hub, out }: CommandContext): void {
  addVerb(slot, 'show', {
    summary: 'show a payment slot',
    description: 'Shows a payment slot, without its credentials.',
    examples: ['hubctl slot show main'],
    prints: { document: SLOT },
  })
    .argument('<slot>', 'name of the slot')
    .action(async (name: string) => {
      await printSlot(out, (await hub.paymentAdmin.getSlot({ slot: name })).slot);
    });
}

function addUpdateVerb(slot: Command, { hub, out }: CommandContext): void {
  addVerb(slot, 'update', {
    summary: 'change options of a slot',
    description:
      'Changes the given options of a slot. They apply from the next call to the provider. Return origins apply to new sessions.',
    examples: [
      'hubctl slot update main --hold-risky',
      'hubctl slot update main --no-hold-risky',
      'hubctl slot update main --return-origin https://shop.example.com',
    ],
    prints: { document: SLOT },
  })
    .argument('<slot>', 'name of the slot')
    .option('--option <name=value>', 'an option of the gateway; repeatable', parsePair)
    .option('--hold-risky', HOLD_RISKY)
    .option('--no-hold-risky', 'settle them (default)')
    .option('--return-origin <url>', `${RETURN_ORIGIN}; replaces all current ones`, collect)
    .option('--no-return-origin', 'allow no shop')
    .action(async (name: string, { option = {}, holdRisky, returnOrigin }: UpdateOptions) => {
      const options = slotOptions(option, holdRisky);
      const returnOrigins = returnOrigin === undefined ? undefined : { origins: returnOrigin || [] };
      if (Object.keys(options).length === 0 && !returnOrigins) {
        throw usageError(
          'Nothing to change: give --hold-risky, --no-hold-risky, --option name=value, --return-origin or --no-return-origin.',
        );
      }
      const { slot: found, unchanged } = await hub.paymentAdmin.updateSlot({
        slot: name,
        options,
        ...omitUndefined({ returnOrigins }),
      });
      await printSlot(out, found);
      if (unchanged) out.note('Nothing changed: the slot already has these options.');
    });
}

function addRotateVerb(slot: Command, commandContext: CommandContext): void {
  const { hub, out } = commandContext;
  addVerb(slot, 'rotate', {
    summary: 'replace the credentials of a slot',
    description: 'Replaces all credentials of a slot. Calls in progress finish with the old ones.',
    notes: [ABOUT_CREDENTIALS],
    examples: ['hubctl slot rotate main --credentials-file one.json'],
    prints: { document: SLOT },
  })
    .argument('<slot>', 'name of the slot')
    .addOption(credentialsOption())
    .action(async (name: string, { credentialsFile }: { credentialsFile?: string }) => {
      const { gateway } = requireField((await hub.paymentAdmin.getSlot({ slot: name })).slot, 'slot');
      const credentials = await credentialsFor(commandContext, gateway, credentialsFile);
      await printSlot(out, (await hub.paymentAdmin.rotateSlotCredentials({ slot: name, credentials })).slot);
      out.note(`Test them with: hubctl slot test ${name}`);
    });
}

function addTestVerb(slot: Command, { hub, out }: CommandContext): void {
  addVerb(slot, 'test', {
    summary: 'test the credentials of a slot',
    description:
      'Tests the credentials with a harmless call to the provider. Exits 1 if they do not work or the provider did not answer.',
    examples: ['hubctl slot test main'],
    prints: { document: SLOT_TEST },
  })
    .argument('<slot>', 'name of the slot')
    .action(async (name: string) => {
      const reply = await hub.paymentAdmin.testSlot({ slot: name }, NO_DEADLINE);
      const { ok, answered, detail, durationMs } = reply;
      await out.record({ slot: name, ok, answered, detail, durationMs }, SLOT_TEST_FIELDS);
      if (!answered) {
        const message = `The slot ${name} got no answer: ${detail}`;
        throw new CliError('slot_test_inconclusive', EXIT.failed, message);
      }
      if (!ok) {
        throw new CliError('slot_test_failed', EXIT.failed, `The slot ${name} does not work: ${detail}`);
      }
    });
}

/** `slot disable` and `slot enable`. */
function switchVerb(verb: 'disable' | 'enable', description: string): Register {
  return (slot, { hub, out }) => {
    addVerb(slot, verb, {
      summary: `${verb} a payment slot`,
      description,
      examples: [`hubctl slot ${verb} main`],
      prints: { document: SLOT },
    })
      .argument('<slot>', 'name of the slot')
      .action(async (name: string) => {
        const { slot: found, unchanged } = await hub.paymentAdmin.setSlotDisabled({
          slot: name,
          disabled: verb === 'disable',
        });
        await printSlot(out, found);
        if (unchanged) out.note(`Nothing changed: the slot is already ${verb}d.`);
      });
  };
}

async function printSlot(out: Output, found: Parameters<typeof slotView>[0] | undefined): Promise<void> {
  await out.record(slotView(found), SLOT_FIELDS);
}

/** Without a file, prompts for the credentials that the gateway needs. */
function credentialsFor(commandContext: CommandContext, name: string, file: string | undefined) {
  return readCredentials(commandContext, file, async () => {
    const { gateways } = await commandContext.hub.paymentAdmin.listGateways({});
    const known = gateways.map(({ gateway }) => gateway).join(', ');
    const found = gateways.find(({ gateway }) => gateway === name);
    if (found === undefined) throw usageError(`--gateway ${name}: unknown gateway. Use one of ${known}.`);
    return found.credentials;
  });
}
