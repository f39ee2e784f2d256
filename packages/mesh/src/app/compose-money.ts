import { Problem } from '@flotilla/protocol/problem'
import type { JournalUseCases } from '../diagnostics/journal.routes.ts'
import type { MoneyUseCases } from '../spending/people.routes.ts'
import type { MeshParts } from './compose-parts.ts'
import { cloudEvent } from '../journal/cloud-event.ts'
import { exportJournal } from '../journal/export-journal.ts'
import type { JournalFilter } from '../journal/export-journal.ts'
import { requireOwner } from '../access/at-terminal.ts'
import { actorOf } from '../access/caller.ts'

/** Budgets and costs, in the words of the wire. */
export function moneyUseCases({ budgets, fleet, modelDoor, log }: MeshParts): MoneyUseCases {
  /** SYSTEM.md names the agent's budget. */
  const refreshBriefings = () => {
    fleet.refreshBriefings().catch((error: unknown) => log.error({ err: error }, 'briefings not refreshed'))
  }
  return {
    budgets: (caller) => {
      modelDoor.gate.settleWaiting()
      return { budgets: [...budgets.listBudgets(caller)] }
    },
    setBudget: (caller, { scope, id, ...edit }) => {
      budgets.setBudget(caller, { scope, id }, edit)
      if (scope === 'agent') refreshBriefings()
      return budgets.budgetView(caller, { scope, id })
    },
    setAgentProject: (caller, agentId, project) => {
      budgets.setAgentProject(caller, agentId, project)
      return { agent_id: agentId, project }
    },
    reportCosts: (caller, asked) => {
      modelDoor.gate.settleWaiting()
      return budgets.reportCosts(caller, asked)
    },
  }
}

/** The journal as people export and accept it. */
export function journalUseCases(parts: MeshParts): JournalUseCases {
  const { guard, database, budgets, modelDoor, homeId, journalKeeper } = parts

  async function* lines(filter: JournalFilter, format: string, signal: AbortSignal): AsyncGenerator<string> {
    for await (const row of exportJournal(database, filter, signal)) {
      yield `${JSON.stringify(format === 'rows' ? row : cloudEvent(row, homeId))}\n`
    }
  }

  return {
    exportLines: (caller, { format, ...filter }, signal) => {
      requireOwner(caller, 'read the journal')
      guard(caller, { do: 'view-fleet' })
      // What was spent up to now is in it too.
      modelDoor.gate.settleWaiting()
      budgets.journalSpend()
      return lines(filter, format, signal)
    },
    accept: (caller) => {
      requireOwner(caller, 'accept a broken journal')
      guard(caller, { do: 'manage-fleet' })
      if (caller.kind !== 'human')
        throw new Problem('denied', { detail: 'only a person accepts a broken journal' })
      return { accepted: journalKeeper.accept(actorOf(caller)) }
    },
  }
}
