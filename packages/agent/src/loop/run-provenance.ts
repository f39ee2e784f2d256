import type { Origin } from '@flotilla/protocol/origin'
import type { ToolOutput } from '@flotilla/protocol/tool-call'
import { leastTrusted, trustOfOrigin, trustOfResult } from '../memory/trust.ts'
import type { Trust } from '../memory/trust.ts'
import type { CallProvenance } from '../tools/tool.ts'

const urlMaxChars = 2000

/** Who began a run, and how far its conversation could be believed when it began. */
export interface RunBeginning {
  readonly origin: Origin | null
  readonly trust: Trust
}

/** Pure. What is asked now joins what the conversation had heard before; one that has heard nothing adds nothing. */
export function beginningOf(origin: Origin | undefined, heardBefore: Trust | null): RunBeginning {
  const asked = trustOfOrigin(origin)
  return { origin: origin ?? null, trust: heardBefore === null ? asked : leastTrusted([asked, heardBefore]) }
}

/**
 * Pure. What stands behind a call that is made now. It looks at the account of what the run has read and not at its
 * messages, which are cut when they grow.
 */
export function provenanceOf(run: {
  readonly runId: string
  /** Without it nothing is trusted. */
  readonly beginning: RunBeginning | undefined
  readonly toolOutputs: readonly ToolOutput[]
  /** Steers that were taken: people’s or agents’, which their words do not tell apart. */
  readonly steers: readonly unknown[]
}): CallProvenance {
  const { runId, beginning = beginningOf(undefined, null), toolOutputs } = run
  const read = toolOutputs.map(({ tool, output }) => trustOfResult(tool, output))
  // What the agent did by itself does not make the owner’s words less the owner’s.
  const heard = read.filter((trust) => trust !== 'self')
  const steered: readonly Trust[] = run.steers.length > 0 ? ['agent'] : []
  return {
    runId,
    origin: beginning.origin?.kind ?? 'unknown',
    channel: beginning.origin?.channel ?? '',
    trust: leastTrusted([beginning.trust, ...heard, ...steered]),
    urls: toolOutputs.flatMap(urlOf),
  }
}

function urlOf({ tool, input }: ToolOutput): string[] {
  const url = tool === 'http_request' ? input['url'] : undefined
  return typeof url === 'string' ? [url.slice(0, urlMaxChars)] : []
}
