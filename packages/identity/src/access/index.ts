/** Callers, their permissions and their rate limits. */

export type { Action, Decision, Guard, WalletSpend } from './action.ts'
export { isAtTerminal, requireAtTerminal, requireOwner } from './at-terminal.ts'
export type { PersonAtTerminal } from './at-terminal.ts'
export { authorize } from './authorize.ts'
export { raisedPeriod } from './budget-ceiling.ts'
export { createCallRate } from './call-rate.ts'
export type { CallRate } from './call-rate.ts'
export { actorOf, ownerOfActor } from './caller.ts'
export type { Caller, HumanCaller } from './caller.ts'
export { workerDefaultRecord } from './default-records.ts'
export { createDenialCounts } from './denial-counts.ts'
export type { DenialCounts } from './denial-counts.ts'
export { explain } from './explain.ts'
export type { Question } from './explain.ts'
export { writeFirstPermissions } from './first-permissions.ts'
export {
  compileNamePattern,
  compileFoldedPattern,
  compilePathPattern,
  compileWordPattern,
  credentialMatches,
  keyMatcher,
  normalizeKey,
} from './glob.ts'
export { createGuard } from './guard.ts'
export { createHoldCeiling, createRefuseAboveCeiling } from './hold-ceiling.ts'
export type { HoldCeiling, RefuseAboveCeiling } from './hold-ceiling.ts'
export { createJournalGrants, handActor } from './journal-grants.ts'
export { emptyRecord, pickFields, readFields, submittedFields } from './permission-change.ts'
export type { SubmittedFields } from './permission-change.ts'
export { createPermissionFile } from './permission-file.ts'
export type { PermissionStore } from './permission-file.ts'
export { permissionOrigins } from './permission-origins.ts'
export { createPermissionGrants } from './permission-grants.ts'
export type { PermissionGrants } from './permission-grants.ts'
export { projectOfName } from './project-walls.ts'
export type { Membership } from './project-walls.ts'
export { createRateLimits } from './rate-limits.ts'
export type { RateLimits } from './rate-limits.ts'
export { createRefusedTools } from './refused-tools.ts'
export type { RefusedTool } from './refused-tools.ts'
export { requireProof } from './require-proof.ts'
export { effectiveWalletLimits } from './effective-wallet-limits.ts'
export { withinParent } from './within-parent.ts'
export type { RunCap, RunTicket } from './run-ticket.ts'
export { createWriteWindow } from './write-window.ts'
