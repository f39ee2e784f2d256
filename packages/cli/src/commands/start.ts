import * as fs from 'node:fs'
import { join } from 'node:path'
import { isolationRungs } from '@flotilla/protocol/isolation'
import type { IsolationRung } from '@flotilla/protocol/isolation'
import { makeHome } from '@flotilla/protocol/home-folder'
import { Option } from 'commander'
import type { Command } from 'commander'
import { commandAction, flagOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { exitCodes } from '../exit-codes.ts'
import { readMeshFile } from '../mesh-process/mesh-file.ts'
import { alreadySupervised } from '../mesh-process/other-supervisor.ts'
import { askSupervisor } from '../mesh-process/supervisor-socket.ts'
import type { MeshLine } from '../mesh-process/mesh-lines.ts'
import { endMesh, startMesh } from '../mesh-process/start-mesh.ts'
import { serviceCommand, serviceLog, serviceOf, startService } from '../mesh-process/systemd-control.ts'
import { choiceLines } from '../set-up/model-choice.ts'
import type { ModelChoice } from '../set-up/model-choice.ts'
import { askForModel } from '../set-up/set-up-model.ts'
import { unlockWallet } from '../set-up/unlock-wallet.ts'
import type { StartedMesh } from '../mesh-process/start-mesh.ts'
import { addRuntimeOptions, askedRuntime } from '../runtime-options.ts'

export function addStartCommand(program: Command, deps: CliDeps): void {
  const command = program
    .command('start')
    .description(
      'Starts the mesh of a home folder with its operator and workers. First prepares the container engine, the agent image and the isolated network, and shows the progress.',
    )
    .option('-d, --detach', 'run in the background and restart it if it crashes; flotilla stop ends it')
  addRuntimeOptions(command)
    .addOption(isolationOption())
    .addOption(sandboxOption())
    .option('--template <name>', 'create the workers of a template once the mesh is ready')
    .addHelpText(
      'after',
      `
Examples:
  $ flotilla start                          in this terminal, Ctrl-C stops it
  $ flotilla start -d --port 8500           in the background, on another port
  $ flotilla start -d --template licence-audit
  $ flotilla start -d --isolation gvisor    agents behind a kernel of their own, where it can be had
  $ flotilla start -d --context prod        agents as pods of a cluster
  $ flotilla start -d --sandbox             agents in machines of their own, where they can be had
  $ FLOTILLA_SYSTEM_OPENAI_API_KEY=sk-... FLOTILLA_DEFAULT_MODEL=openai/gpt-5-mini flotilla start -d`,
    )
    .action(commandAction(deps, start))
}

async function start(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place } = context
  await refuseSecond(context)
  const service = await serviceOf(place.home)
  if (service !== null && flagOption(line, 'detach')) return startBySystemd(context, line)
  if (service !== null && !['inactive', 'failed'].includes(service.active)) throw keptBySystemd(place.home)
  makeHome(fs, place.home)
  const options = askedRuntime(line)
  const { runtime } = options
  if (runtime === 'process') terminal.note(terminal.color.warning(noIsolationWords))
  const isolation = isolationAsked(line)
  if (runtime === 'process' && isolation !== undefined) throw nothingIsolated()
  const detached = flagOption(line, 'detach')
  const mesh = await startMesh({
    home: place.home,
    port: place.port,
    ...options,
    isolation,
    verb: 'serve',
    environment: context.environment.childEnvironment({}),
    detached,
    progress: terminal.progress,
    clock: context.clock,
    signal: context.signal,
    ...(detached ? {} : { onLine: (meshLine: MeshLine) => showWarning(context, meshLine) }),
  })
  terminal.progress.done()
  try {
    await settleIn(context, line, mesh)
  } catch (error) {
    // If the setup fails, a mesh in the foreground is stopped; one in the background keeps running.
    if (!detached) await endMesh(mesh, context.clock)
    else
      terminal.note(terminal.typed(`The mesh is still running (process ${mesh.pid}); flotilla stop ends it.`))
    throw error
  }
  if (!detached) await untilStopped(context, mesh)
}

/** Hands a start in the background to the service of the home: a supervisor beside it would start a second mesh. */
async function startBySystemd(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place, clock } = context
  const given = [place.port, askedRuntime(line).runtime, isolationAsked(line)]
  if (given.some((option) => option !== undefined)) {
    throw new CommandFailed('kept-by-systemd', {
      detail: `systemd keeps the mesh of ${place.home} and starts it by its unit, so that options of this command have no effect.`,
      repair: `Write these options into ${join(place.home, '.env')}, and start without options. Or remove the unit: flotilla service uninstall`,
      exitCode: exitCodes.usage,
    })
  }
  terminal.progress.step('Starting the mesh as a service')
  const { pid, url } = await startService(place.home, clock).catch((cause: unknown) => {
    throw new CommandFailed('mesh-ended', {
      detail: cause instanceof Error ? cause.message : String(cause),
      repair: `Run flotilla doctor, and read its log: ${serviceLog()}`,
    })
  })
  terminal.progress.done()
  await settleIn(context, line, { pid, url, logPath: serviceLog(), notices: [] })
}

function keptBySystemd(home: string): CommandFailed {
  return new CommandFailed('mesh-already-runs', {
    detail: `systemd keeps the mesh of ${home} and is starting it.`,
    repair: `Wait for it, or end it first: ${serviceCommand('stop')}`,
  })
}

/** The fields of a newly started mesh that its setup uses. */
type NewMesh = Pick<StartedMesh, 'pid' | 'url' | 'logPath' | 'notices'>

