import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import { provenanceOf } from '../loop/run-provenance.ts'
import { createTimeLimit } from '../loop/time-limit.ts'
import type { LoopState } from '../loop/loop-state.ts'
import { childDepsOf } from './child-deps.ts'
import type { SubagentStart, SubagentSurroundings } from './child-deps.ts'
import type { SubagentEnd } from './subagent.ts'

/**
 * One sub-agent from its goal to its end, through the same loop, with its own conversation, round count and
 * loop detector. It is not on disk: the attempt that continues the run after a crash is informed that it is
 * lost. Never rejects.
 */
export async function runSubagent(deps: SubagentSurroundings, start: SubagentStart): Promise<SubagentEnd> {
  const { parent, log } = deps
  const { clock } = parent.deps
  const { loop, ttlSeconds, beginning } = start
  const expired = new Problem('expired', {
    detail: `The sub-agent reached its time limit of ${ttlSeconds} seconds.`,
  })
  const time = createTimeLimit(clock, ttlSeconds * 1000, expired)
  const ended = (state: SubagentEnd['state'], text: string): SubagentEnd => {
    const { trust } = provenanceOf({ ...loop, beginning })
    return { state, text: sanitizeForPrompt(text), trust, endedAt: clock.now() }
  }
  try {
    const childDeps = await childDepsOf(deps, start)
    const end = await deps.runLoop(childDeps, loop, AbortSignal.any([start.signal, time.signal]))
    if (end.kind === 'answered') return ended('complete', end.text)
    const why = end.kind === 'failed' ? `${end.code}: ${end.detail}` : end.completion.summary
    return ended('failed', `${why}${lastWords(loop)}`)
  } catch (err) {
    if (start.signal.aborted) return ended('cancelled', `It was ended.${lastWords(loop)}`)
    if (time.signal.aborted)
      return ended(
        'timeout',
        `The sub-agent reached its time limit of ${ttlSeconds} seconds.${lastWords(loop)}`,
      )
    log.error(
      { runId: start.name, err },
      'internal error in a sub-agent; it ends as failed and its parent is notified',
    )
    return ended('failed', 'internal-error: internal error in the sub-agent; see the log of the agent.')
  } finally {
    await time.end()
    deps.exclusive.release(start.name)
  }
}

function lastWords(loop: LoopState): string {
  const answer = loop.messages.findLast(({ role, content }) => role === 'assistant' && content !== '')
  return answer ? `\nIts last answer: ${answer.content}` : ''
}
