import { homedir } from 'node:os'
import { dirname } from 'node:path'
import { compiledModulesFolder } from '@flotilla/protocol/compiled-modules'
import type { Command } from 'commander'
import { commandAction, flagOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { meshToStop, stopMeshProcess } from '../mesh-process/stop-mesh.ts'
import { confirmByTyping } from '../terminal/confirm.ts'
import { removeFleet, walletWarning } from './reset.ts'
import { removeService } from './systemd.ts'
import { removeCaches } from '../remove-caches.ts'

export function addUninstallCommand(program: Command, deps: CliDeps): void {
  program
    .command('uninstall')
    .description(
      'Removes what Flotilla created on this machine: the service, the fleet of the home with its containers, volumes and network, and the caches of this user, but for what a running program uses. Other homes are kept: remove them with flotilla reset --home HOME. Remove the package itself with: npm rm -g flotilla',
    )
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla uninstall && npm rm -g flotilla')
    .action(commandAction(deps, uninstall))
}

async function uninstall(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place, environment } = context
  const caches = dirname(compiledModulesFolder(environment.cacheHome, homedir()))
  terminal.note(
    'This removes:',
    '  the unit flotilla.service, if it exists',
    `  the fleet of ${place.home} with all data of its agents`,
    `  ${caches}`,
  )
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `uninstall removes ${place.home} permanently`,
      question: `${walletWarning(place.home)}Remove all of it permanently?`,
      answer: 'yes',
    })
  }
  const unit = await removeService()
  const running = await meshToStop(place.home)
  if (running !== null) {
    terminal.progress.step('Stopping the agents and the mesh')
    await stopMeshProcess(running, context.clock, context.signal)
  }
  terminal.progress.step('Removing containers, volumes, network and home')
  await removeFleet(context, place.home).catch((error: unknown) => {
    terminal.progress.fail()
    throw new CommandFailed('uninstall-stopped', {
      detail: `Failed to remove the fleet: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: `Repair what the message names, or remove only the fleet: flotilla reset --home ${place.home}`,
    })
  })
  const used = await removeCaches(caches)
  terminal.progress.done()
  terminal.printJson({ unit, home: place.home, caches, used })
  for (const { path, pid, program } of used)
    terminal.print(`Kept: ${path}, which the running program ${program} uses (process ${pid}).`)
  terminal.print(
    'Removed. The images of agents stay in the container engine: docker image ls "localhost/flotilla/*"',
    'Last, remove the package: npm rm -g flotilla',
  )
}
