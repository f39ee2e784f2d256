import { Problem } from '@flotilla/protocol/problem'
import { sanitizeForPrompt } from '@flotilla/protocol/sanitize-for-prompt'
import type { PromptText } from '@flotilla/protocol/sanitize-for-prompt'
import type { ParentLoop } from '../loop/loop-deps.ts'
import { freshState } from '../loop/loop-state.ts'
import { leastTrusted } from '../memory/trust.ts'
import type { Trust } from '../memory/trust.ts'
import { withMoment } from '../prompt/moment-message.ts'
import { cutMiddle } from '../tools/cut-middle.ts'
import { toolOutputMaxChars } from '../tools/execute-tool-call.ts'
import { formatUnread, outcomeUnknown } from './format-notices.ts'
import type { LostSubagent } from './lost-subagents.ts'
import { runSubagent } from './run-subagent.ts'
import type { SubagentSurroundings } from './child-deps.ts'
import { viewSubagent } from './subagent.ts'
import type { Subagent } from './subagent.ts'
import type { OutcomeUnknown, Supervisor, WaitAnswer } from './subagent-pool.ts'
import { subagentLimits } from './subagent-limits.ts'

/** Total number of sub-agents that one loop may start; they and their results are kept until the loop ends. */
export const spawnsMax = 30
/** Limit for all results in one call together; the rest of the answer comes on top. */
const resultsMaxChars = Math.floor(toolOutputMaxChars * 0.6)
/** How often a waiting call checks for steers. */
const lookUpMs = 500

export function createSupervisor(
  deps: SubagentSurroundings & { readonly lost: readonly LostSubagent[] },
): Supervisor {
  const { parent, log, lost } = deps
  const { clock } = parent.deps
  const all = new Map<string, Subagent>()
  const reported = new Set<string>()
  const { concurrentMax } = subagentLimits
  const living = (): readonly Subagent[] => [...all.values()].filter(({ end }) => end === null)
  const unread = (): readonly Subagent[] => [...all.values()].filter(({ isRead }) => !isRead)
  let isOver = false
  /** True if the run has a steer that its agent has not read. Steers are read between rounds, so waiting must end. */
  const isCalled = (): boolean =>
    parent.deps.steers().some(({ id }) => !parent.state.steers.some((taken) => taken.id === id))

  const admit = (): void => {
    if (isOver)
      throw new Problem('unprocessable', { detail: 'The run that started the sub-agents has ended.' })
    const now = living()
    if (now.length >= concurrentMax) {
      const ids = now.map(({ id }) => id).join(', ')
      throw new Problem('conflict', {
        detail: `You have ${concurrentMax} running sub-agents (${ids}); at most ${concurrentMax} run at once. No sub-agent was started. Call wait_for_subagent with until "first", then start the next.`,
      })
    }
    if (all.size >= spawnsMax) {
      throw new Problem('unprocessable', {
        detail: `You have started ${spawnsMax} sub-agents, the limit of one turn. Do the rest yourself.`,
      })
    }
  }
  const find = (id: string): Subagent => {
    const found = all.get(id)
    if (found) return found
    const ids = [...all.keys()].join(', ')
    throw new Problem('not-found', {
      detail: `You have no sub-agent ${id}; ${ids === '' ? 'you have started none' : `there are ${ids}`}.`,
    })
  }
  const resultsOf = (ended: readonly Subagent[], trust: Trust): Pick<WaitAnswer, 'trust' | 'ended'> => {
    const room = Math.floor(resultsMaxChars / Math.max(1, ended.length))
    return {
      trust,
      ended: ended.map((subagent) => {
        subagent.isRead = true
        const result = cutToJson(sanitizeForPrompt(subagent.end?.text ?? ''), room)
        return { ...viewSubagent(subagent, clock.now()), result }
      }),
    }
  }
  return {
    spawn: ({ goal, ttlSeconds, idempotencyKey, trust }) => {
      admit()
      const id = `sub_${idempotencyKey.split(':').at(-1) ?? ''}`
      if (all.has(id)) throw new Problem('conflict', { detail: `${id} was already started.` })
      const name = `${parent.state.runId}:${id}`
      const loop = freshState({
        runId: name,
        inputHash: '',
        startedAt: clock.now(),
        step: 0,
        messages: [{ role: 'user', content: withMoment(sanitizeForPrompt(goal), clock.now()) }],
        rounds: { turn: 0, session: 0, continues: 0 },
      })
      const controller = new AbortController()
      const done = runSubagent(deps, {
        id,
        name,
        loop,
        ttlSeconds,
        beginning: { origin: parent.deps.work.beginning?.origin ?? null, trust },
        signal: AbortSignal.any([parent.signal, controller.signal]),
      }).then((end) => {
        subagent.end = end
        log.info(
          { runId: name, state: end.state, tokens: loop.tokens },
          'a sub-agent ended; its parent reads the result',
        )
        return end
      })
      const subagent: Subagent = {
        id,
        goal,
        ttlSeconds,
        startedAt: clock.now(),
        loop,
        done,
        end: null,
        isRead: false,
        cancel: () =>
          controller.abort(new Problem('cancelled', { detail: 'The run of its parent has ended.' })),
      }
      all.set(id, subagent)
      log.info({ runId: name, ttlSeconds }, 'a sub-agent started')
      return {
        id,
        state: 'running',
        ttl_seconds: ttlSeconds,
        living: `${living().length} of ${concurrentMax}`,
      }
    },
    list: () => ({
      subagents: [...all.values()].map((subagent) => viewSubagent(subagent, clock.now())),
      may_begin: Math.min(concurrentMax - living().length, spawnsMax - all.size),
      ...unknownOutcomes(lost.map(({ id }) => id)),
    }),
    wait: async ({ ids, until, timeoutSeconds }, signal) => {
      const lostIds = new Set(lost.map(({ id }) => id))
      const chosen = ids.length === 0 ? unread() : ids.filter((id) => !lostIds.has(id)).map(find)
      const gone = ids.length === 0 ? [...lostIds] : ids.filter((id) => lostIds.has(id))
      const rule = { until, timeoutMs: timeoutSeconds * 1000, clock, isCalled }
      await waitFor(chosen, rule, signal)
      const ended = chosen.filter(({ end }) => end !== null)
      const trust = leastTrusted(['self', ...ended.flatMap(({ end }) => end?.trust ?? [])])
      return {
        ...resultsOf(ended, trust),
        still_running: chosen
          .filter(({ end }) => end === null)
          .map((subagent) => viewSubagent(subagent, clock.now())),
        ...unknownOutcomes(gone),
        ...(isCalled() ? { interrupted: 'You received a message; you read it next.' } : {}),
      }
    },
    takeUnread: () => {
      const news = unread().filter(({ id }) => !reported.has(id))
      if (news.length === 0) return null
      for (const { id } of news) reported.add(id)
      return formatUnread(news.map(({ id, goal, end }) => ({ id, goal, isRunning: end === null })))
    },
    end: async () => {
      isOver = true
      for (const subagent of living()) subagent.cancel()
      await Promise.all([...all.values()].map(({ done }) => done))
    },
  }
}

