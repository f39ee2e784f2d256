import type { Origin } from '@flotilla/protocol/origin'
import type { ToolOutput } from '@flotilla/protocol/tool-call'
import { leastTrusted, trustOfOrigin, trustOfResult } from '../memory/trust.ts'
import type { Trust } from '../memory/trust.ts'
import type { CallProvenance } from '../tools/tool.ts'

const urlMaxChars = 2000

/** The origin of a run, and how far its conversation was trusted when the run began. */
export interface RunBeginning {
  readonly origin: Origin | null
  readonly trust: Trust
}

/** Pure. The trust of the new message joins that of the earlier conversation; an empty conversation adds nothing. */
export function beginningOf(origin: Origin | undefined, earlierTrust: Trust | null): RunBeginning {
  const originTrust = trustOfOrigin(origin)
  return {
    origin: origin ?? null,
    trust: earlierTrust === null ? originTrust : leastTrusted([originTrust, earlierTrust]),
  }
}

/**
 * Pure. The provenance of a call that is made now. It uses the record of what the run has read and not its
 * messages, which are cut when they grow.
 */
export function provenanceOf(run: {
  readonly runId: string
  /** When the beginning is missing, nothing is trusted. */
  readonly beginning: RunBeginning | undefined
  readonly toolOutputs: readonly ToolOutput[]
  /** Confirmed steers. They come from people or agents, which their text does not distinguish. */
  readonly steers: readonly unknown[]
}): CallProvenance {
  const { runId, beginning = beginningOf(undefined, null), toolOutputs } = run
  const read = toolOutputs.map(({ tool, output }) => trustOfResult(tool, output))
  // The agent's own text does not lower the trust of the owner's words.
  const external = read.filter((trust) => trust !== 'self')
  const steered: readonly Trust[] = run.steers.length > 0 ? ['agent'] : []
  return {
    runId,
    origin: beginning.origin?.kind ?? 'unknown',
    channel: beginning.origin?.channel ?? '',
    trust: leastTrusted([beginning.trust, ...external, ...steered]),
    urls: toolOutputs.flatMap(urlOf),
  }
}

function urlOf({ tool, input }: ToolOutput): string[] {
  const url = tool === 'http_request' ? input['url'] : undefined
  return typeof url === 'string' ? [url.slice(0, urlMaxChars)] : []
}
