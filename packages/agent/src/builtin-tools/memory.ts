import { memoryLimits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { embeddingSourceOf } from '../memory/embed-texts.ts'
import { factName, readFactName } from '../memory/fact.ts'
import type { Fact, FactSource } from '../memory/fact.ts'
import type { Memory, SearchWay } from '../memory/memory.ts'
import type { FoundFact } from '../memory/memory-store.ts'
import { integer, optional, text, withDefault } from '../tools/parameters.ts'
import { defineTool, succeeded } from '../tools/tool.ts'
import type { CallProvenance, Tool, ToolContext } from '../tools/tool.ts'

const { factTextMaxChars, factKeyMaxChars, factCategoryMaxChars } = memoryLimits

const memoryTimeoutMs = 30_000
const queryMaxChars = 2000
const resultsMax = 20
/** The limit holds for all facts of one answer together, so that their trust labels are never cut off. */
const answerMaxChars = 14_000

const key = (description: string) => optional(text(description, { maxChars: factKeyMaxChars }))
const category = (description: string) => optional(text(description, { maxChars: factCategoryMaxChars }))

/** Facts that outlive a conversation. Each records its source and how far it can be trusted. */
export function memoryTools(deps: { memory: Memory; embeddingModel: string | null }): Tool[] {
  const { memory } = deps
  const sourceOf = ({ mesh }: ToolContext) => embeddingSourceOf(mesh, deps.embeddingModel)
  return [
    defineTool({
      name: 'memory_search',
      description:
        'Finds facts that you saved in earlier conversations, with source and trust: owner, self, agent, or outside (anyone may have written it).',
      parameters: {
        query: text('Your question', { minChars: 1, maxChars: queryMaxChars }),
        category: category('Only facts of this category'),
        max_results: withDefault(integer('Number of facts', { min: 1, max: resultsMax }), 5),
      },
      // The search changes only counters of its hits.
      effect: 'none',
      parallelSafe: true,
      timeoutMs: memoryTimeoutMs,
      run: async (values, context) => {
        const question = {
          text: values.query,
          category: values.category === undefined ? null : values.category.trim().toLowerCase(),
          maxResults: values.max_results,
          runId: provenanceOf(context).runId,
        }
        const { facts, way, categories } = await memory.search(question, sourceOf(context), context.signal)
        return succeeded({
          facts: withinChars(facts.map(shown)),
          searched_by: describeSearchWay(way),
          ...(facts.length === 0 ? { categories } : {}),
        })
      },
    }),
    defineTool({
      name: 'memory_save',
      description:
        'Saves one fact for later conversations: a preference, a decision, a name, how something is done.',
      parameters: {
        content: text('The fact, understandable without context', {
          minChars: 1,
          maxChars: factTextMaxChars,
        }),
        key: key('Such as owner.timezone; saving under it again replaces the fact'),
        category: category('One word, such as preference'),
      },
      // Saving the same fact twice stores it once.
      effect: 'none',
      timeoutMs: memoryTimeoutMs,
      run: async (values, context) => {
        const { trust, ...behind } = provenanceOf(context)
        const source: FactSource = { ...behind, tool: 'memory_save' }
        const fact = { text: values.content, key: values.key, category: values.category, source, trust }
        const saved = await memory.save(fact, sourceOf(context))
        return succeeded({
          id: factName(saved.fact.id),
          ...(saved.fact.key === null ? {} : { key: saved.fact.key }),
          category: saved.fact.category,
          trust: saved.fact.trust,
          change: saved.change,
          found_by: describeSearchWay(saved.way),
          ...(saved.gaveWay === null ? {} : { gave_way: shown(saved.gaveWay) }),
        })
      },
    }),
    defineTool({
      name: 'memory_forget',
      description: 'Deletes one fact from your memory, by its id or its key.',
      parameters: {
        id: optional(text('As memory_search shows it, such as fact_12', { maxChars: 32 })),
        key: key('Its key'),
      },
      effect: 'local',
      timeoutMs: memoryTimeoutMs,
      run: async (values, context) => {
        const forgotten = await memory.forget(whichOf(values), provenanceOf(context).trust)
        return succeeded({ forgotten: factName(forgotten.id), text: forgotten.text })
      },
    }),
  ]
}

/** Without provenance nothing is trusted. */
function provenanceOf(context: ToolContext): CallProvenance {
  const runId = context.idempotencyKey.split(':')[0] ?? ''
  return context.provenance?.() ?? { runId, origin: 'unknown', channel: '', trust: 'outside', urls: [] }
}

function whichOf(values: {
  id: string | undefined
  key: string | undefined
}): { id: number } | { key: string } {
  if ((values.id === undefined) === (values.key === undefined)) {
    throw new Problem('bad-request', { detail: 'Give either `id` or `key`.' })
  }
  if (values.key !== undefined) return { key: values.key }
  const id = readFactName(values.id ?? '')
  if (id === null) throw new Problem('bad-request', { detail: '`id`: expected the form fact_12.' })
  return { id }
}

function shown(fact: Fact | FoundFact) {
  const { source } = fact
  return {
    id: factName(fact.id),
    ...(fact.key === null ? {} : { key: fact.key }),
    text: fact.text,
    category: fact.category,
    trust: fact.trust,
    from: {
      run: source.runId,
      saved_by: source.tool,
      origin: source.channel === '' ? source.origin : `${source.origin} by ${source.channel}`,
      ...(source.urls.length === 0 ? {} : { after_reading: source.urls }),
    },
    saved: new Date(fact.createdAt).toISOString(),
    used: fact.useCount,
    ...('score' in fact ? { score: Math.round(fact.score * 1000) / 1000 } : {}),
  }
}

/** Returns the best facts that fit; at least one. */
function withinChars<T>(facts: readonly T[]): readonly T[] {
  let chars = 0
  return facts.filter((fact, index) => {
    chars += JSON.stringify(fact).length
    return index === 0 || chars <= answerMaxChars
  })
}

function describeSearchWay(way: SearchWay): string {
  if (way.kind === 'words') return `words only (${way.why})`
  return way.unembedded === 0
    ? 'words and meaning'
    : `words and meaning (${way.unembedded} facts by words only, until they are embedded)`
}
