import { mkdir, rm, writeFile } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import type { Command } from 'commander'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { readMeshFile } from '../mesh-process/mesh-file.ts'
import { cliMain, meshMain } from '../mesh-process/mesh-paths.ts'
import { paceWord } from '../mesh-process/supervise-word.ts'
import {
  isSystem,
  isThere,
  serviceCommand,
  serviceLog,
  serviceState,
  systemctl,
  unitName,
  unitPath,
} from '../mesh-process/systemd-control.ts'
import { systemdUnit } from '../reference/systemd-unit.ts'

export function addServiceCommand(program: Command, deps: CliDeps): void {
  const service = program
    .command('service')
    .description(
      'Lets systemd keep the mesh of a home running: as a system service for root, else as a service of this user. It does not prepare the home; start the fleet once by hand before.',
    )
    .addHelpText('after', '\nExamples:\n  $ flotilla service install --print\n  $ flotilla service install')
    .action(commandAction(deps, show))
  service
    .command('install')
    .summary('write the unit, and start it')
    .description('Writes the unit of the home, starts it, and enables it at boot. --print only shows it.')
    .option('--print', 'only show the unit')
    .addHelpText('after', '\nExample:\n  $ flotilla service install --home /srv/fleet')
    .action(commandAction(deps, install))
  service
    .command('uninstall')
    .summary('stop it, and remove the unit')
    .description('Stops the mesh that systemd runs and removes the unit. The home is kept.')
    .addHelpText('after', '\nExample:\n  $ flotilla service uninstall')
    .action(commandAction(deps, uninstall))
}

async function show({ terminal }: CommandContext): Promise<void> {
  const state = await serviceState()
  terminal.printJson({ service: state === null ? null : { path: unitPath(), ...state } })
  if (state === null) {
    return terminal.hint('systemd runs no mesh here. Set it up with: flotilla service install')
  }
  const { active, pid, restarts } = state
  terminal.print(
    `${unitPath()}: ${active}${pid === 0 ? '' : `, process ${pid}`}, restarted ${restarts} times`,
  )
}

async function install(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place } = context
  const unit = systemdUnit({
    node: process.execPath,
    mesh: meshMain(),
    pace: [cliMain(), paceWord],
    home: place.home,
    path: [dirname(process.execPath), '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin'].join(
      ':',
    ),
    system: isSystem(),
  })
  const path = unitPath()
  if (flagOption(line, 'print')) {
    terminal.printJson({ path, unit })
    terminal.printText(unit.trimEnd())
    return
  }
  const running = await readMeshFile(place.home)
  if (running?.alive === true && !(await isThere(path))) {
    throw new CommandFailed('mesh-already-runs', {
      detail: `A mesh that systemd did not start runs in ${place.home} (process ${running.mesh.pid}).`,
      repair: 'Stop it first: flotilla stop',
    })
  }
  // Called first, so that no unit is written if systemd does not answer.
  await systemctl('daemon-reload')
  await mkdir(dirname(path), { recursive: true })
  await writeFile(path, unit, { mode: 0o644 })
  terminal.progress.step('Starting the mesh as a service')
  await systemctl('daemon-reload')
  await systemctl('enable', unitName)
  await systemctl('restart', unitName)
  terminal.progress.done()
  terminal.printJson({ path, started: true })
  terminal.print(`systemd keeps the mesh of ${place.home} running (${path}).`, `Its log: ${serviceLog()}`)
  const { proxyVariables } = context.environment
  if (proxyVariables.length > 0) {
    terminal.hint(
      `The service does not have ${proxyVariables.join(', ')} of this shell, because every user can read a unit. Write them into ${join(place.home, '.env')}, then: ${serviceCommand('restart')}`,
    )
  }
}

async function uninstall({ terminal }: CommandContext): Promise<void> {
  const removed = await removeService()
  terminal.printJson({ removed })
  terminal.print(removed === null ? 'There is no unit of Flotilla.' : `${removed} is removed.`)
}

/** Stops and removes the unit. Returns its path, or null if there was no unit. */
export async function removeService(): Promise<string | null> {
  const path = unitPath()
  if (!(await isThere(path))) return null
  // This folder exists only if systemd runs, as in sd_booted(3); else no process runs from this unit.
  const hasManager = await isThere('/run/systemd/system')
  if (hasManager) await systemctl('disable', '--now', unitName)
  await rm(path, { force: true })
  if (hasManager) await systemctl('daemon-reload')
  return path
}
