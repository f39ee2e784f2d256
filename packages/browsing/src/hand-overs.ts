import type { Clock } from '@flotilla/protocol/clock'
import type { NewId } from '@flotilla/protocol/ids'
import type { EventBus } from '@flotilla/foundation/events'
import type { Journal } from '@flotilla/foundation/journal'
import type { NotifyRun } from '@flotilla/work/runs'
import type { Database } from '@flotilla/foundation/storage'
import { createHandOverTable } from './hand-over-table.ts'
import type { HandOver } from './hand-over-table.ts'
import type { ShownPage } from './shown-page.ts'

/**
 * `returned`: a person gave the browser back. `solved`: the solver answered the CAPTCHA. `expired`:
 * no person came. `lost`: the browser ended during the hand-over.
 */
export type HandOverEnd = 'returned' | 'solved' | 'expired' | 'lost'

/** The value of `takenBy` while the paid solver answers a CAPTCHA instead of a person. */
export const solverName = 'solver'

/**
 * Browsers that a person has or is asked to take, at most one for each agent.
 *
 * 1. A hand-over is stored, with the notification to the owner if one is needed, before any person
 * is notified.
 * 2. A run that needs the browser during a hand-over waits: the run is parked when its turn ends,
 * and continues with the changed page.
 * 3. Each hand-over ends, and all waiting runs are informed in the transaction of its end: given
 * back, no person came, or the browser is gone.
 */
export interface HandOvers {
  of(agentId: string): HandOver | null
  list(): readonly HandOver[]
  /** Asks for a person to take over the browser and returns the hand-over; an open hand-over stays unchanged. */
  ask(agentId: string, page: ShownPage): HandOver
  /**
   * Starts a hand-over in which the solver answers a CAPTCHA; null if the browser is handed over
   * already. Joins the caller's transaction.
   */
  beginSolving(agentId: string, page: ShownPage): HandOver | null
  /** After the solver failed, asks a person to take over; ends the hand-over if no run waits any more. */
  askAfterAll(handOver: HandOver): void
  /** Records that a person has the browser now. */
  take(agentId: string, by: string, page: ShownPage): HandOver
  /** Records that a run waits for the end of the hand-over. */
  wait(handOver: HandOver, runId: string): void
  end(
    handOver: HandOver,
    over: {
      readonly how: HandOverEnd
      /** The page at the end of the hand-over; null if it is unknown. */
      readonly page: ShownPage | null
      /** Who ended the hand-over, in the form of the audit log. */
      readonly by: string
    },
  ): void
  awaitedBy(runId: string): readonly string[]
  /** Called when a run has settled. Ends a request for a person if no person came and no other run waits. */
  runSettled(agentId: string, runId: string): void
  forget(agentId: string): void
}

export function createHandOvers(deps: {
  readonly database: Database
  readonly clock: Clock
  readonly newId: NewId
  readonly journal: Journal
  readonly events: Pick<EventBus, 'publish'>
  readonly notifyRun: NotifyRun
  /** Notifies the owner. Joins the caller's transaction. */
  readonly notifyOwner: (notice: { readonly agentId: string; readonly message: string }) => void
}): HandOvers {
  const { database, clock, journal, events } = deps
  const table = createHandOverTable(database)

  function begin(agentId: string, of: Pick<HandOver, 'kind' | 'takenBy'>, page: ShownPage): HandOver {
    const { host, url, title } = page
    const handOver = { id: deps.newId('hand'), agentId, ...of, host, url, title, createdAt: clock.now() }
    table.insert(handOver)
    return handOver
  }

  function record(handOver: HandOver, actor: string, action: string): void {
    const { id, agentId, kind, host } = handOver
    journal.append({ actor, action, subject: agentId, detail: { hand_over: id, kind, host } })
  }

  function announce({ agentId, kind, takenBy, host }: HandOver): void {
    events.publish({ type: 'browser.handed', agent_id: agentId, kind, by: takenBy, host })
  }

  /** Joins the caller's transaction. */
  function notifyPerson(handOver: HandOver): void {
    const { agentId, host } = handOver
    record(handOver, `agent:${agentId}`, 'browser.person-asked')
    deps.notifyOwner({
      agentId,
      message: `${agentId} needs a person in its browser: ${host} shows a CAPTCHA.\nWithin an hour: open the browser with flotilla browser ${agentId} --open, take over, solve the CAPTCHA, and give the browser back.`,
    })
    announce(handOver)
  }

  const handOvers: HandOvers = {
    of: table.find,
    list: table.list,
    ask: (agentId, page) =>
      database.transaction(() => {
        const open = table.find(agentId)
        if (open !== null) return open
        const handOver = begin(agentId, { kind: 'captcha', takenBy: null }, page)
        notifyPerson(handOver)
        return handOver
      }),
    beginSolving: (agentId, page) => {
      if (table.find(agentId) !== null) return null
      const begun = begin(agentId, { kind: 'captcha', takenBy: solverName }, page)
      announce(begun)
      return begun
    },
    askAfterAll: (handOver) =>
      database.transaction(() => {
        const open = table.find(handOver.agentId)
        if (open?.id !== handOver.id || open.takenBy !== solverName) return
        if (table.waiting(open.id).length === 0) {
          handOvers.end(open, { how: 'expired', page: null, by: 'system' })
          return
        }
        const repeated = { ...open, takenBy: null, createdAt: clock.now() }
        table.ask(open.id, repeated.createdAt)
        notifyPerson(repeated)
      }),
    take: (agentId, by, page) =>
      database.transaction(() => {
        const open = table.find(agentId)
        if (open === null) {
          const taken = begin(agentId, { kind: 'person', takenBy: by }, page)
          record(taken, by, 'browser.taken-over')
          announce(taken)
          return taken
        }
        table.take(open.id, by)
        const taken = { ...open, takenBy: by }
        record(taken, by, 'browser.taken-over')
        announce(taken)
        return taken
      }),
    wait: ({ id }, runId) => table.wait(id, runId),
    end: (handOver, { how, page, by }) =>
      database.transaction(() => {
        const { id, agentId, url, title } = handOver
        // Another caller may have ended the hand-over in the meantime.
        if (table.find(agentId)?.id !== id) return
        const before = { url, title }
        const after = page === null ? null : { url: page.url, title: page.title }
        for (const runId of table.waiting(id)) {
          deps.notifyRun(runId, `browser:${id}`, {
            kind: 'browser-returned',
            how,
            before,
            after,
            at: clock.now(),
          })
        }
        table.remove(id)
        record(handOver, by, `browser.${how === 'returned' ? 'given-back' : how}`)
        events.publish({ type: 'browser.returned', agent_id: agentId, how })
      }),
    awaitedBy: table.awaitedBy,
    runSettled: (agentId, runId) => {
      table.forgetRun(runId)
      const open = table.find(agentId)
      if (open?.kind !== 'captcha' || open.takenBy !== null || table.waiting(open.id).length > 0) return
      handOvers.end(open, { how: 'expired', page: null, by: 'system' })
    },
    forget: (agentId) => {
      const open = table.find(agentId)
      if (open !== null) table.remove(open.id)
    },
  }
  return handOvers
}
