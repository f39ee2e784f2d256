import { Problem } from '@flotilla/protocol/problem'
import type { DataReading } from '@flotilla/fleet/sandbox'
import { boundsOfAgent } from './backup-data-bounds.ts'
import { createTarFilter } from './filter-tar.ts'
import type { FilteredData, TarBounds } from './filter-tar.ts'
import type { SourceEntry } from './frames.ts'
import type { AgentPart } from './read-frames.ts'
import { nothingSkipped } from './skipped-entries.ts'
import { whyOf } from './why-of.ts'

/** Resolves to the agent's data, or to null if the agent has none. `held` is known after the last byte. */
export type ReadAgentData = (agentId: string) => Promise<DataReading | null>

/** How the data of a home's agents is read. */
export interface DataOfAgents {
  /** Agents whose data the owner excludes. */
  readonly without: readonly string[]
  readonly read: ReadAgentData
  readonly dataLimitBytes: (agentId: string) => number
  /** The disk space of these agents' data in bytes; null if it cannot be counted in advance. */
  readonly measure: (agentIds: readonly string[]) => Promise<number | null>
}

export interface AgentsSource extends Omit<DataOfAgents, 'measure'> {
  readonly ids: readonly string[]
  readonly progress: (step: string) => void
}

export interface AgentsRead {
  readonly parts: AgentPart[]
  /** Agents that had to resume before all of their data was read. */
  readonly notHeld: string[]
}

/**
 * The data of agents, one after the other, with only the entries that a restore uses. An agent whose data cannot be
 * read becomes an entry with the reason, so neither an agent nor an engine that fails midway excludes the others.
 * Throws the error if not a single agent could be read.
 */
export async function* readAgents(source: AgentsSource, read: AgentsRead): AsyncGenerator<SourceEntry> {
  const total = { entries: 0, bytes: 0 }
  let hasBegun = false
  let failure: { readonly error: unknown } | null = null
  for (const [at, agent] of source.ids.entries()) {
    const leftOut = (why: string): SourceEntry => {
      read.parts.push(partOf(agent, { leftOut: why }))
      return { entry: { kind: 'agent-data', agent }, content: nothing(), close: () => ({ leftOut: why }) }
    }
    if (source.without.includes(agent)) {
      yield leftOut('left out by --without')
      continue
    }
    const agents = source.ids.length
    const bounds = boundsOfAgent(source.dataLimitBytes(agent), { agents, follow: agents - at - 1, ...total })
    source.progress(`Reading the data of ${agent}`)
    let data: DataReading | null
    try {
      data = await source.read(agent)
      hasBegun = true
    } catch (error) {
      if (isOfAll(error)) throw error
      failure ??= { error }
      yield leftOut(whyOf(error))
      continue
    }
    if (data === null) continue
    yield* readOne(agent, { data, bounds, read, total })
  }
  if (failure !== null && !hasBegun) throw failure.error
}

async function* readOne(
  agent: string,
  to: {
    readonly data: DataReading
    readonly bounds: TarBounds
    readonly read: AgentsRead
    readonly total: { entries: number; bytes: number }
  },
): AsyncGenerator<SourceEntry> {
  const { data, bounds, read, total } = to
  const result: Result = { leftOut: 'the data was not read completely' }
  try {
    yield {
      entry: { kind: 'agent-data', agent },
      content: filtered(data, bounds, result),
      close: () => {
        const { data: found, leftOut } = result
        return found === undefined
          ? { leftOut: leftOut ?? '' }
          : { note: { skipped: found.skipped, ended_by: found.endedBy } }
      },
    }
  } finally {
    await data.leave()
  }
  read.parts.push(partOf(agent, result))
  total.entries += result.data?.entries ?? 0
  total.bytes += result.data?.bytes ?? 0
  if (result.data !== undefined && result.data.endedBy === null && !data.held()) read.notHeld.push(agent)
}

/** The data that was read, or the reason why the agent is left out. */
interface Result {
  data?: FilteredData
  leftOut?: string
}

async function* filtered(data: DataReading, bounds: TarBounds, result: Result): AsyncGenerator<Buffer> {
  const filter = createTarFilter(bounds)
  try {
    try {
      for await (const piece of data.tar) {
        yield* filter.take(Buffer.from(piece.buffer, piece.byteOffset, piece.byteLength))
        if (filter.isOver()) break
      }
    } catch (error) {
      // The packer reports at its end that it could not read some files; the files that it packed are complete.
      if (!filter.isWhole()) throw error
      filter.note('some files', whyOf(error))
    }
    // The stream itself ended in order.
    const ended = filter.isOver() || filter.isWhole() ? filter.end() : filter.endEarly()
    yield* ended.pieces
    result.data = ended.data
  } catch (error) {
    if (isOfAll(error)) throw error
    result.leftOut = whyOf(error)
  }
}

/** Returns true if the error concerns all agents: the mesh has ended, the disk is full or the caller aborted. */
function isOfAll(error: unknown): boolean {
  if (error instanceof Problem) return error.code === 'conflict' || error.code === 'disk-full'
  return error instanceof Error && error.name === 'AbortError'
}

function partOf(agent: string, { data, leftOut }: Result): AgentPart {
  return data === undefined
    ? { agent, state: 'left-out', why: leftOut ?? null, bytes: 0, skipped: nothingSkipped, endedBy: null }
    : { agent, state: 'there', why: null, bytes: data.bytes, skipped: data.skipped, endedBy: data.endedBy }
}

async function* nothing(): AsyncGenerator<Buffer> {}
