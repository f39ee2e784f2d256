import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { RunMesh } from '../mesh/run-mesh.ts'
import type { CallProvenance } from '../tools/tool.ts'

/** The run whose conversation yielded facts, and what stands behind its words. */
export interface FactRun {
  readonly runId: string
  readonly runOk: boolean
  readonly provenance: CallProvenance
  readonly mesh: RunMesh
}

/**
 * PORT. Takes facts that a conversation yielded, to be found when it is forgotten. With `runOk` false it keeps none:
 * words of a run in which nothing worked are no facts. The same words are one fact, and words with nothing to be seen
 * in them are none. Answers how many of those given are kept; may reject, and then none are.
 */
export interface FactKeeper {
  saveFacts(facts: readonly PromptText[], run: FactRun): Promise<{ readonly saved: number }>
}
