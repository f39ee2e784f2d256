import { existsSync } from 'node:fs'
import { lstat, mkdir, readlink, rm, symlink } from 'node:fs/promises'
import { homedir } from 'node:os'
import { join, resolve } from 'node:path'
import process from 'node:process'
import type { Command } from 'commander'
import { commandAction, flagOption, textOption } from '../command-action.ts'
import type { CommandLine } from '../command-action.ts'
import { CommandFailed } from '../command-failed.ts'
import type { CliDeps, CommandContext } from '../context.ts'
import { repositoryRoot } from '../mesh-process/mesh-paths.ts'

export function addInstallCommand(program: Command, deps: CliDeps): void {
  program
    .command('install-command')
    .description(
      'Makes flotilla a command of this machine: a link to this checkout in /usr/local/bin, or for a user other than root in ~/.local/bin. Run it again after moving the checkout.',
    )
    .option('--folder <folder>', 'folder for the link, which should be in the PATH')
    .option('--remove', 'remove the link')
    .addHelpText(
      'after',
      '\nExamples:\n  $ npm run flotilla -- install-command\n  $ flotilla install-command --remove',
    )
    .action(commandAction(deps, installCommand))
}

async function installCommand(context: CommandContext, line: CommandLine): Promise<void> {
  const { terminal, environment } = context
  const folder = resolve(
    textOption(line, 'folder') ??
      (process.getuid?.() === 0 ? '/usr/local/bin' : join(homedir(), '.local', 'bin')),
  )
  const link = join(folder, 'flotilla')
  const program = join(repositoryRoot, 'bin', 'flotilla')
  const present = await presentAt(link)
  const isRemoved = flagOption(line, 'remove')
  // The link of a checkout that was moved or deleted leads to no file.
  const isDead = present !== null && present !== link && !existsSync(resolve(folder, present))
  if (present !== null && present !== program && !isDead) throw occupied(link, present, isRemoved)
  try {
    if (isRemoved || isDead) await rm(link, { force: true })
    if (!isRemoved && present !== program) {
      await mkdir(folder, { recursive: true })
      await symlink(program, link)
    }
  } catch (error) {
    throw notWritable(folder, error)
  }
  terminal.printJson({ link, program, removed: isRemoved })
  if (isRemoved) return terminal.print(present === null ? `There is no ${link}.` : `Removed ${link}.`)
  terminal.print(`${link} starts ${program}. To undo it: rm ${link}`)
  terminal.note(
    environment.programFolders.includes(folder)
      ? terminal.typed('Begin with: flotilla init')
      : `${folder} is not in the PATH of this shell. Add it: export PATH="${folder}:$PATH"`,
  )
}

/** Returns what is at the path: the target of a link, the path itself for any other file, or null for nothing. */
async function presentAt(path: string): Promise<string | null> {
  try {
    return (await lstat(path)).isSymbolicLink() ? await readlink(path) : path
  } catch (error) {
    if (Reflect.get(Object(error), 'code') === 'ENOENT') return null
    throw error
  }
}

function notWritable(folder: string, error: unknown): CommandFailed {
  return new CommandFailed('folder-refused', {
    detail: `${folder} cannot be written: ${error instanceof Error ? error.message : String(error)}`,
    repair: 'Choose another folder with --folder FOLDER, or run the command as root.',
  })
}

function occupied(link: string, present: string, isRemoved: boolean): CommandFailed {
  const what = present === link ? 'a file' : `a link to ${present}`
  return new CommandFailed('name-taken', {
    detail: `${link} is ${what}, which is not this Flotilla; nothing was changed.`,
    repair: `Remove it yourself: rm ${link}${isRemoved ? '' : '. Or choose another folder: --folder FOLDER'}`,
  })
}
