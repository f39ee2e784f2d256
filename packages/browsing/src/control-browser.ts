import { Problem } from '@flotilla/protocol/problem'
import type { BrowserView, ClosedBrowser } from '@flotilla/protocol/browser-api'
import { screenPath } from '@flotilla/protocol/browser-endpoints'
import type { Clock } from '@flotilla/protocol/clock'
import type { Action, Caller, Decision, Guard } from '@flotilla/identity/access'
import { actorOf } from '@flotilla/identity/access'
import type { HandOver } from './hand-over-table.ts'
import { solverName } from './hand-overs.ts'
import type { HandOverEnd, HandOvers } from './hand-overs.ts'
import { takesPlace } from './session-state.ts'
import type { BrowserSessions } from './sessions.ts'
import { shownPage } from './shown-page.ts'
import { browserLimits } from './browser-limits.ts'

/** The time limit for the answer of a browser to a status request, in milliseconds. */
const statusWithinMs = 10_000

/**
 * Operations of people on browsers. People who may view the fleet see them; acting on one requires the right
 * to act on its agent.
 */
export interface ControlBrowser {
  list(caller: Caller): readonly BrowserView[]
  /** Idempotent. Problems `denied`, `unknown-agent`. */
  close(caller: Caller, agentId: string): Promise<ClosedBrowser>
  /** Opens the browser if needed. Problem `conflict` if another person has it, or its agent may not use a browser. */
  takeOver(caller: Caller, agentId: string, signal: AbortSignal): Promise<BrowserView>
  /** Gives the browser back to its agent. Problem `conflict` if the browser is not handed over. */
  giveBack(caller: Caller, agentId: string): Promise<BrowserView>
  /** Ends a hand-over and records the page that the browser shows then. */
  end(handOver: HandOver, how: HandOverEnd, by: string): Promise<void>
  /**
   * Ends expired hand-overs, closes unused and forbidden browsers, and records browsers that ended by
   * themselves.
   */
  sweep(): Promise<void>
}

export function createControlBrowser(deps: {
  readonly sessions: BrowserSessions
  readonly handOvers: HandOvers
  readonly guard: Guard
  readonly decide: (caller: Caller, action: Action) => Decision
  readonly requireAgent: (agentId: string) => void
  /** Returns the reason why the agent may not use a browser now; null if it may. */
  readonly withheld: (agentId: string) => string | null
  /** Returns why the browser's container has ended; null while it runs. */
  readonly endedOf: (agentId: string) => Promise<string | null>
  readonly idleMs: () => number
  readonly clock: Clock
}): ControlBrowser {
  const { sessions, handOvers, guard, clock, withheld } = deps

  function viewOf(agentId: string): BrowserView {
    const { state, page, acting, watchers } = sessions.of(agentId)
    const handOver = handOvers.of(agentId)
    const { url, title, host, tabs } = page
    return {
      agent_id: agentId,
      state: state.kind,
      since: 'since' in state ? state.since : 0,
      reason: state.kind === 'failed' ? state.reason : null,
      page: state.kind === 'live' ? { url, title, host, tabs } : null,
      acting: acting > 0,
      watchers,
      hand_over: handOver && { kind: handOver.kind, by: handOver.takenBy, since: handOver.createdAt },
      screen: screenPath(agentId),
    }
  }

  function mayAct(caller: Caller, agentId: string): void {
    guard(caller, { do: 'manage-agent', agentId })
    deps.requireAgent(agentId)
  }

  async function end(handOver: HandOver, how: HandOverEnd, by: string): Promise<void> {
    const { agentId } = handOver
    const { service } = sessions.of(agentId)
    const signal = AbortSignal.timeout(statusWithinMs)
    // If the browser does not answer, the hand-over ends anyway, so that the agent is not blocked forever.
    await service?.setWatchMode('view', signal).catch(() => undefined)
    const status = await service?.status(signal).catch(() => null)
    const page = status ? shownPage(status) : null
    if (page !== null) sessions.shows(agentId, page)
    handOvers.end(handOver, { how, page, by })
  }

  /** Returns how a hand-over ends by timeout; null if it does not end yet. */
  function overdue({ agentId, takenBy, createdAt }: HandOver): HandOverEnd | null {
    const now = clock.now()
    if (takenBy === null) return now - createdAt >= browserLimits.captchaWaitMs ? 'expired' : null
    const { watchers, watchedAt } = sessions.of(agentId)
    const since = Math.max(watchedAt, createdAt)
    return watchers === 0 && now - since >= browserLimits.unwatchedControlMs ? 'returned' : null
  }

  return {
    end,
    list: (caller) => {
      guard(caller, { do: 'view-fleet' })
      return sessions.list().map(([agentId]) => viewOf(agentId))
    },
    close: async (caller, agentId) => {
      mayAct(caller, agentId)
      const wasOpen = takesPlace(sessions.of(agentId).state)
      await sessions.close(agentId, `closed by ${actorOf(caller)}`)
      return { ...viewOf(agentId), was_open: wasOpen }
    },
    takeOver: async (caller, agentId, signal) => {
      mayAct(caller, agentId)
      const why = withheld(agentId)
      if (why !== null)
        throw new Problem('conflict', { detail: `agent ${agentId} may not use a browser: ${why}` })
      const by = actorOf(caller)
      const taken = handOvers.of(agentId)?.takenBy ?? null
      if (taken === by) return viewOf(agentId)
      // A person takes precedence over the paid solver.
      if (taken !== null && taken !== solverName)
        throw new Problem('conflict', {
          detail: `${taken} controls the browser of ${agentId}; wait until the browser is given back`,
        })
      return sessions.use(agentId, signal, async (service) => {
        const status = await service.status(signal)
        const page = shownPage(status)
        sessions.shows(agentId, page)
        await service.setWatchMode('control', signal)
        handOvers.take(agentId, by, page)
        return viewOf(agentId)
      })
    },
    giveBack: async (caller, agentId) => {
      mayAct(caller, agentId)
      const handOver = handOvers.of(agentId)
      if (handOver === null)
        throw new Problem('conflict', {
          detail: `no person controls the browser of ${agentId}, so it cannot be given back`,
        })
      await end(handOver, 'returned', actorOf(caller))
      return viewOf(agentId)
    },
    sweep: async () => {
      for (const handOver of handOvers.list()) {
        const how = overdue(handOver)
        if (how !== null) await end(handOver, how, 'system')
      }
      for (const [agentId, { state, acting, watchers, usedAt }] of sessions.list()) {
        if (state.kind !== 'live') continue
        const ended = await deps.endedOf(agentId)
        const why = withheld(agentId)
        if (ended !== null) await sessions.lost(agentId, ended)
        // A person's watching does not keep this browser open: its agent may no longer use one, and pages run on.
        else if (why !== null) await sessions.close(agentId, `its agent may no longer use a browser: ${why}`)
        // An idle browser stays open while its screen is watched (lesson 119) or it is handed over to a person.
        else if (acting === 0 && watchers === 0 && handOvers.of(agentId) === null) {
          if (clock.now() - usedAt >= deps.idleMs()) await sessions.close(agentId, 'it was idle')
        }
      }
    },
  }
}
