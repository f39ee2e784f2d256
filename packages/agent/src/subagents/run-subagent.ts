import { limits } from '@flotilla/protocol/limits'
import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { subagentTools } from '../builtin-tools/subagents.ts'
import { provenanceOf } from '../loop/run-provenance.ts'
import type { RunBeginning } from '../loop/run-provenance.ts'
import { runRounds } from '../loop/run-rounds.ts'
import { createTimeLimit } from '../loop/time-limit.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { chargeParent } from './charge-parent.ts'
import { childTools } from './child-tools.ts'
import { createCrew } from './crew.ts'
import type { CrewDeps, CrewParent } from './crew.ts'
import type { SubagentEnd } from './subagent.ts'

const emptyRetriesMax = 1

/** What one sub-agent is begun with. */
export interface SubagentStart {
  /** Unlike that of every other in the run, as the keys of its calls must be. */
  readonly name: string
  readonly id: string
  readonly loop: LoopState
  readonly beginning: RunBeginning
  readonly ttlSeconds: number
  /** Aborts when the parent ends or calls it off. */
  readonly signal: AbortSignal
}

/**
 * One sub-agent from its goal to its end, through THE loop, with a conversation, a count of rounds and a detector of its
 * own. It is not on disk: whoever goes on with the run after a crash is told that it is lost. Never rejects.
 */
export async function runSubagent(
  deps: CrewDeps & { readonly parent: CrewParent },
  start: SubagentStart,
): Promise<SubagentEnd> {
  const { parent, log } = deps
  const { clock } = parent.deps
  const { loop, ttlSeconds, beginning } = start
  const expired = new Problem('expired', { detail: `Its ${ttlSeconds} seconds are over.` })
  const time = createTimeLimit(clock, ttlSeconds * 1000, expired)
  const ended = (state: SubagentEnd['state'], text: string): SubagentEnd => {
    const { trust } = provenanceOf({ ...loop, beginning })
    return { state, text: sanitizeForPrompt(text), trust, endedAt: clock.now() }
  }
  try {
    const childDeps = await childDepsOf(deps, start)
    const end = await runRounds(childDeps, loop, AbortSignal.any([start.signal, time.signal]))
    if (end.kind === 'answered') return ended('complete', end.text)
    const why = end.kind === 'failed' ? `${end.code}: ${end.detail}` : end.completion.summary
    return ended('failed', `${why}${lastWords(loop)}`)
  } catch (err) {
    if (start.signal.aborted) return ended('cancelled', `It was ended.${lastWords(loop)}`)
    if (time.signal.aborted) return ended('timeout', `Its ${ttlSeconds} seconds are over.${lastWords(loop)}`)
    log.error({ runId: start.name, err }, 'a sub-agent failed inside')
    return ended('failed', 'internal-error: the sub-agent failed inside; the log of the agent says more.')
  } finally {
    await time.end()
    deps.exclusive.release(start.name)
  }
}

async function childDepsOf(
  deps: CrewDeps & { readonly parent: CrewParent },
  { id, name, beginning }: SubagentStart,
): Promise<CrewParent['deps']> {
  const { parent } = deps
  const { onFrame, onStep } = parent.deps
  const depth = deps.depth + 1
  const crew = depth < limits.subagents.depthMax ? createCrew({ ...deps, depth }) : undefined
  return {
    ...parent.deps,
    model: chargeParent(parent.deps.model, { state: parent.state, spending: parent.deps.spending }),
    tools: [...childTools(parent.deps.tools, name), ...(crew ? subagentTools(crew) : [])],
    systemPrompt: await deps.systemPrompt(),
    bounds: { kind: 'task', iterationsMax: limits.subagents.iterationsDefault },
    spending: null,
    taskId: null,
    beginning,
    remindsOfTask: false,
    emptyRetriesMax,
    crew,
    saveCheckpoint: async () => undefined,
    // What is said to the run is said to the agent itself.
    steers: () => [],
    onStep: () => onStep(parent.state.step),
    onFrame: (frame) => {
      if (frame.type !== 'tool_start' && frame.type !== 'tool_result') return
      onFrame({ ...frame, subagent: frame.subagent === undefined ? id : `${id}/${frame.subagent}` })
    },
  }
}

function lastWords(loop: LoopState): string {
  const said = loop.messages.findLast(({ role, content }) => role === 'assistant' && content !== '')
  return said ? `\nIts last words: ${said.content}` : ''
}
