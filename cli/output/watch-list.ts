// Watches a list: redraws it on a terminal, and prints a line for each change elsewhere.
import { setTimeout } from 'node:timers/promises';
import type { Command } from 'commander';
import { Option } from 'commander';
import type { CommandContext } from '../command-context.ts';
import { retryWhileDown } from '../connect/retry-while-down.ts';
import { parseInterval } from '../parse/parse-number.ts';
import { printable, printableJson } from './printable.ts';
import { createScreen } from './screen.ts';
import { type Column, createTable } from './table.ts';

export type ListingOptions = { readonly max?: number; readonly watch?: true; readonly interval?: number };

/** Number of items to watch without `--max`. */
const LOOKED_AT = 100;

export type Listing<T> = {
  /** Reads pages with at most `max` items. */
  readonly pages: (max: number | undefined) => AsyncIterable<readonly T[]>;
  /** The cell of the first one identifies an item across changes. */
  readonly columns: readonly Column<T>[];
  /** Whether new items come first, as by default. Otherwise they are inserted in their place. */
  readonly newestFirst?: boolean;
  /** Text for an empty list. */
  readonly none: string;
};

/** Adds `--watch` and `--interval`. */
export function addWatch(command: Command): Command {
  return command
    .option('--watch', 'refresh until Ctrl-C, and show changes')
    .addOption(
      new Option('--interval <seconds>', 'with --watch: seconds between refreshes')
        .argParser(parseInterval)
        .default(2),
    );
}

/** Prints a list once, or with `--watch` until the program is stopped. */
export async function printList<T extends object>(
  commandContext: CommandContext,
  { pages, ...listing }: Listing<T>,
  { max, watch, interval = 2 }: ListingOptions,
): Promise<void> {
  const { columns, none } = listing;
  if (!watch) return commandContext.out.list(pages(max), columns, { none });
  const look = async (): Promise<T[]> => {
    const items: T[] = [];
    for await (const page of pages(max ?? LOOKED_AT)) items.push(...page);
    return items;
  };
  await watchItems(commandContext, { look, ...listing }, interval);
}

export type Watched<T> = Omit<Listing<T>, 'pages'> & {
  readonly look: () => Promise<readonly T[]>;
};

/** Watches until the program is stopped. @throws the first poll's error, or one that lasts five minutes */
export async function watchItems<T extends object>(
  commandContext: CommandContext,
  watched: Watched<T>,
  interval: number,
): Promise<never> {
  const { streams, out, progress } = commandContext;
  const quiet = progress.show(undefined); // the list itself reports slow polls
  const isTerminal = streams.stdout.isTTY === true && !out.json();
  const show = isTerminal ? redrawing(commandContext, watched, interval) : changes(commandContext, watched);
  const hub = retryWhileDown(commandContext, (message) => show.trouble(message));
  try {
    for (;;) {
      await show.items(await hub(() => watched.look()));
      await setTimeout(interval * 1000);
    }
  } finally {
    quiet.end();
  }
}

type Show<T> = {
  items(items: readonly T[]): Promise<void>;
  /** Undefined once the watch is over. */
  trouble(message: string | undefined): void;
};

/** Prints a line for each item, oldest first, then for each new or changed item. */
function changes<T extends object>(
  { out }: CommandContext,
  { columns, newestFirst = true }: Watched<T>,
): Show<T> {
  const id = (item: T) => columns[0]?.cell(item);
  const known = new Map<ReturnType<typeof id>, string>();
  const table = createTable(columns);
  let hasHeader = out.json();
  return {
    trouble: (message) => out.note(message ?? 'The hub answers again.'),
    async items(items) {
      const inOrder = newestFirst ? items.toReversed() : items;
      const changed = inOrder.filter((item) => known.get(id(item)) !== JSON.stringify(item));
      known.clear(); // an item that leaves the list is forgotten, and is new if it returns
      for (const item of items) known.set(id(item), JSON.stringify(item));
      if (changed.length === 0) return;
      const header = hasHeader ? '' : `${table.header(changed)}\n`;
      hasHeader = true;
      const lines = out.json()
        ? changed.map((item) => `${printableJson(item)}\n`).join('')
        : table.rows(changed);
      await out.text(header + lines);
    },
  };
}

/** Draws as much of the table as the screen fits, in place of the previous one. */
function redrawing<T extends object>(
  { streams, out }: CommandContext,
  { columns, none }: Watched<T>,
  interval: number,
): Show<T> {
  const screen = createScreen(streams, out);
  let trouble: string | undefined;
  let shown: readonly T[] | undefined;
  const draw = async (items: readonly T[]): Promise<void> => {
    const table = createTable(columns);
    const fitting = items.slice(0, Math.max(1, screen.size().rows - 4));
    const more = items.length - fitting.length;
    await screen.draw([
      `${new Date().toISOString().slice(11, 19)}Z, every ${interval} s${more > 0 ? `, ${more} more` : ''}; Ctrl-C ends`,
      trouble ?? '',
      ...(items.length === 0
        ? [none]
        : [table.header(fitting), ...table.rows(fitting).trimEnd().split('\n')]),
    ]);
  };
  return {
    async items(items) {
      shown = items;
      await draw(items);
    },
    trouble(message) {
      trouble = message && printable(message);
      if (shown !== undefined) void draw(shown);
    },
  };
}
