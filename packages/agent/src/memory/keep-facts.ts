import type { FactKeeper } from '../context/fact-keeper.ts'
import { embeddingSourceOf } from './embed-texts.ts'
import type { Memory } from './memory.ts'

/** Saves facts of a conversation in memory, each with the conversation's provenance. */
export function keepFacts(deps: { memory: Memory; embeddingModel: string | null }): FactKeeper {
  return {
    saveFacts: async (facts, { runOk, provenance, mesh }) => {
      const { trust, ...behind } = provenance
      const source = { ...behind, tool: 'conversation' }
      const { saved } = await deps.memory.saveFacts(
        facts.map((text) => ({ text, source, trust })),
        { runOk, source: embeddingSourceOf(mesh, deps.embeddingModel) },
      )
      return { saved }
    },
  }
}
