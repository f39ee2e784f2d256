import { Problem } from '@flotilla/protocol/problem'
import type { FactView } from '@flotilla/protocol/kept-api'
import { factName, readFactName } from '../memory/fact.ts'
import type { Fact } from '../memory/fact.ts'
import type { Memory } from '../memory/memory.ts'
import type { Routes } from './http-server.ts'
import { parseWith } from './parse-with.ts'

/** The agent's memory, for people: list and delete facts. */
export function memoryRoutes(deps: {
  /** Loads the memory; the first run needs it too. */
  readonly memory: () => Promise<Pick<Memory, 'list' | 'forget'>>
}): Pick<Routes, 'memoryList' | 'memoryForget'> {
  return {
    memoryList: async ({ query }) => {
      const { agentApi } = await import('@flotilla/protocol/agent-api')
      const filter = parseWith(agentApi.memoryList.query, Object.fromEntries(query))
      const before = filter.before === undefined ? null : readFactName(filter.before)
      const { facts, total, more } = await (await deps.memory()).list({ ...filter, before })
      return { facts: facts.map(factView), total, more }
    },
    memoryForget: async ({ params }) => {
      const name = params['fact'] ?? ''
      const id = readFactName(name)
      if (id === null) throw new Problem('bad-request', { detail: 'a fact is named like fact_12' })
      try {
        // Only people use this endpoint, and they decide what is remembered.
        await (await deps.memory()).forget({ id }, 'owner')
        return { id: name, was_there: true }
      } catch (error) {
        if (error instanceof Problem && error.code === 'not-found') return { id: name, was_there: false }
        throw error
      }
    },
  }
}

function factView({ source, ...fact }: Fact): FactView {
  return {
    id: factName(fact.id),
    key: fact.key,
    text: fact.text,
    category: fact.category,
    trust: fact.trust,
    source: {
      run_id: source.runId,
      tool: source.tool,
      origin: source.origin,
      channel: source.channel,
      urls: [...source.urls],
    },
    created_at: fact.createdAt,
    last_used_at: fact.lastUsedAt,
    use_count: fact.useCount,
  }
}
