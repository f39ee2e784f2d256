import { editableFiles } from '@flotilla/protocol/workspace-file'
import { requireProof } from '@flotilla/identity/access'
import type { Caller } from '@flotilla/identity/access'

/** The fields that a page may change without the owner's proof. The spending module checks raised budgets itself. */
const withoutProof: ReadonlySet<string> = new Set(['role', 'model', 'budget', ...editableFiles])

/**
 * Throws the Problem `proof-wanted` if a page edits a field that decides what an agent may do, or undoes such an
 * edit.
 */
export function holdPage(caller: Caller, field: string): void {
  if (!withoutProof.has(field)) requireProof(caller, `change the ${field} of an agent`)
}
