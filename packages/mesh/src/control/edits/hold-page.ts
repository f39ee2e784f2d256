import { editableFiles } from '@flotilla/protocol/workspace-file'
import { requireProof } from '../../access/index.ts'
import type { Caller } from '../../access/index.ts'

/** What a page changes of an agent without the owner's proof. Of a budget the module of spending asks, where it is raised. */
const withoutProof: ReadonlySet<string> = new Set(['role', 'model', 'budget', ...editableFiles])

/** Problem `proof-wanted` for a page that edits, or takes back an edit of, what decides what an agent may. */
export function holdPage(caller: Caller, field: string): void {
  if (!withoutProof.has(field)) requireProof(caller, `change the ${field} of an agent`)
}
