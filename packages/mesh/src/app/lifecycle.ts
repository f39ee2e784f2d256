import { operatorAgentId } from '@flotilla/protocol/ids'
import type { ReportStep } from '@flotilla/fleet/sandbox'
import { agentListeners } from './agent-listeners.ts'
import { keepRunning } from './keep-running.ts'
import type { Composed } from './compose.ts'
import type { MeshModule } from '@flotilla/identity/kernel'
import { anotherPeoplePort, listen, listenForAgents } from './listen.ts'
import { agentServer, openOutside, peopleServer, portOf } from './open-servers.ts'
import { productVersion } from '@flotilla/foundation/platform'
import { storageFaultOf, writeAgain } from '@flotilla/foundation/storage'

/** How often each module writes its counts and deletes expired data, milliseconds. */
const maintenanceIntervalMs = 60_000
/** How long a stop waits for outgoing calls without a waiting client before their answers are lost, milliseconds. */
const effectsGraceMs = 5000

export interface Lifecycle {
  /** Resolves once the servers for people and agents answer, the isolation check has passed, and the ledger works. */
  start(progress: ReportStep): Promise<{
    readonly url: string
    readonly port: number
    readonly agentPort: number
    readonly proxyPort: number
    /** Sentences that the person who started the mesh should read. */
    readonly notices: readonly string[]
  }>
  /** Stops everything that `start` started, in reverse order, including the agents' sandboxes. */
  close(): Promise<void>
}

/** Starts and stops the composed modules. */
export function createLifecycle(composed: Composed): Lifecycle {
  const { kernel, foundation, access, context, paths, runtime, contexts } = composed
  const { effects, journalKeeper } = foundation
  const { log, ports } = kernel
  const { lifecycle, connection } = contexts.fleet.agents
  const named: readonly (readonly [string, MeshModule])[] = composed.modules
  const inOrder = named.map(([, module]) => module)
  const people = peopleServer(composed)
  const listeners = agentListeners(composed, agentServer(composed))
  const closing = new AbortController()
  const loops: Promise<unknown>[] = []
  let closeOutside = async (): Promise<void> => {}

  async function openToAgents(progress: (step: string) => void): Promise<void> {
    progress('Opening the agent API')
    const { agentPort } = context.environment
    await listenForAgents({ runtime, ...listeners }, { agentPort, paths })
    ports.agentApi = listeners.agents.port()
    ports.proxy = listeners.proxy.port()
    ports.open.push(portOf(people), ports.agentApi, ports.proxy)
    if (runtime.isolates) progress('Testing the isolation from inside a probe container')
    await contexts.fleet.isolation.require(context.stopped)
  }

  return {
    async start(progress) {
      // The mesh listens first, so that a port in use is reported before minutes of preparation.
      const { port } = context.environment
      await listen(people, { port, host: '127.0.0.1', otherwise: anotherPeoplePort })
      ports.people = portOf(people)
      closeOutside = await openOutside(composed, listen)
      await runtime.prepare({ progress, signal: context.stopped })
      for (const { prepare } of inOrder) await prepare?.()
      await openToAgents(progress)
      for (const { start } of inOrder) await start?.()
      for (const { begin } of inOrder) await begin?.()
      const kept = { clock: kernel.clock, log, signal: closing.signal }
      for (const [name, { run }] of named) if (run) loops.push(keepRunning({ name, run }, kept))
      loops.push(
        maintain(),
        foundation.diskSpace.watch(() => writeAgain(kernel.database), closing.signal),
      )
      recordStart()
      composed.serving.now = true
      const { atLeast } = contexts.fleet.isolation
      if (runtime.isolates && atLeast !== 'container')
        progress(
          `Testing whether agents can run at isolation level ${atLeast}, which takes minutes the first time`,
        )
      warmOperator()
      // Modules that depend on more modules come first: notices about models before notices about their costs.
      const notices = await Promise.all(
        inOrder.toReversed().map(async (module) => (await module.notices?.()) ?? []),
      )
      return {
        url: `http://127.0.0.1:${portOf(people)}`,
        port: portOf(people),
        agentPort: ports.agentApi,
        proxyPort: ports.proxy,
        notices: notices.flat(),
      }
    },

    async close() {
      composed.serving.now = false
      closing.abort()
      for (const { stop } of inOrder.toReversed()) await stop?.()
      await lifecycle.stopAll('the mesh stops')
      await Promise.allSettled([
        people.close(),
        closeOutside(),
        listeners.agents.close(),
        listeners.proxy.close(),
      ])
      await effects.close(effectsGraceMs)
      await Promise.allSettled(loops)
      await closeModules()
      await Promise.allSettled([
        runtime.close(),
        access.permissions.close(),
        access.policy.close(),
        foundation.settingsFile.close(),
      ])
      reportEnd()
      kernel.database.close()
    },
  }

  async function closeModules(): Promise<void> {
    for (const [name, { close }] of named.toReversed()) {
      try {
        await close?.()
      } catch (error) {
        log.error({ module: name, err: error }, 'failed to close a module; its unwritten data is lost')
      }
    }
  }

  async function maintain(): Promise<void> {
    const tidy = [
      ['effects', { maintain: effects.forgetOld }],
      ['journal', { maintain: journalKeeper.maintain }],
      ...named,
    ] as const
    while (!closing.signal.aborted) {
      for (const [name, module] of tidy) {
        try {
          module.maintain?.()
        } catch (error) {
          log.error(
            { module: name, err: error },
            'failed to run the maintenance of a module; retrying in a minute',
          )
        }
      }
      await kernel.clock.sleep(maintenanceIntervalMs, closing.signal).catch(() => {})
    }
  }

  /** Records the start of the mesh. */
  function recordStart(): void {
    kernel.journal.append({
      actor: 'system',
      action: 'mesh.started',
      subject: 'mesh',
      detail: { version: productVersion, pid: context.pid, runtime: runtime.kind },
    })
    // The first rows of a home's audit log get a checkpoint at once: rows without one could be replaced.
    journalKeeper.verify()
  }

  /** Records the end of the mesh and a checkpoint of the audit log. If the disk takes no writes, only logs that. */
  function reportEnd(): void {
    try {
      kernel.journal.append({ actor: 'system', action: 'mesh.stopped', subject: 'mesh', detail: {} })
      journalKeeper.close()
    } catch (error) {
      if (storageFaultOf(error) === null) throw error
      log.warn({ err: error }, 'failed to record the end of the mesh in the audit log; exiting')
    }
  }

  /**
   * Starts the operator in advance, so that the first question does not wait for its container. Without a model
   * nothing starts: the first question reports that.
   */
  function warmOperator(): void {
    if (contexts.inference.models.modelOf(operatorAgentId) === null) return
    connection.reach(operatorAgentId, closing.signal).catch((error: unknown) => {
      log.warn(
        { agentId: operatorAgentId, err: error },
        'failed to start the operator in advance; its first work starts it',
      )
    })
  }
}
