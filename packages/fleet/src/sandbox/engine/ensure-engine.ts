import type { Clock } from '@flotilla/protocol/clock'
import { runCommand } from '../run-command.ts'
import { SandboxError, sandboxWords } from '../sandbox-error.ts'
import type { Engine } from './connect-engine.ts'
import type { Finding } from './engine-findings.ts'
import { findEngine } from './find-engine.ts'
import { enginePackages } from './engine-packages.mjs'
import { canInstall, installCommands, installPackages } from './install-engine.ts'
import type { SocketHints } from './socket-candidates.ts'
import { dockerdLastWords, startDockerd } from './start-dockerd.ts'

/** Time limit for the first answer of an engine that was just installed or started, milliseconds. */
const firstAnswerMs = 60_000
/** Time for the start script of the engine's package, which may already be starting the engine, milliseconds. */
const packageStartMs = 4_000
/** The pause between two checks whether a started engine answers, in milliseconds. */
const askEveryMs = 200

export interface EnsureEngineOptions extends SocketHints {
  /** True with `FLOTILLA_NO_INSTALL=1`: nothing is installed or started, the commands are printed instead. */
  readonly noInstall: boolean
  /** Folder for the log and process id of an engine that the mesh starts. */
  readonly stateDirectory: string
  readonly clock: Clock
  readonly progress: (step: string) => void
  readonly signal?: AbortSignal | undefined
}

/**
 * Returns an engine that answers and can isolate agents; installs and starts an engine if that is allowed. Announces
 * each step before it begins. Rejects with `SandboxError`: `engine-absent`, `engine-silent`, `engine-start-failed`,
 * `package-install-failed`, or the id of the first finding that is not ok.
 */
export async function ensureEngine(options: EnsureEngineOptions): Promise<Engine> {
  const found = await findEngine(options)
  if (found.engine) return refuseUnfit(found.engine)
  const configuredSocket = options.engineSocket ?? options.dockerHost
  if (configuredSocket) {
    throw new SandboxError(
      'engine-absent',
      `No container engine answers on ${configuredSocket} (${found.tried.join('; ')}).\nRepair: start that engine, or unset FLOTILLA_ENGINE_SOCKET and DOCKER_HOST.`,
    )
  }
  const installed = (await runCommand('dockerd', ['--version'], { timeoutMs: 10_000 })).code === 0
  if (options.noInstall || !(await canInstall(options.uid))) throw absent(options, { installed })
  if (!installed) {
    options.progress(`Installing a container engine from this system's packages: ${enginePackages.join(' ')}`)
    await installPackages(enginePackages, { signal: options.signal })
    const started = await waitForEngine(options, packageStartMs)
    if (started) return refuseUnfit(started)
  }
  options.progress('Starting the container engine (dockerd)')
  await startDockerd({ stateDirectory: options.stateDirectory, signal: options.signal })
  const engine = await waitForEngine(options, firstAnswerMs)
  if (engine) return refuseUnfit(engine)
  throw new SandboxError(
    'engine-start-failed',
    `dockerd was started but does not answer after ${firstAnswerMs / 1000} s.\n${await dockerdLastWords(options.stateDirectory)}\nRepair: run \`dockerd\` in a terminal and read what it says.`,
  )
}

/** Returns the findings about the engine for `doctor`; changes nothing. */
export async function inspectEngine(hints: SocketHints): Promise<readonly Finding[]> {
  const found = await findEngine(hints).catch((error: unknown) => {
    if (error instanceof SandboxError) return error
    throw error
  })
  if (found instanceof SandboxError) {
    const { detail, repair } = sandboxWords(found)
    return [{ id: 'engine-answers', ok: false, detail, repair }]
  }
  if (found.engine === null) {
    return [
      {
        id: 'engine-answers',
        ok: false,
        detail: `no container engine answers (${found.tried.join('; ')})`,
        repair: installCommands.join('\n'),
      },
    ]
  }
  const { facts, socketPath, findings } = found.engine
  const detail = `${facts.flavour} ${facts.version} on ${socketPath}`
  return [{ id: 'engine-answers', ok: true, detail, repair: '' }, ...findings]
}

function refuseUnfit(engine: Engine): Engine {
  const bad = engine.findings.find((finding) => !finding.ok)
  if (bad)
    throw new SandboxError(
      bad.id,
      `The container engine on ${engine.socketPath} cannot hold agents: ${bad.detail}.\nRepair: ${bad.repair}`,
    )
  return engine
}

function absent(options: EnsureEngineOptions, { installed }: { installed: boolean }): SandboxError {
  const why = options.noInstall
    ? 'FLOTILLA_NO_INSTALL=1 forbids to install or start a container engine'
    : options.uid === 0
      ? 'this system has no apt-get to install a container engine with'
      : 'only root can install or start a container engine'
  const commands = installed ? installCommands.slice(-1) : installCommands
  return new SandboxError(
    'engine-absent',
    `No container engine answers, and ${why}.\nRepair: run\n  ${commands.join('\n  ')}`,
  )
}

async function waitForEngine(options: EnsureEngineOptions, boundMs: number): Promise<Engine | null> {
  const end = options.clock.now() + boundMs
  for (;;) {
    const found = await findEngine(options).catch(silentWhileStarting)
    if (found?.engine) return found.engine
    if (options.clock.now() >= end) return null
    await options.clock.sleep(askEveryMs, options.signal)
  }
}

/** An engine accepts connections before it can answer them. */
function silentWhileStarting(error: unknown): null {
  if (error instanceof SandboxError) return null
  throw error
}
