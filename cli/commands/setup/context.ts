// hubctl context: named connections to hubs.
import type { Command } from 'commander';
import type { CommandContext } from '../../command-context.ts';
import { addVerb, nounOf } from '../../command-help.ts';
import { addContext } from '../../connect/add-context.ts';
import { storedContext } from '../../connect/choose-hub.ts';
import {
  contextsFile,
  LOCAL,
  readContexts,
  type StoredContexts,
  writeContexts,
} from '../../connect/stored-contexts.ts';
import { usageError } from '../../errors/failure.ts';
import { CALLER, CALLER_FIELDS, callerView } from '../../views/operations/caller.ts';
import {
  CONTEXT,
  CONTEXT_COLUMNS,
  CONTEXT_FIELDS,
  type ContextView,
  contextView,
} from '../../views/operations/context.ts';

export const registerContext = nounOf(
  'context',
  'Named connections to hubs. The context local always exists: the hub on this machine, found by its data directory.',
  [addListVerb, addAddVerb, addUseVerb, addShowVerb, addCheckVerb, addRemoveVerb],
);

function addListVerb(context: Command, commandContext: CommandContext): void {
  const { out } = commandContext;
  addVerb(context, 'list', {
    summary: 'list the contexts',
    description: 'Lists the contexts by name, the local one first. A star marks the current context.',
    examples: ['hubctl context list'],
    prints: { list: CONTEXT },
  }).action(async () => {
    const stored = readContexts(contextsFile(process.env));
    const names = [LOCAL, ...Object.keys(stored.contexts).sort()];
    await out.list(
      [await Promise.all(names.map((name) => viewContext(commandContext, name, stored)))],
      CONTEXT_COLUMNS,
    );
  });
}

function addAddVerb(context: Command, commandContext: CommandContext): void {
  const { out } = commandContext;
  addVerb(context, 'add', {
    summary: 'add a context',
    description:
      'Stores the connection given by --server, --token-file, --ca, --client-cert and --client-key. The token comes from a file, from standard input, or from a prompt without echo. The file of contexts is readable by its owner only.',
    examples: [
      'hubctl context add shop --server https://hub.example:5100 --token-file shop.token',
      'printenv SHOP_TOKEN | hubctl context add shop --server https://hub.example:5100 --token-file -',
      'hubctl context add shop --server https://hub.example:5100 --client-cert me.crt --client-key me.key --ca ca.crt',
    ],
    prints: { document: CONTEXT },
  })
    .usage('--server <url> [options] <name>')
    .argument('<name>', 'name of the context: lower-case letters, digits, inner dashes')
    .option('--force', 'replace the context of this name')
    .action(async (name: string, { force }: { force?: true }) => {
      const requireFree = ({ contexts }: StoredContexts): void => {
        if (force || !Object.hasOwn(contexts, name)) return;
        throw usageError(`${name}: this context exists. Replace it with --force.`);
      };
      if (name === LOCAL) throw usageError(`${LOCAL}: this context always exists; choose another name.`);
      requireFree(readContexts(contextsFile(process.env)));
      const added = await addContext(commandContext, name);
      const saved = await changeContexts(commandContext, (stored) => {
        requireFree(stored);
        return { ...stored, contexts: { ...stored.contexts, [name]: added } };
      });
      await out.record(await viewContext(commandContext, name, saved), CONTEXT_FIELDS);
      out.note(`Test it: hubctl context check ${name}. Use it: hubctl context use ${name}`);
    });
}

function addUseVerb(context: Command, commandContext: CommandContext): void {
  const { out, typed } = commandContext;
  addVerb(context, 'use', {
    summary: 'set the current context',
    description:
      'Sets the current context, which commands use unless an option or the environment names another hub.',
    examples: ['hubctl context use shop', 'hubctl context use local'],
    prints: { document: CONTEXT },
  })
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      const using = ({ contexts }: StoredContexts): StoredContexts => ({
        ...(name !== LOCAL && { current: name }),
        contexts,
      });
      const stored = readContexts(contextsFile(process.env));
      const view = await viewContext(commandContext, name, using(stored), name);
      await changeContexts(commandContext, using);
      await out.record(view, CONTEXT_FIELDS);
      const stronger = (['server', 'context', 'dataDir'] as const)
        .map((option) => typed(option))
        .find((option) => option?.source === 'env');
      if (stronger) out.note(`${stronger.from} is set and overrides the current context.`);
    });
}

function addShowVerb(context: Command, commandContext: CommandContext): void {
  const { out } = commandContext;
  addVerb(context, 'show', {
    summary: 'show a context',
    description: 'Shows a context, without its token.',
    examples: ['hubctl context show', 'hubctl context show shop --output json'],
    prints: { document: CONTEXT },
  })
    .argument('[context]', 'name of the context (default: the current context)')
    .action(async (name: string | undefined) => {
      const stored = readContexts(contextsFile(process.env));
      await out.record(
        await viewContext(commandContext, name ?? stored.current ?? LOCAL, stored, name),
        CONTEXT_FIELDS,
      );
    });
}

function addCheckVerb(context: Command, { hub, out, target }: CommandContext): void {
  addVerb(context, 'check', {
    summary: 'test the connection and show the caller',
    description:
      'Connects to the hub of a context and shows the caller that the hub sees. Exits 3 if no hub answers, 4 if the hub denies access.',
    examples: ['hubctl context check', 'hubctl context check shop'],
    prints: { document: CALLER },
  })
    .argument('[context]', 'name of the context (default: the current hub)')
    .action(async (name: string | undefined) => {
      if (name !== undefined) context.parent?.setOptionValueWithSource('context', name, 'cli');
      await out.record(callerView(await hub.access.getCaller({}), await target()), CALLER_FIELDS);
    });
}

function addRemoveVerb(context: Command, commandContext: CommandContext): void {
  const { out } = commandContext;
  addVerb(context, 'remove', {
    summary: 'remove a context',
    description:
      'Removes a context and its token from this machine. The token stays valid until you revoke it.',
    examples: ['hubctl context remove shop'],
    prints: { document: CONTEXT },
  })
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      if (name === LOCAL) throw usageError(`${LOCAL}: this context always exists.`);
      const stored = readContexts(contextsFile(process.env));
      const view = await viewContext(commandContext, name, stored, name);
      await changeContexts(commandContext, ({ current, contexts: { [name]: _, ...contexts } }) => ({
        ...(current !== undefined && current !== name && { current }),
        contexts,
      }));
      await out.record({ ...view, current: false }, CONTEXT_FIELDS);
      if (view.tokenId !== undefined)
        out.note(`Its token is still valid. Revoke it: hubctl token revoke ${view.tokenId}`);
      if (view.current) out.note('The current context is local now.');
    });
}

/** Reads the contexts again, because another command may have changed them meanwhile. Returns the saved ones. */
async function changeContexts(
  { interruption }: CommandContext,
  change: (stored: StoredContexts) => StoredContexts,
): Promise<StoredContexts> {
  interruption.hold(); // leave no draft that contains tokens
  const file = contextsFile(process.env);
  const changed = change(readContexts(file));
  await writeContexts(file, changed);
  return changed;
}

async function viewContext(
  { localTarget }: CommandContext,
  name: string,
  stored: StoredContexts,
  from?: string,
): Promise<ContextView> {
  const current = (stored.current ?? LOCAL) === name;
  if (name !== LOCAL) return contextView(name, current, storedContext(name, stored, from));
  const { server, token } = await localTarget();
  return contextView(LOCAL, current, { server, ...(token && { token: token.value }) });
}
