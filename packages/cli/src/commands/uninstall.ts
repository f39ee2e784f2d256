import { rm } from 'node:fs/promises'
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

export function addUninstallCommand(program: Command, deps: CliDeps): void {
  program
    .command('uninstall')
    .description(
      'Takes away what Flotilla has made on this machine: the service, the fleet of the home with its containers, volumes and network, and what this user’s programs keep to be faster. Other homes stay: name them with --home and reset. The package itself goes with: npm rm -g flotilla',
    )
    .option('-y, --yes', 'do not ask')
    .addHelpText('after', '\nExample:\n  $ flotilla uninstall && npm rm -g flotilla')
    .action(commandAction(deps, uninstall))
}

async function uninstall(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, place, environment } = context
  const caches = dirname(compiledModulesFolder(environment.cacheHome, homedir()))
  terminal.note(
    'This takes away:',
    '  the unit flotilla.service, where there is one',
    `  the fleet of ${place.home} with all that its agents have`,
    `  ${caches}`,
  )
  if (!flagOption(line, 'yes')) {
    await confirmByTyping(context, {
      what: `uninstall removes ${place.home} for good`,
      question: `${walletWarning(place.home)}Take all of it away for good?`,
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
      detail: `The fleet could not be taken away: ${error instanceof Error ? error.message : 'unknown reason'}`,
      repair: `Mend that, or take it away by itself: flotilla reset --home ${place.home}`,
    })
  })
  await rm(caches, { recursive: true, force: true })
  terminal.progress.done()
  terminal.printJson({ unit, home: place.home, caches })
  terminal.print(
    'Gone. The images of agents stay with the engine: docker image ls "localhost/flotilla/*"',
    'Last comes the package: npm rm -g flotilla',
  )
}
