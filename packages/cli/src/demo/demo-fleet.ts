import type { MeshClient } from '@flotilla/client/mesh-client'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { CommandFailed } from '../command-failed.ts'
import { noIsolationWords } from '../commands/start.ts'
import type { CommandContext } from '../context.ts'
import { endMesh, startMesh } from '../mesh-process/start-mesh.ts'
import type { RuntimeName } from '@flotilla/protocol/runtime-names'
import type { StartedMesh } from '../mesh-process/start-mesh.ts'
import { freePort } from './free-port.ts'

export interface DemoFleet {
  readonly client: MeshClient
  readonly mesh: StartedMesh
  readonly runtime: RuntimeName
}

export interface DemoFleetOptions {
  readonly home: string
  readonly runtime: RuntimeName | undefined
  readonly isolation: IsolationRung | undefined
  /** Changes to the environment of the mesh: model and canaries. */
  readonly variables: Readonly<Record<string, string | undefined>>
}

export const templateName = 'licence-audit'

/**
 * Starts engine, image, network, mesh and workers. If no engine can run, it says so and continues with plain
 * processes, unless an engine is required or installing one was forbidden.
 */
export async function startDemoFleet(context: CommandContext, options: DemoFleetOptions): Promise<DemoFleet> {
  const { terminal, clock, signal } = context
  const runtime = await chooseRuntime(context, options)
  const mesh = await startMesh({
    home: options.home,
    port: await freePort(),
    runtime,
    isolation: runtime === 'process' ? undefined : options.isolation,
    verb: 'serve',
    environment: context.environment.childEnvironment({
      ...options.variables,
      // With containers the API uses the gateway address of the fleet's own network; processes share the
      // loopback address with everything else.
      ...(runtime === 'process' ? { FLOTILLA_AGENT_PORT: `${await freePort()}` } : {}),
    }),
    detached: false,
    progress: terminal.progress,
    clock,
    signal,
  })
  try {
    const client = await context.meshAt({ url: mesh.url, home: options.home })
    terminal.progress.step('Creating the workers: auditor and writer')
    await client.call('templateApply', { params: { name: templateName }, signal })
    terminal.progress.done()
    return { client, mesh, runtime }
  } catch (error) {
    terminal.progress.fail()
    await endMesh(mesh, clock)
    throw error
  }
}

async function chooseRuntime(context: CommandContext, options: DemoFleetOptions): Promise<RuntimeName> {
  const { terminal, environment } = context
  if (options.runtime === 'process') {
    terminal.note(terminal.color.warning(noIsolationWords))
    return 'process'
  }
  // In a cluster nothing can be installed; the start reports what the cluster lacks.
  if (options.runtime === 'kubernetes') return 'kubernetes'
  try {
    await startMesh({
      home: options.home,
      port: 0,
      runtime: 'docker',
      isolation: options.isolation,
      verb: 'prepare',
      environment: environment.childEnvironment(options.variables),
      detached: false,
      progress: terminal.progress,
      clock: context.clock,
      signal: context.signal,
    })
    return 'docker'
  } catch (error) {
    if (!(error instanceof CommandFailed) || context.signal.aborted) throw error
    if (options.runtime === 'docker' || environment.requireEngine) throw error
    if (environment.noInstall) {
      throw new CommandFailed(error.code, {
        detail: error.message,
        repair: `${error.repair}\nOr see the demo without any isolation: flotilla demo --runtime process`,
      })
    }
    terminal.note(
      terminal.color.warning('No container engine can run agents here:'),
      `  ${error.message}`,
      terminal.color.warning(
        'The demo continues without containers: the agents are plain processes of this machine,',
      ),
      terminal.color.warning('WITHOUT ANY ISOLATION. Every attack below will be shown as not stopped.'),
    )
    return 'process'
  }
}
