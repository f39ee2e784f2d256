import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import type { Command } from 'commander'
import * as z from 'zod/mini'
import { commandAction } from '../command-action.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { parseJsonLine } from '../mesh-process/mesh-lines.ts'
import { repositoryRoot } from '../mesh-process/mesh-paths.ts'

const packageSchema = z.looseObject({ version: z.string() })

export function addVersionCommand(program: Command, deps: CliDeps): void {
  program
    .command('version')
    .description('Shows the versions of Flotilla and of Node.')
    .addHelpText('after', '\nExample:\n  $ flotilla version')
    .action(commandAction(deps, version))
}

async function version({ terminal }: CommandContext): Promise<void> {
  const flotilla = await readVersion()
  terminal.printJson({
    flotilla,
    node: process.versions.node,
    platform: `${process.platform}-${process.arch}`,
  })
  terminal.print(`Flotilla ${flotilla}, Node ${process.versions.node}, ${process.platform}-${process.arch}`)
}

/** The version of the checkout or package that this program belongs to. */
export async function readVersion(): Promise<string> {
  return packageSchema.parse(parseJsonLine(await readFile(join(repositoryRoot, 'package.json'), 'utf8')))
    .version
}
