// Links all committed entries, then verifies the audit log.
import type { ChainOptions } from '../../../core/audit/chain.ts';
import { linkEntries } from '../../../core/audit/link-entries.ts';
import {
  type Verification,
  type VerifyOptions,
  verifyAuditLog,
} from '../../../core/audit/verify-audit-log.ts';

export async function verifyAll(chain: ChainOptions, options?: VerifyOptions): Promise<Verification> {
  await linkEntries(chain);
  return verifyAuditLog(chain, options);
}