/** Sets up a mesh that has just started (model, wallet, template) before its address is printed. */
async function settleIn(context: CommandContext, line: CommandLine, mesh: NewMesh): Promise<void> {
  const { terminal, place } = context
  const created = await applyTemplate(context, mesh, textOption(line, 'template'))
  const choice = await firstChoice(context, mesh)
  const isUnlocked = await unlockAtStart(context, mesh)
  const { url, pid, logPath: log } = mesh
  // The setup above has made notices about a missing model or a locked wallet outdated.
  const notices = mesh.notices.filter(
    (notice) =>
      !(choice !== null && notice.startsWith('No model')) &&
      !(isUnlocked && notice.startsWith('The wallet is locked')),
  )
  terminal.printJson({ url, pid, home: place.home, log, created, notices })
  terminal.hint(
    `The mesh answers on ${terminal.color.strong(mesh.url)} (process ${mesh.pid}, home ${place.home}).`,
    ...(created.length > 0 ? [`Created: ${created.join(', ')}.`] : []),
    ...notices,
    ...(choice === null ? [] : choiceLines(choice)),
    'Ask it something:  flotilla chat operator',
    'Look at it:        flotilla open',
    flagOption(line, 'detach') ? 'Stop it:           flotilla stop' : 'Ctrl-C stops it.',
  )
}

/** At the first start asks the person at the terminal for a model. Null if there is no terminal or a model is set. */
async function firstChoice(context: CommandContext, mesh: NewMesh): Promise<ModelChoice | null> {
  const { terminal, input } = context
  if (input.isTTY !== true || !terminal.isInteractive) return null
  const client = await context.meshAt({ url: mesh.url, home: context.place.home })
  const { default_model: current } = await client.call('setup', { signal: context.signal })
  if (current !== null) return null
  return askForModel(context, client)
}

/** Asks the person at the terminal for the passphrase of a locked wallet. True if this opened the wallet. */
async function unlockAtStart(context: CommandContext, mesh: NewMesh): Promise<boolean> {
  const { terminal, input } = context
  if (input.isTTY !== true || !terminal.isInteractive) return false
  const client = await context.meshAt({ url: mesh.url, home: context.place.home })
  const { state } = await client.call('walletStatus', { signal: context.signal })
  return state === 'locked' && unlockWallet(context, client)
}

/** The option for the minimum isolation level of agents. */
export function isolationOption(): Option {
  return new Option(
    '--isolation <level>',
    'minimum isolation level of every agent, if this machine supports it; config/settings.json can make it mandatory',
  ).choices(isolationRungs)
}

/** The option for the highest level of `--isolation`. */
export function sandboxOption(): Option {
  return new Option(
    '--sandbox',
    'run agents in virtual machines if this machine supports them, else in containers; the same as --isolation microvm (many times slower without hardware virtualization)',
  ).conflicts('isolation')
}

/** Returns the requested minimum isolation level, or undefined if no option names one. */
export function isolationAsked(line: CommandLine): IsolationRung | undefined {
  if (flagOption(line, 'sandbox')) return 'microvm'
  return textOption(line, 'isolation') as IsolationRung | undefined // commander checked the choice
}

export function nothingIsolated(): CommandFailed {
  return new CommandFailed('usage', {
    detail: '--runtime process has no isolation, so no isolation level can be chosen.',
    repair: 'Leave out --runtime process, or --isolation and --sandbox.',
    exitCode: exitCodes.usage,
  })
}

export const noIsolationWords =
  'Warning: with --runtime process agents are plain processes of this machine without isolation: they can read and write whatever this user can.'

async function refuseSecond({ place: { home }, clock }: CommandContext): Promise<void> {
  const found = await readMeshFile(home)
  const supervisor = await askSupervisor(home)
  if (found?.alive !== true && supervisor !== null) {
    if (supervisor.last_exit === null) {
      const { code, ...problem } = await alreadySupervised(home, clock)
      throw new CommandFailed(code, problem)
    }
    throw new CommandFailed('mesh-already-runs', {
      detail: `The mesh of ${home} ended (${supervisor.last_exit}), and its supervisor (process ${supervisor.pid}) starts it again.`,
      repair: 'Wait until the mesh has restarted, or run flotilla stop and then flotilla start -d.',
    })
  }
  if (found?.alive !== true) return
  throw new CommandFailed('mesh-already-runs', {
    detail: `A mesh already runs in ${home}: process ${found.mesh.pid} on ${found.mesh.url}.`,
    repair: 'Use that mesh, stop it with flotilla stop, or name another home with --home.',
  })
}

async function applyTemplate(
  context: CommandContext,
  mesh: NewMesh,
  name: string | undefined,
): Promise<readonly string[]> {
  if (name === undefined) return []
  const client = await context.meshAt({ url: mesh.url, home: context.place.home })
  return (await client.call('templateApply', { params: { name }, signal: context.signal })).created
}

function showWarning({ terminal }: CommandContext, line: MeshLine): void {
  if (line.kind !== 'log' || line.level < 40) return
  const paint = line.level >= 50 ? terminal.color.bad : terminal.color.warning
  terminal.note(terminal.typed(paint(line.words)))
}

async function untilStopped(context: CommandContext, mesh: StartedMesh): Promise<void> {
  const giveBack = context.onInterrupt(() => {
    context.terminal.progress.step('Stopping the agents and the mesh')
    mesh.stop()
  })
  const code = await mesh.ended
  giveBack()
  context.terminal.progress.done()
  context.setExitCode(code === 0 ? exitCodes.ok : exitCodes.failed)
  if (code !== 0) context.terminal.note(`The mesh ended with exit code ${code}; its log is ${mesh.logPath}.`)
}
