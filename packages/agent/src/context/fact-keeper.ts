import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { CallProvenance } from '../tools/tool.ts'

/** The run whose conversation yielded facts, and the sources of its messages. */
export interface FactRun {
  readonly runId: string
  readonly runOk: boolean
  readonly provenance: CallProvenance
  readonly mesh: RunMesh
}

/**
 * PORT. Stores facts that a conversation yielded, to be found after the conversation is gone. With `runOk` false it
 * stores none: a run in which nothing worked yields no facts. Equal texts are one fact, and texts without visible
 * characters are ignored. Returns how many of the given facts are stored; if it rejects, no fact was stored.
 */
export interface FactKeeper {
  saveFacts(facts: readonly PromptText[], run: FactRun): Promise<{ readonly saved: number }>
}