function unknownOutcomes(ids: readonly string[]): { outcome_unknown?: OutcomeUnknown } {
  return ids.length === 0 ? {} : { outcome_unknown: { ids, meaning: outcomeUnknown } }
}

async function waitFor(
  subagents: readonly Subagent[],
  rule: {
    readonly until: 'all' | 'first'
    readonly timeoutMs: number
    readonly clock: ParentLoop['deps']['clock']
    readonly isCalled: () => boolean
  },
  signal: AbortSignal,
): Promise<void> {
  if (subagents.length === 0) return
  const ends = subagents.map(({ done }) => done)
  const over = new AbortController()
  const time = waitInTurns(rule, AbortSignal.any([signal, over.signal]))
  time.catch(() => undefined)
  try {
    await Promise.race([rule.until === 'all' ? Promise.all(ends) : Promise.race(ends), time])
  } finally {
    over.abort()
  }
}

/** Waits until the timeout, or until a steer arrives. */
async function waitInTurns(
  { clock, timeoutMs, isCalled }: Pick<Parameters<typeof waitFor>[1], 'clock' | 'timeoutMs' | 'isCalled'>,
  signal: AbortSignal,
): Promise<void> {
  const until = clock.now() + timeoutMs
  for (let leftMs = timeoutMs; leftMs > 0 && !isCalled(); leftMs = until - clock.now()) {
    await clock.sleep(Math.min(leftMs, lookUpMs), signal)
  }
}

/** Cut so that it fits as a JSON string, in which one character may take six. Pure. */
function cutToJson(text: PromptText, roomChars: number): PromptText {
  let cut = cutMiddle(text, roomChars)
  for (let room = roomChars; JSON.stringify(cut).length > roomChars && room > 1;) {
    room = Math.floor((room * roomChars) / JSON.stringify(cut).length) - 1
    cut = cutMiddle(text, Math.max(1, room))
  }
  return cut
}
