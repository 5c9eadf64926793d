// Judges a plan by its execution: a statement must read only relevant rows, however large the tables are.
import type { PlanNode } from '../explain-log.ts';

/** Tables that grow without limit, and their partitions. */
const GROWING =
  /^(license|license_activity|customer|idempotent_request|seat|charge_session|payment_proof|callback_count|duplicate_payment|refund|(callback|verification|usage_log|fee_line|audit_entry|audit_link|event|event_data|event_delivery)(_\d{4}_\d\d|_default)?|job|job_common)$/;

/** The maximum number of rows to sort or write at once: those of a batch or a page. */
const MAX_AT_ONCE = 200;

/**
 * The faults of a plan, in a few words each. `mostBlocks` is the limit of 8 KiB blocks it may read, `atOnce` that of
 * rows to sort.
 */
export function faultsOf(plan: PlanNode, mostBlocks: number, atOnce = MAX_AT_ONCE): string[] {
  const faults = nodesOf(plan).flatMap((node) => {
    const type = node['Node Type'];
    const relation = node['Relation Name'] ?? '';
    const rows = rowsOf(node);
    if (type === 'Seq Scan' && GROWING.test(relation) && rows > 0) return [`reads all of ${relation}`];
    if (type === 'Sort' || type === 'Incremental Sort') {
      const input = (node.Plans ?? []).reduce((sum, each) => sum + rowsOf(each), 0);
      if (input > atOnce) return [`sorts ${input} rows`];
    }
    return [];
  });
  const blocks = blocksOf(plan);
  return blocks > mostBlocks ? [...faults, `touches ${blocks} blocks, more than ${mostBlocks}`] : faults;
}

/**
 * The blocks that a plan reads, without those of the functions that it calls: their statements are judged by
 * themselves. A function in a subquery without a table is a Result without inputs.
 */
export function blocksOf(plan: PlanNode): number {
  const calls = nodesOf(plan).filter(
    ({ 'Node Type': type, Plans }) => type === 'Function Scan' || (type === 'Result' && Plans === undefined),
  );
  return calls.reduce((sum, call) => sum - allBlocksOf(call), allBlocksOf(plan));
}

function allBlocksOf(node: PlanNode): number {
  return (node['Shared Hit Blocks'] ?? 0) + (node['Shared Read Blocks'] ?? 0);
}

/** The number of rows that a statement returns or writes, up to the size of a batch. */
export function yieldOf(plan: PlanNode, atOnce = MAX_AT_ONCE): number {
  const written = nodesOf(plan)
    .filter((node) => node['Node Type'] === 'ModifyTable')
    .flatMap(({ Plans = [] }) => Plans)
    .reduce((sum, { 'Actual Rows': rows }) => sum + rows, 0);
  return Math.max(plan['Actual Rows'], Math.min(written, atOnce));
}

export function nodesOf(plan: PlanNode): PlanNode[] {
  return [plan, ...(plan.Plans ?? []).flatMap(nodesOf)];
}

/** All rows that a node has read, over all of its loops. */
function rowsOf(node: PlanNode): number {
  return node['Actual Loops'] * (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0));
}
