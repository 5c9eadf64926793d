// Verifies an audit log as a hub does when it is asked to: with what is committed by now.
import { type ChainOptions, linkEntries } from '../../../core/access/audit-chainer.ts';
import { type Verification, type VerifyOptions, verifyAuditLog } from '../../../core/access/audit-verify.ts';

export async function verifyAll(chain: ChainOptions, options?: VerifyOptions): Promise<Verification> {
  await linkEntries(chain);
  return verifyAuditLog(chain, options);
}
