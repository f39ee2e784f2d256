import { operatorAgentId } from '@flotilla/protocol/ids'
import { Problem } from '@flotilla/protocol/problem'
import { agentDoor, humanDoor, openOutside, portOf } from './compose-doors.ts'
import { anotherPeoplePort, listen, listenForAgents } from './compose-listen.ts'
import { tellEnd, tellStart } from './compose-journal.ts'
import { systemClock } from '../platform/system-clock.ts'
import { composeParts } from './compose-parts.ts'
import type { MeshSettings } from './compose-parts.ts'

export interface Mesh {
  /** Resolves once both doors answer, every wall held, and the ledger works. */
  start(progress: (step: string) => void): Promise<{
    readonly url: string
    readonly port: number
    readonly agentPort: number
    readonly proxyPort: number
    /** What whoever started it has to know, a sentence each. */
    readonly notices: readonly string[]
  }>
  /** Stops what was started, in reverse; agents' sandboxes too. */
  close(): Promise<void>
}

const housekeepingIntervalMs = 60_000
/** Calls to the outside that nobody waits for any more have so long to be answered before their answers are lost. */
const effectsGraceMs = 5000
const firstBudgetWords = (dailyUsd: number) =>
  `All agents together may spend USD ${dailyUsd} a day; nobody had set a limit, so this one is set now. Change it: flotilla budget fleet --daily USD (none takes it away)`
const clock = systemClock

export async function composeMesh(meshSettings: MeshSettings): Promise<Mesh> {
  const parts = await composeParts(meshSettings)
  const { context, paths, log, runtime, walls, fleet, ledger, blackboard } = parts
  const { environment } = context
  const human = humanDoor(parts)
  const agents = agentDoor(parts)
  const closing = new AbortController()
  const loops: Promise<unknown>[] = []
  let closeOutside = async (): Promise<void> => {}

  return {
    async start(progress) {
      // Taken first: a port in use is better known now than after minutes of preparing.
      await listen(human, { port: environment.port, host: '127.0.0.1', otherwise: anotherPeoplePort })
      closeOutside = await openOutside(parts, listen)
      await runtime.prepare({ progress, signal: context.stopped })
      await parts.egress.networks.refresh()
      progress('Opening the agent door')
      const { proxy } = parts.egress
      await listenForAgents({ runtime, agents, proxy }, { agentPort: environment.agentPort, paths })
      parts.ports.agentDoor = portOf(agents)
      parts.ports.proxy = proxy.port()
      parts.ports.open.push(portOf(human), portOf(agents), proxy.port())
      progress(
        runtime.isolates
          ? 'Trying the walls from inside a probe container'
          : 'Nothing is isolated: agents run as plain processes',
      )
      const { broken } = await walls.verify(context.stopped)
      if (broken !== null) throw new Problem('fleet-paused', { detail: broken })
      await parts.artifacts.sweep()
      const report = await fleet.reconcile()
      log.info({ ...report, leftOpen: parts.modelDoor.gate.found.leftOpen }, 'fleet reconciled')
      await fleet.ensureOperator()
      // Before any run begins, and as late as that: a start that fails earlier has not told of it.
      const firstDailyUsd = parts.budgets.giveFirstFleetBudget()
      await parts.heartbeats.ensureAll()
      ledger.start()
      await parts.control.approvals.resume()
      loops.push(
        fleet.run(closing.signal),
        walls.watch(closing.signal),
        parts.egress.run(closing.signal),
        blackboard.run(closing.signal),
        parts.watch.run(closing.signal),
        parts.control.approvals.run(closing.signal),
        parts.cron.run(closing.signal),
        keepHouse(),
      )
      tellStart(parts)
      parts.setServing(true)
      const model = parts.catalog.preset()
      const modelWords =
        model === null
          ? `No model is set up yet: ${await parts.missingModel()}`
          : `Agents that name no model think with ${model.name} (${model.from}).`
      warmOperator()
      const port = portOf(human)
      return {
        url: `http://127.0.0.1:${port}`,
        port,
        agentPort: portOf(agents),
        proxyPort: parts.egress.proxy.port(),
        notices: [modelWords, ...(firstDailyUsd === null ? [] : [firstBudgetWords(firstDailyUsd)])],
      }
    },

    async close() {
      parts.setServing(false)
      closing.abort()
      await ledger.close()
      await stopAgents()
      const { proxy } = parts.egress
      await Promise.allSettled([human.close(), closeOutside(), agents.close(), proxy.close()])
      await parts.effects.close(effectsGraceMs)
      await Promise.allSettled(loops)
      await fleet.close()
      // What agents left behind is heard out while the way to the providers is open.
      await parts.modelDoor.readOn.close()
      await Promise.allSettled([
        parts.catalog.close(),
        parts.permissions.close(),
        parts.vaultRoom.bindings.close(),
        parts.settings.close(),
        runtime.close(),
      ])
      parts.modelDoor.close()
      tellEnd(parts)
      parts.database.close()
    },
  }

  async function keepHouse(): Promise<void> {
    while (!closing.signal.aborted) {
      try {
        parts.effects.forgetOld()
        parts.budgets.journalSpend()
        parts.journalKeeper.tend()
        parts.vaultRoom.requests.sweep()
        parts.webhooks.tend()
        for (const { maintain } of parts.modules) maintain?.()
      } catch (error) {
        log.error({ err: error }, 'the house could not be kept')
      }
      await clock.sleep(housekeepingIntervalMs, closing.signal).catch(() => {})
    }
  }

  /** The first question should not wait for a container; where no model is set yet, it is told when it asks. */
  function warmOperator(): void {
    if ((fleet.find(operatorAgentId)?.model ?? parts.catalog.defaultModel()) === null) return
    fleet.reach(operatorAgentId, closing.signal).catch((error: unknown) => {
      log.warn({ agentId: operatorAgentId, err: error }, 'operator not started ahead')
    })
  }

  async function stopAgents(): Promise<void> {
    const stops = fleet.list().map(({ id }) => fleet.stop(id, 'the mesh stops'))
    for (const stop of await Promise.allSettled(stops)) {
      if (stop.status === 'rejected') log.warn({ err: stop.reason }, 'an agent was not stopped')
    }
  }
}
