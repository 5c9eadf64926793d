// hubctl context: hubs by name, so that one need not say where they are.
import type { Command } from 'commander';
import { addContext } from '../add-context.ts';
import { storedContext } from '../choose-hub.ts';
import { usageError } from '../failure.ts';
import { addNoun, addVerb } from '../manual.ts';
import { list } from '../shapes.ts';
import { contextsFile, LOCAL, readContexts, type StoredContexts, writeContexts } from '../stored-contexts.ts';
import type { Tools } from '../tools.ts';
import { CALLER, CALLER_FIELDS, callerView } from '../views/caller.ts';
import { CONTEXT, CONTEXT_COLUMNS, CONTEXT_FIELDS, type ContextView, contextView } from '../views/context.ts';

export function registerContext(program: Command, tools: Tools): void {
  const { hub, out, typed, target, localTarget } = tools;
  const context = addNoun(program, 'context', {
    group: 'hubctl itself:',
    summary: 'hubs by name',
    description:
      'Hubs by name, with what it takes to reach them. The context local is always there: the hub on this machine, which its data directory names.',
  });
  const file = () => contextsFile(process.env);
  const save = async (contexts: StoredContexts): Promise<void> => {
    tools.interruption.hold(); // no draft with tokens is left behind
    await writeContexts(file(), contexts);
  };
  const localView = async (current: boolean): Promise<ContextView> => {
    const { server, token } = await localTarget();
    return contextView(LOCAL, current, { server, ...(token && { token: token.value }) });
  };
  const viewOf = async (name: string, stored: StoredContexts, from?: string): Promise<ContextView> => {
    const current = (stored.current ?? LOCAL) === name;
    if (name === LOCAL) return localView(current);
    return contextView(name, current, storedContext(name, stored, from));
  };

  addVerb(context, 'list', {
    summary: 'list the contexts',
    description: 'Lists the contexts by name, the local one first; the one in use has a star.',
    examples: ['hubctl context list'],
    prints: { document: list(CONTEXT) },
  }).action(async () => {
    const stored = readContexts(file());
    const names = [LOCAL, ...Object.keys(stored.contexts).sort()];
    await out.list([await Promise.all(names.map((name) => viewOf(name, stored)))], CONTEXT_COLUMNS);
  });

  addVerb(context, 'add', {
    summary: 'add a context',
    description:
      'Notes how a hub is reached, by the options --server, --token-file, --ca, --client-cert and --client-key. The token comes from a file or from standard input, or is asked for at the terminal, unseen; it is kept in a file that only its owner can read.',
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
      const stored = readContexts(file());
      if (name === LOCAL) throw usageError(`${LOCAL}: this context is always there; choose another name.`);
      if (!force && Object.hasOwn(stored.contexts, name)) {
        throw usageError(`${name}: there is a context of this name. Replace it with --force.`);
      }
      const added = await addContext(tools, name);
      const contexts = { ...stored.contexts, [name]: added };
      await save({ ...stored, contexts });
      await out.record(await viewOf(name, { ...stored, contexts }), CONTEXT_FIELDS);
      out.note(`Whether it is right: hubctl context check ${name}. To use it: hubctl context use ${name}`);
    });

  addVerb(context, 'use', {
    summary: 'choose the context of all commands',
    description:
      'Makes a context the one that commands are for where neither an option nor the environment says otherwise.',
    examples: ['hubctl context use shop', 'hubctl context use local'],
    prints: { document: CONTEXT },
  })
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      const { current: _, contexts } = readContexts(file());
      const stored = { ...(name !== LOCAL && { current: name }), contexts };
      const view = await viewOf(name, stored, name);
      await save(stored);
      await out.record(view, CONTEXT_FIELDS);
      const stronger = (['server', 'context', 'dataDir'] as const)
        .map((option) => typed(option))
        .find((option) => option?.source === 'env');
      if (stronger) out.note(`${stronger.from} is set, and goes before the context in use.`);
    });

  addVerb(context, 'show', {
    summary: 'show a context',
    description: 'Shows a context, without its token.',
    examples: ['hubctl context show', 'hubctl context show shop --output json'],
    prints: { document: CONTEXT },
  })
    .argument('[context]', 'name of the context (default: the one in use)')
    .action(async (name: string | undefined) => {
      const stored = readContexts(file());
      await out.record(await viewOf(name ?? stored.current ?? LOCAL, stored, name), CONTEXT_FIELDS);
    });

  addVerb(context, 'check', {
    summary: 'find out whether a hub is reached, and as whom',
    description:
      'Asks a hub who it takes this caller for: that of a context, or the one that commands are for now. Exits 3 if no hub answers, 4 if it does not admit the caller.',
    examples: ['hubctl context check', 'hubctl context check shop'],
    prints: { document: CALLER },
  })
    .argument('[context]', 'name of the context (default: what commands are for now)')
    .action(async (name: string | undefined) => {
      if (name !== undefined) program.setOptionValueWithSource('context', name, 'cli');
      const { access } = await hub('access');
      await out.record(callerView(await access.getCaller({}), await target()), CALLER_FIELDS);
    });

  addVerb(context, 'remove', {
    summary: 'remove a context',
    description:
      'Removes a context and its token from this machine. The hub goes on taking the token until it is revoked.',
    examples: ['hubctl context remove shop'],
    prints: { document: CONTEXT },
  })
    .argument('<context>', 'name of the context')
    .action(async (name: string) => {
      if (name === LOCAL) throw usageError(`${LOCAL}: this context is always there.`);
      const stored = readContexts(file());
      const view = await viewOf(name, stored, name);
      const { [name]: _, ...contexts } = stored.contexts;
      const current = stored.current === name ? undefined : stored.current;
      await save({ ...(current !== undefined && { current }), contexts });
      await out.record({ ...view, current: false }, CONTEXT_FIELDS);
      if (view.tokenId !== undefined)
        out.note(`The hub still takes its token: hubctl token revoke ${view.tokenId}`);
      if (view.current) out.note('Commands are for the local hub now.');
    });
}
